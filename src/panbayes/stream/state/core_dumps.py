"""Keeping a feeding process from leaving copies of its memory.

See errata 4: a core dump is a look at the state, and at the batch of raw ids beside it.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from typing import Final

__all__ = ["forbid_dumps"]

_PR_SET_DUMPABLE: Final = 4


def forbid_dumps() -> None:
    """Forbid core dumps of this process for good, and where the system allows it, tracing by other processes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
