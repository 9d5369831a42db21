"""What Spark's workers do first: encode records into blocks, of files or of the batches of a data frame.

The encoder is the one that reads every table (:mod:`panbayes.tables.encoder`), so the codes are the same.

A person is told by a hash of 128 bits of the id's text without blanks around it, keyed by a key that was drawn for this
reading: all workers must agree, so it is BLAKE2b, and an id itself is never given to Spark. Two of 10⁹ people fall
together with a probability below 10⁻²⁰.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from panbayes._version import __version__
from panbayes.kernel_cache import ensure_cache
from panbayes.schema.blanks import BLANKS, stripped
from panbayes.schema.schema import Schema
from panbayes.tables.encoder import BatchEncoder
from panbayes.tables.sources.batch import BATCH_RECORDS, Batch, Column
from panbayes.tables.spark.blocks import PERSON_BYTES, Block, unquoted
from panbayes.tables.spark.order_keys import value_keys
from panbayes.tables.spark.parquet_parts import Piece
from panbayes.tables.texts import as_text

__all__ = ["OTHER_VERSION", "Coding", "code_files", "code_frame", "file_blocks", "gathered", "hand_over", "ready"]

OTHER_VERSION: Final = "panbayes: another version"
"""What a worker raises that has another version of panbayes than who asks."""


@dataclass(frozen=True, slots=True, repr=False)
class Coding:
    """How records become blocks: the schema, which column each name in it has, and by what persons are told.

    ``key`` is None where every record is its own.
    """

    schema: Schema
    columns: Mapping[str, str]
    order_by: tuple[str, ...] = ()
    key: bytes | None = None
    version: str = __version__

    @property
    def names(self) -> list[str]:
        """The columns that are read, each once."""
        unit = [self.schema.unit.column] if self.key is not None and self.schema.unit else []
        order = self.order_by if self.key is not None else ()
        return list(dict.fromkeys([*(self.columns[name] for name in [*self.schema.names, *unit]), *order]))

    def blocks(self, batches: Iterable[Batch]) -> Iterator[Block]:
        """Encode batches, which have the columns under their own names."""
        encoder = BatchEncoder(self.schema, compiled=True)
        for batch in batches:
            named = {name: batch.columns[self.columns[name]] for name in self.schema.names}
            codes = encoder.encode(Batch(named, batch.records))
            if self.key is None or self.schema.unit is None:
                yield Block(codes)
                continue
            people = self._people(batch.columns[self.columns[self.schema.unit.column]])
            yield Block(codes, 0, people, self._places(batch))

    def _people(self, ids: Column) -> bytes:
        """Return 16 bytes for every record, none but zeros where it names nobody."""
        texts = as_text(ids.values).str.strip_chars(BLANKS)
        missing = {"", None, *map(stripped, self.schema.missing_values)}
        key = self.key or b""
        hashed = [
            bytes(PERSON_BYTES)
            if text in missing
            else hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=PERSON_BYTES, key=key).digest()
            for text in texts.to_list()
        ]
        found: NDArray[Any] = np.frombuffer(b"".join(hashed), dtype=f"V{PERSON_BYTES}")
        return (found if ids.places is None else found[ids.places]).tobytes()

    def _places(self, batch: Batch) -> list[bytes]:
        if not self.order_by:
            return []
        keys = [_record_keys(batch.columns[name]) for name in self.order_by]
        return [b"".join(found) for found in zip(*keys, strict=True)]


def _record_keys(column: Column) -> list[bytes]:
    keys = value_keys(column.values)
    return keys if column.places is None else [keys[place] for place in column.places.tolist()]


def ready(version: str) -> None:
    """See to it that this worker can count for who asks."""
    if version != __version__:
        raise RuntimeError(OTHER_VERSION)
    ensure_cache()


def code_files(coding: Coding, tasks: Sequence[Sequence[Piece]], batches: Iterator[Any]) -> Iterator[Any]:
    """Encode the files of the tasks whose numbers Spark hands out."""
    with unquoted():
        for block in file_blocks(coding, tasks, batches):
            yield block.row()


def file_blocks(coding: Coding, tasks: Sequence[Sequence[Piece]], batches: Iterator[Any]) -> Iterator[Block]:
    """Yield the blocks of the tasks whose numbers Spark hands out, each good until the next is asked for."""
    ready(coding.version)
    numbers = (number for batch in batches for number in batch.column(0).to_pylist())
    pieces = (piece.batches(coding.names, argument="path") for number in numbers for piece in tasks[number])
    # One after the other through one encoder, so that it remembers what it has encoded.
    return coding.blocks(one for found in pieces for one in found)


def code_frame(coding: Coding, batches: Iterator[Any]) -> Iterator[Any]:
    """Encode the records that Spark hands out, whose columns are those of ``coding.names`` in that order."""
    with unquoted():
        ready(coding.version)
        for block in coding.blocks(gathered(coding.names, batches)):
            yield block.row()


def gathered(names: Sequence[str], batches: Iterator[Any]) -> Iterator[Batch]:
    """Put Spark's small batches together; times with a zone are told in UTC, as files have them."""
    import pyarrow as pa

    from panbayes.tables.sources.arrow_columns import arrow_batches

    for found in _together(batches):
        renamed = pa.Table.from_batches(found).rename_columns([*names]).combine_chunks()
        for place, field in enumerate(renamed.schema):
            if pa.types.is_timestamp(field.type) and field.type.tz is not None:
                kind = pa.timestamp(field.type.unit, tz="UTC")
                renamed = renamed.set_column(place, field.name, renamed.column(place).cast(kind))
        yield from arrow_batches(renamed.to_batches(), names)


def _together(batches: Iterator[Any]) -> Iterator[list[Any]]:
    begun: list[Any] = []
    records = 0
    for batch in batches:
        if begun and records + batch.num_rows > BATCH_RECORDS:
            yield begun
            begun, records = [], 0
        if batch.num_rows:
            begun.append(batch)
            records += batch.num_rows
    if begun:
        yield begun


def hand_over(version: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Write the records that Spark hands out as Arrow streams, to be read where the table is open."""
    import pyarrow as pa

    with unquoted():
        ready(version)
        for found in _together(batches):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, found[0].schema) as stream:
                for batch in found:
                    stream.write_batch(batch)
            yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["stream"])
