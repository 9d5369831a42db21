"""From a batch to the slots of the events that count: what a state that looks at fields does with records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Block, Integers, Texts
from panbayes.stream.ids.kernels.spans import leave_out
from panbayes.stream.ids.records import Records, Run, as_texts, runs
from panbayes.stream.ids.universes.grouped import GroupedUniverse
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.ids.where import Where, which

__all__ = ["needs_records", "selected", "selected_runs", "slot_runs"]


def slot_runs(
    batch: object, users: Universe, where: Where, arena: Arena
) -> Iterator[tuple[int, Iterator[NDArray[np.int64]]]]:
    """Yield a batch in runs: how many events there are, and blocks of their slots.

    Only events count that meet the conditions and, where there are groups, are of theirs. Each block is to be used
    before the next is asked for, and each run before the next.
    """
    groups = (users.groups.field,) if isinstance(users, GroupedUniverse) else ()
    if not where and not groups:
        for run in runs(batch.ids if isinstance(batch, Records) else batch):
            yield run.size, (users.slots(ids, arena) for (ids,) in run.blocks(arena))
        return
    for run, names in selected_runs(batch, where, *groups):
        yield run.size, _slots(run, names, users, where, arena)


def _slots(
    run: Run, names: tuple[str, ...], users: Universe, where: Where, arena: Arena
) -> Iterator[NDArray[np.int64]]:
    for ids, *values in run.blocks(arena):
        texts = {name: as_texts(value, arena) for name, value in zip(names, values, strict=True)}
        kept = selected(where, texts, ids.size, arena)
        ids = ids if kept is None else _without(ids, kept, arena)
        if isinstance(users, GroupedUniverse):
            yield users.slots_in(ids, which(texts[users.groups.field], users.groups.names, arena), arena)
        else:
            yield users.slots(ids, arena)


def selected_runs(batch: object, where: Where, *more: str) -> Iterator[tuple[Run, tuple[str, ...]]]:
    """Yield ids in runs, with the fields that conditions look at and ``more`` beside them: their names."""
    records = batch if isinstance(batch, Records) else Records(batch)
    for field in (condition.field for condition in where):
        if field not in records.fields:
            raise InputError("fields", found=f"there is no {field!r}", remedy="give every field of the filter")
    for field in more:
        if field not in records.fields:
            raise InputError("fields", found=f"there is no {field!r}", remedy="give the field of the groups")
    names = tuple(dict.fromkeys((*(condition.field for condition in where), *more)))
    for run in runs(records.ids, [records.fields[name] for name in names]):
        yield run, names


def selected(where: Where, texts: dict[str, Texts], size: int, arena: Arena) -> NDArray[np.bool_] | None:
    """Mark the records of a block that meet all conditions; None if there are none."""
    if not where:
        return None
    kept = arena.array(size, np.bool_)
    kept.fill(True)
    for condition in where:
        condition.keep(texts[condition.field], kept, arena)
    return kept


def _without(ids: Block, kept: NDArray[np.bool_], arena: Arena) -> Block:
    """Return ids that are missing where they are not ``kept``."""
    if isinstance(ids, Texts):
        lengths = arena.array(ids.size, np.int64)
        leave_out(ids.lengths, kept, lengths)
        return Texts(ids.data, ids.starts, lengths)
    missing = arena.array(ids.size, np.bool_)
    np.logical_not(kept, out=missing)
    if ids.missing is not None:
        np.logical_or(missing, ids.missing, out=missing)
    return Integers(ids.values, missing)


def needs_records(what: str) -> Callable[[object], int]:
    """Return what refuses an id that comes without the fields of its record."""

    def refuse(_one: object) -> int:
        raise InputError(
            "ids",
            found=f"this state looks at {what}, and ids alone do not say",
            remedy="give Records(ids, fields), or a file to: panbayes stream feed",
        )

    return refuse
