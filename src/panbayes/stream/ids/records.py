"""Batches of records: ids with some fields beside them, whose values are texts.

A field's value has one text, whatever file it comes from: texts are in their one form, as ids are
(:mod:`panbayes.stream.ids.canonical`), whole numbers are their digits, yes and no are ``true`` and ``false``, other
numbers are as they are written. What is empty, null, missing, a list or an object has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import BLOCK, Block, Chunk, Texts
from panbayes.stream.ids.columns import Items, arena_spans, chunks
from panbayes.stream.ids.kernels.numbers import MOST_DIGITS, write_integers

__all__ = ["Records", "Run", "as_texts", "field_chunks", "runs", "text_of"]


@dataclass(frozen=True, slots=True)
class Records:
    """A batch of ``ids``, and the values of each of its ``fields`` in the same order: columns of any library.

    >>> from panbayes import DistinctCounter
    >>> with DistinctCounter(epsilon=1, where=["kind=buy"]) as buyers:
    ...     buyers.update(Records(["ann", "bob", "ann"], {"kind": ["buy", "look", "buy"]}))
    """

    ids: object
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """The next ``size`` records of a batch, which lie in one chunk of each column, from a place on."""

    size: int
    columns: tuple[tuple[Chunk, int], ...]

    def blocks(self, arena: Arena) -> Iterator[tuple[Block, ...]]:
        """Yield the records in blocks, all columns side by side; each is there until the next is asked for."""
        for begin in range(0, self.size, BLOCK):
            end = min(self.size, begin + BLOCK)
            with arena.scope():
                yield tuple([chunk.block(place + begin, place + end, arena) for chunk, place in self.columns])


class _Reader:
    """The chunks of a column, one after the other, and how far they were used."""

    def __init__(self, found: Iterator[Chunk]) -> None:
        self._found, self._chunk, self._place = found, next(found, None), 0

    def left(self) -> int:
        """How many values are left of this chunk, or of the next that has any; 0 at the end."""
        while self._chunk is not None and self._place == self._chunk.size:
            self._chunk, self._place = next(self._found, None), 0
        return 0 if self._chunk is None else self._chunk.size - self._place

    def use(self, size: int) -> tuple[Chunk, int]:
        """Return this chunk and the place of the next value, and go on behind ``size`` of them."""
        if self._chunk is None:
            raise ValueError("the column has ended")
        place = self._place
        self._place += size
        return self._chunk, place


def runs(ids: object, fields: Sequence[object] = ()) -> Iterator[Run]:
    """Yield ids, and the values of fields, in runs of records: each is to be used before the next is asked for."""
    if not fields:
        for chunk in chunks(ids):
            yield Run(chunk.size, ((chunk, 0),))
        return
    if len({len(column) for column in (ids, *fields) if isinstance(column, Sequence | np.ndarray)}) > 1:
        raise _uneven()
    readers = [_Reader(chunks(ids)), *(_Reader(field_chunks(column)) for column in fields)]
    while True:
        left = [reader.left() for reader in readers]
        size = min(left)
        if size == 0:
            break
        yield Run(size, tuple(reader.use(size) for reader in readers))
    if any(left):
        raise _uneven()


def _uneven() -> InputError:
    return InputError("fields", found="ids and fields have different lengths", remedy="give a value for every record")


def field_chunks(column: object) -> Iterator[Chunk]:
    """Yield the values of a field in chunks; what could be no id is taken by its text, item by item."""
    found = chunks(column)
    try:
        first = next(found, None)
    except InputError:
        if isinstance(column, (str, bytes, dict)) or not isinstance(column, Iterable):
            raise
        first = Items([text_of(item) for item in column])
    if first is not None:
        yield first
        yield from found


def as_texts(block: Block, arena: Arena) -> Texts:
    """Return values as texts: of integers their digits."""
    if isinstance(block, Texts):
        return block
    data = arena.array(MOST_DIGITS * block.size, np.uint8)
    texts = Texts(data, *arena_spans(block.size, arena))
    write_integers(block.whole(arena), data, texts.starts, texts.lengths)
    if block.missing is not None:
        np.copyto(texts.lengths, 0, where=block.missing)
    return texts


def text_of(item: object) -> str | None:
    """Return the text of one value, None if it has none."""
    if isinstance(item, bool | np.bool_):
        return "true" if item else "false"
    if isinstance(item, float | np.floating):
        return None if np.isnan(item) else str(float(item)).removesuffix(".0")
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return str(item) if isinstance(item, str | int | np.integer) else None
