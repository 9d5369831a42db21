"""How many rows of a file would count: exact numbers, for the owner of the data alone. No state is touched."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Block, Integers
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.kernels.counts import count_empty, count_inside, count_marked
from panbayes.stream.ids.records import as_texts
from panbayes.stream.ids.selection import selected, selected_runs
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.ids.where import Where

__all__ = ["StreamCheck", "check_stream"]


@dataclass(frozen=True, slots=True)
class StreamCheck:
    """The ``rows`` of a file: those ``counted``, those with an id ``outside`` the universe, those ``missing`` an id.

    Rows that do not meet the conditions are ``left_out``, whatever their id.
    """

    rows: int
    counted: int
    outside: int
    missing: int
    left_out: int = 0


def check_stream(
    universe: Universe, source: str, *, form: str | None, column: str | None, where: Where = ()
) -> StreamCheck:
    """Read a file as a stream would be read, and count; ``universe`` must have an entry for everybody."""
    rows = counted = missing = left_out = 0
    fields = tuple(dict.fromkeys(condition.field for condition in where))
    with Arena() as arena, closing(batches(source, form=form, column=column, fields=fields)) as found:
        for batch in found:
            for run, names in selected_runs(batch, where):
                for ids, *values in run.blocks(arena):
                    texts = {name: as_texts(value, arena) for name, value in zip(names, values, strict=True)}
                    kept = selected(where, texts, ids.size, arena)
                    meant = arena.array(ids.size, np.bool_) if kept is None else kept
                    if kept is None:
                        meant.fill(True)
                    slots = universe.slots(ids, arena)
                    rows += ids.size
                    left_out += ids.size - int(np.count_nonzero(meant))
                    counted += count_inside(slots, universe.entries, meant)
                    # Now that white space was taken off: what is left of a blank line has no length.
                    missing += _missing(ids, meant)
    return StreamCheck(rows, counted, rows - counted - missing - left_out, missing, left_out)


def _missing(ids: Block, meant: NDArray[np.bool_]) -> int:
    """Count the ids that are missing, of those that are meant."""
    if isinstance(ids, Integers):
        return 0 if ids.missing is None else count_marked(ids.missing, meant)
    return count_empty(ids.lengths, meant)
