"""From a batch of records to the slots of those that count: what a state that looks at fields does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Chunk, Integers, Texts
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.records import Records, chunk_size
from panbayes.stream.ids.universes.grouped import GroupedUniverse
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.ids.where import Where, selected

__all__ = ["needs_records", "record_slots", "selected_chunks"]


def selected_chunks(records: Records, where: Where) -> Iterator[Chunk]:
    """Yield the ids of records in chunks; the id of a record that does not meet the conditions is missing."""
    kept = selected(where, records.fields)
    for begin, chunk in _placed(records.ids, None if kept is None else kept.size):
        if kept is None:
            yield chunk
            continue
        left = ~kept[begin : begin + chunk_size(chunk)]
        yield _without(chunk, left)
        left[:] = False
    if kept is not None:
        kept[:] = False


def record_slots(records: Records, users: Universe, where: Where) -> Iterator[NDArray[np.int64]]:
    """Yield the slots of records: of those that meet the conditions and, where there are groups, are of theirs."""
    if not isinstance(users, GroupedUniverse):
        for chunk in selected_chunks(records, where):
            yield from users.slots(chunk)
        return
    groups, begin = users.group_numbers(records.fields), 0
    for chunk in selected_chunks(records, where):
        mine = groups[begin : begin + chunk_size(chunk)]
        begin += chunk_size(chunk)
        if mine.size < chunk_size(chunk):
            break
        yield from users.slots_in(chunk, mine)
    if begin != groups.size:
        raise _uneven()
    groups[:] = 0


def _uneven() -> InputError:
    return InputError("fields", found="ids and fields have different lengths", remedy="give a value for every record")


def _placed(ids: object, size: int | None) -> Iterator[tuple[int, Chunk]]:
    """Yield chunks of ids, each with the number of its first record; there must be ``size`` in all."""
    begin = 0
    for chunk in chunks(ids):
        if size is not None and begin + chunk_size(chunk) > size:
            break
        yield begin, chunk
        begin += chunk_size(chunk)
    else:
        if size is None or begin == size:
            return
    raise _uneven()


def _without(chunk: Chunk, left: NDArray[np.bool_]) -> Chunk:
    """Return a chunk whose ids are missing where ``left`` says so."""
    if isinstance(chunk, Integers):
        return Integers(chunk.values, left.copy() if chunk.missing is None else chunk.missing | left)
    return Texts(chunk.data, chunk.starts, np.where(left, 0, chunk.lengths))


def needs_records(what: str) -> Callable[[object], int]:
    """Return what refuses an id that comes without the fields of its record."""

    def refuse(_one: object) -> int:
        raise InputError(
            "ids",
            found=f"this state looks at {what}, and ids alone do not say",
            remedy="give Records(ids, fields), or a file to: panbayes stream feed",
        )

    return refuse
