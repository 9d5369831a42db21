"""How many rows of a file would count: exact numbers, for the owner of the data alone. No state is touched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panbayes.stream.ids.chunk import Chunk, Integers
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.universes.kind import Universe

__all__ = ["StreamCheck", "check_stream"]


@dataclass(frozen=True, slots=True)
class StreamCheck:
    """The ``rows`` of a file: those ``counted``, those with an id ``outside`` the universe, those ``missing`` an id."""

    rows: int
    counted: int
    outside: int
    missing: int


def check_stream(universe: Universe, source: str, *, form: str | None, column: str | None) -> StreamCheck:
    """Read a file as a stream would be read, and count; ``universe`` must have an entry for everybody."""
    rows = counted = missing = 0
    for batch in batches(source, form=form, column=column):
        for chunk in chunks(batch):
            rows += chunk.values.size if isinstance(chunk, Integers) else chunk.lengths.size
            for slots in universe.slots(chunk):
                counted += int(np.count_nonzero((slots >= 0) & (slots < universe.entries)))
            # Now that white space was taken off: what is left of a blank line has no length.
            missing += _missing(chunk)
    return StreamCheck(rows, counted, rows - counted - missing, missing)


def _missing(chunk: Chunk) -> int:
    if isinstance(chunk, Integers):
        return 0 if chunk.missing is None else int(np.count_nonzero(chunk.missing))
    return int(np.count_nonzero(chunk.lengths == 0))
