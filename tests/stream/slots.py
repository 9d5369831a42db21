"""The slots of ids, as tests look at them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.selection import slot_runs
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.ids.where import Where

__all__ = ["blocks_of", "record_slots", "slots_of"]


def blocks_of(users: Universe, ids: object, arena: Arena) -> Iterator[NDArray[np.int64]]:
    """Yield the slots of ids in blocks."""
    for chunk in chunks(ids):
        yield users.slots(chunk.block(0, chunk.size, arena), arena)


def slots_of(users: Universe, ids: object) -> list[int]:
    """Return the slots of ids in a list."""
    return [int(slot) for block in blocks_of(users, ids, Arena()) for slot in block]


def record_slots(batch: object, users: Universe, where: Where) -> list[int]:
    """Return the slots of the records of a batch in a list."""
    return [int(slot) for _, blocks in slot_runs(batch, users, where, Arena()) for block in blocks for slot in block]
