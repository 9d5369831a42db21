"""The loops over events of counters and of thinned entries, compiled.

As in :mod:`panbayes.stream.state.kernels`, a slot outside 0 … size−1 is skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["advance", "thin"]

Slots = NDArray[np.int64]


@loop
def advance(slots: Slots, entries: NDArray[np.uint8], size: int, step: int, modulus: int) -> None:
    """Move the counter of every slot on by ``step`` (1 to ``modulus`` − 1), round the circle."""
    limit = np.uint64(size)
    for t in range(slots.size):
        slot = np.uint64(slots[t])
        if slot < limit:
            value = np.int64(entries[slot]) + step
            entries[slot] = value - modulus if value >= modulus else value


@loop
def thin(slots: Slots, ends: Slots, keep: NDArray[np.uint64], coins: NDArray[np.uint32]) -> None:
    """Turn the slots whose coin is not below their panel's ``keep`` into −1; panel i ends before slot ``ends[i]``."""
    limit = np.uint64(ends[-1])
    for t in range(slots.size):
        if np.uint64(slots[t]) < limit:
            panel = 0
            while slots[t] >= ends[panel]:
                panel += 1
            if np.uint64(coins[t]) >= keep[panel]:
                slots[t] = -1
