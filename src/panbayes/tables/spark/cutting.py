"""Each person's first records, cut out within Spark.

Records are given to workers by the person they belong to, all of one person to one worker, and come there in the order
of person, declared ``order_by`` columns, codes. Of each person the first ``max_records`` are kept, exactly as
:func:`panbayes.tables.units.first_records` keeps them of a table in this order; records that name nobody are left out.

*What is kept of a person depends on that person's own records alone.* Spark promises no order of rows, and files may be
read in any; so the order in which a person's records are ranked is one of the records themselves: by the declared
columns, else, and among records that are alike in them, by their codes. Records that are alike in all of this have the
same codes, so whichever of them is kept, the same codes are counted. Hence the multiset of kept codes of a person is a
function of the multiset of that person's (order, codes), and no other record has a part in it: the argument of
:mod:`panbayes.tables.units` holds, whatever Spark does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, code_type
from panbayes.tables.sources.batch import BATCH_RECORDS
from panbayes.tables.spark.blocks import PERSON_BYTES, Block, blocks_of, unquoted
from panbayes.tables.spark.coding import ready

__all__ = ["RECORD", "first_of_each", "records_of"]

RECORD: Final = "person binary, place binary, codes binary"
"""The columns of one record: who, in which place among the person's records, and its codes."""


def records_of(schema: Schema, version: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Take blocks apart into records, but those that name nobody."""
    import pyarrow as pa

    with unquoted():
        ready(version)
        for block, _ in blocks_of(schema, batches):
            people: NDArray[Any] = np.frombuffer(block.people, dtype=f"V{PERSON_BYTES}")
            named = np.flatnonzero(people != np.zeros((), dtype=people.dtype))
            # The first byte of a code is its highest, so that bytes are in the order of codes.
            rows = np.ascontiguousarray(block.codes.T.astype(block.codes.dtype.newbyteorder(">")))[named]
            places = [block.places[place] for place in named.tolist()] if block.places else [b""] * named.size
            columns = [_fixed(people[named].tobytes(), PERSON_BYTES), pa.array(places, pa.binary())]
            columns += [_fixed(rows.tobytes(), rows.dtype.itemsize * rows.shape[1])]
            yield pa.RecordBatch.from_arrays(columns, names=["person", "place", "codes"])


def _fixed(data: bytes, width: int) -> Any:
    """Return an array of so many bytes each."""
    import pyarrow as pa

    ends = np.arange(0, len(data) + 1, width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), ends.size - 1, [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(data)])


def _bytes(array: Any, width: int) -> NDArray[Any]:
    """Return an array of so many bytes each as one of opaque values."""
    import pyarrow as pa

    whole = array.cast(pa.binary(width))
    flat: NDArray[Any] = np.frombuffer(whole.buffers()[1], dtype=f"V{width}")
    return flat[whole.offset : whole.offset + len(whole)]


def first_of_each(schema: Schema, most: int, version: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Keep each person's first records, of records that come person by person, and put them into blocks."""
    with unquoted():
        ready(version)
        kind = np.dtype(code_type(schema))
        kept: list[Codes] = []
        held = persons = 0
        for codes, new in _kept(len(schema), kind, most, batches):
            kept.append(codes)
            held += codes.shape[1]
            persons += new
            while held >= BATCH_RECORDS:
                whole: Codes = np.concatenate(kept, axis=1)
                yield Block(np.ascontiguousarray(whole[:, :BATCH_RECORDS]), persons).row()
                kept, held, persons = [whole[:, BATCH_RECORDS:]], held - BATCH_RECORDS, 0
        if held or persons:
            yield Block(np.ascontiguousarray(np.concatenate(kept, axis=1)), persons).row()


def _kept(attributes: int, kind: np.dtype[Any], most: int, batches: Iterator[Any]) -> Iterator[tuple[Codes, int]]:
    """Yield the codes of kept records, and how many people begin among them."""
    last, rank = b"", 0
    for batch in batches:
        if not batch.num_rows:
            continue
        people = _bytes(batch.column(0), PERSON_BYTES)
        rows = _bytes(batch.column(2), attributes * kind.itemsize)
        new = np.ones(people.size, dtype=np.bool_)
        new[1:] = people[1:] != people[:-1]
        new[0] = people[0].tobytes() != last
        starts = np.flatnonzero(new)
        begun = rank if not new[0] else 0
        edges = starts if new[0] else np.concatenate([[0], starts])
        lengths = np.diff(np.append(edges, people.size))
        ranks = np.arange(people.size) - np.repeat(edges, lengths)
        ranks[: lengths[0]] += begun
        last, rank = people[-1].tobytes(), int(ranks[-1]) + 1
        chosen = np.ascontiguousarray(rows[ranks < most])
        codes = chosen.view(kind.newbyteorder(">")).reshape(chosen.size, attributes).T.astype(kind)
        yield np.ascontiguousarray(codes), int(starts.size)
