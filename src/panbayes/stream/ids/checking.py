"""How many rows of a file would count: exact numbers, for the owner of the data alone. No state is touched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panbayes.stream.ids.chunk import Chunk, Integers
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.selection import selected_chunks
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.ids.where import Where, selected

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
    for batch in batches(source, form=form, column=column, fields=fields):
        if isinstance(batch, Records):
            kept = selected(where, batch.fields)
            left_out += 0 if kept is None else int(np.count_nonzero(~kept))
        for chunk in selected_chunks(batch, where) if isinstance(batch, Records) else chunks(batch):
            rows += chunk.values.size if isinstance(chunk, Integers) else chunk.lengths.size
            for slots in universe.slots(chunk):
                counted += int(np.count_nonzero((slots >= 0) & (slots < universe.entries)))
            # Now that white space was taken off: what is left of a blank line has no length.
            missing += _missing(chunk)
    # What is left out has no id any more.
    return StreamCheck(rows, counted, rows - counted - missing, missing - left_out, left_out)


def _missing(chunk: Chunk) -> int:
    if isinstance(chunk, Integers):
        return 0 if chunk.missing is None else int(np.count_nonzero(chunk.missing))
    return int(np.count_nonzero(chunk.lengths == 0))
