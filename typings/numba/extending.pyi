from collections.abc import Callable
from typing import Any

# What it makes is called from compiled code, with values of the types that the function speaks of.
def intrinsic(function: Callable[..., object], /) -> Callable[..., Any]: ...
