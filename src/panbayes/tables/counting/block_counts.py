"""Tables and parities of records that come in blocks, of values as they are or in groups.

Grouping values is a fixed map of every record, so a table of groups is a contingency table like any other. What is
counted of each block is added up in 64 bits. The memory it takes follows from what is asked and from the sizes of the
domains, never from the number of records. That number may be private, and an answer that fails for want of memory is
not charged: whoever could make it fail for many records and not for few would learn it for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.checked_codes import check_codes
from panbayes.tables.codes import Codes, Room
from panbayes.tables.counting.engines import Engine, choose_kernels, engine
from panbayes.tables.counting.limits import shaped_sets, table_lengths
from panbayes.tables.counting.parities import parities

__all__ = ["BLOCK_AXES", "Blocks", "Counted", "GroupsOfValues", "count_blocks", "count_parities", "groups_in"]

BLOCK_AXES: Final = 256
"""Groupings whose codes are held in memory at once."""

BLOCK_CELLS: Final = 2**24
"""Codes that are held in memory at once: fewer records of more attributes."""

MOST_RECORDS: Final = 2**17
LEAST_RECORDS: Final = 2**10
"""Records that are counted at once: at most and at least."""


class GroupsOfValues(Protocol):
    """The values of an attribute in groups: ``groups[code]`` is the group of a value, none at all is each its own."""

    @property
    def attribute(self) -> int:
        """The attribute."""

    @property
    def groups(self) -> Sequence[int]:
        """The group of every value, or nothing."""


class Blocks(Protocol):
    """Records that come in blocks."""

    def blocks(self, rows: Sequence[int] | None = None, most: int = MOST_RECORDS, /) -> Iterator[Codes]:
        """Yield the codes of the chosen attributes, C-contiguous, at most ``most`` records at a time."""


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """Tables end to end: table t is ``flat[offsets[t]:offsets[t + 1]]``, in C order."""

    flat: NDArray[np.int64]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Axes:
    """What is counted of a block: attributes, each as it is or through a map of its values."""

    rows: tuple[int, ...]
    sizes: tuple[int, ...]
    row_sizes: tuple[int, ...]
    places: NDArray[np.int64]
    maps: Codes | None

    def codes(self, blocks: Blocks, counter: Engine) -> Iterator[Codes]:
        """Yield the codes to be counted, block by block; each is checked once more, since the kernels check none."""
        most = min(max(BLOCK_CELLS // max(len(self.sizes), 1), LEAST_RECORDS), MOST_RECORDS)
        room = Room(np.uint8 if self.maps is None else self.maps.dtype)
        for block in blocks.blocks(self.rows, most):
            check_codes(block, self.row_sizes, range(len(self.row_sizes)))
            if self.maps is None:
                yield block
                continue
            out = room.shaped(len(self.sizes), block.shape[1])
            counter.regroup(block, self.places, self.maps, out)
            yield out


def groups_in(grouping: GroupsOfValues, sizes: Sequence[int]) -> int:
    """Return the number of groups of a grouping."""
    return max(grouping.groups) + 1 if grouping.groups else sizes[grouping.attribute]


def _axes(used: Sequence[int], groupings: Sequence[GroupsOfValues] | None, sizes: tuple[int, ...]) -> _Axes:
    """Return how the used groupings, or attributes where nothing is grouped, are read off the records."""
    if groupings is None or not any(groupings[g].groups for g in used):
        rows = tuple(used if groupings is None else (groupings[g].attribute for g in used))
        own = tuple(sizes[a] for a in rows)
        return _Axes(rows, own, own, np.arange(len(rows)), None)
    rows = tuple(sorted({groupings[g].attribute for g in used}))
    grouped = tuple(groups_in(groupings[g], sizes) for g in used)
    dtype = np.uint8 if max(grouped) <= 256 else np.uint16
    maps = np.zeros((len(used), max(sizes[a] for a in rows)), dtype=dtype)
    for into, g in zip(maps, used, strict=True):
        groups = groupings[g].groups or range(sizes[groupings[g].attribute])
        into[: len(groups)] = groups
    places = np.array([rows.index(groupings[g].attribute) for g in used], dtype=np.int64)
    return _Axes(rows, grouped, tuple(sizes[a] for a in rows), places, maps)


def count_blocks(
    blocks: Blocks,
    sizes: tuple[int, ...],
    tables: Sequence[tuple[int, ...]],
    groupings: Sequence[GroupsOfValues] | None = None,
    *,
    cell_limit: int,
) -> Counted:
    """Count tables end to end in the order of ``tables``.

    The axes of a table are numbers of ``groupings``, or of attributes where there are none.
    """
    axis_sizes = sizes if groupings is None else tuple(groups_in(grouping, sizes) for grouping in groupings)
    lengths = table_lengths(axis_sizes, tables, shaped_sets(axis_sizes, tables), cell_limit)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = np.zeros(offsets[-1], dtype=np.int64)
    counter = engine(choose_kernels())
    for part in _parts(tables) if groupings is not None else (slice(0, len(tables)),):
        out = flat[offsets[part.start] : offsets[part.stop]]
        used = sorted({g for axes in tables[part] for g in axes})
        axes = _axes(used, groupings, sizes)
        place = {g: i for i, g in enumerate(used)}
        sets = [tuple(place[g] for g in found) for found in tables[part]]
        starts = offsets[part.start : part.stop] - offsets[part.start]
        shaped = shaped_sets(axes.sizes or (1,), sets)
        domain = np.array(axes.sizes, dtype=np.int64)
        room = np.empty(out.size, dtype=np.int32)
        for codes in axes.codes(blocks, counter):
            for chosen, array in shaped:
                counter.count_sets(codes, domain, array, starts[chosen], room)
            out += room
    return Counted(flat, offsets)


def _parts(tables: Sequence[tuple[int, ...]]) -> Iterator[slice]:
    """Cut the tables so that each part names at most :data:`BLOCK_AXES` groupings."""
    start, named = 0, set[int]()
    for place, axes in enumerate(tables):
        if start < place and len(named | set(axes)) > BLOCK_AXES:
            yield slice(start, place)
            start, named = place, set()
        named.update(axes)
    yield slice(start, len(tables))


def count_parities(
    blocks: Blocks, sizes: tuple[int, ...], sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]
) -> NDArray[np.int64]:
    """Return the parity of every set of groupings into two (:mod:`panbayes.tables.counting.parities`)."""
    found = np.zeros(len(sets), dtype=np.int64)
    used = sorted({g for axes in sets for g in axes})
    if not used:
        return found
    place = {g: row for row, g in enumerate(used)}
    members = [tuple(place[g] for g in axes) for axes in sets]
    for bits in _axes(used, groupings, sizes).codes(blocks, engine(choose_kernels())):
        found += parities(bits.astype(np.uint8, copy=False), members)
    return found
