"""How the loops over events are compiled: so that they cannot make an array.

Without its runtime, Numba compiles no loop that would allocate memory, and refuses it by an error instead. So whatever
a loop makes of events lies in arrays that were handed to it. It is faster too: nobody counts references to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

__all__ = ["inlined", "loop"]

P = ParamSpec("P")
R = TypeVar("R")


def loop(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that allocates nothing."""
    return njit(cache=True, nogil=True, _nrt=False)(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a part of loops that allocates nothing, anew into each of them."""
    return njit(cache=True, nogil=True, inline="always", _nrt=False)(function)
