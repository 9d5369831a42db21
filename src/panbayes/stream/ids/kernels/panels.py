"""Which users are in a panel, and which events in the group that counts for their user."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["keep_panel", "panels_of_cells", "place_in_groups"]

Ints = NDArray[np.int64]


@loop
def panels_of_cells(cells: Ints, each: int) -> None:
    """Turn cells into the numbers of panels that have ``each`` so many of them; −1 stays −1."""
    for t in range(cells.size):
        cells[t] = cells[t] // each if cells[t] >= 0 else np.int64(-1)


@loop
def keep_panel(slots: Ints, panels: Ints, panel: int) -> None:
    """Take the slots away from users of other panels."""
    for t in range(slots.size):
        if panels[t] != panel:
            slots[t] = -1


@loop
def place_in_groups(slots: Ints, panels: Ints, groups: Ints, entries: int) -> None:
    """Move slots to those of their group, which has ``entries``; events of another group than the user's have none."""
    for t in range(slots.size):
        inside = 0 <= slots[t] < entries and groups[t] >= 0 and panels[t] == groups[t]
        slots[t] = slots[t] + groups[t] * entries if inside else np.int64(-1)
