"""How a holder is reached: bytes go out, bytes come back.

A gate in the same process, a mailbox in a folder, a line across a network: to the analyst each is a function of this
type and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Ask"]

Ask: TypeAlias = Callable[[bytes], bytes]
"""A question's bytes go in, a reply's come out; whatever it raises means that the holder was not reached.

A :class:`~panbayes.errors.HolderWaitingError` says that the holder may still answer the same bytes later.
"""
