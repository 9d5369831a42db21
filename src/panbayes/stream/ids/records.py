"""Batches of records: ids with some fields beside them, whose values are texts.

A field's value has one text, whatever file it comes from: texts are in their one form, as ids are
(:mod:`panbayes.stream.ids.canonical`), whole numbers are their digits, yes and no are ``true`` and ``false``, other
numbers are as they are written. What is empty, null, missing, a list or an object has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Chunk, Integers, Texts
from panbayes.stream.ids.columns import chunks

__all__ = ["Records", "chunk_size", "text_of", "texts_of"]


@dataclass(frozen=True, slots=True)
class Records:
    """A batch of ``ids``, and the values of each of its ``fields`` in the same order: columns of any library.

    >>> from panbayes import DistinctCounter
    >>> with DistinctCounter(epsilon=1, where=["kind=buy"]) as buyers:
    ...     buyers.update(Records(["ann", "bob", "ann"], {"kind": ["buy", "look", "buy"]}))
    """

    ids: object
    fields: Mapping[str, object] = field(default_factory=dict)


def chunk_size(chunk: Chunk) -> int:
    """How many ids a chunk has."""
    return chunk.values.size if isinstance(chunk, Integers) else chunk.starts.size


def texts_of(column: object) -> Iterator[Texts]:
    """Yield the values of a column as texts.

    >>> [bytes(texts.data).decode() for texts in texts_of([1, 2.5, 3.0, True, None, "x"])]
    ['12.53truex']
    """
    found = chunks(column)
    try:
        first = next(found, None)
    except InputError:
        if isinstance(column, (str, bytes, dict)) or not isinstance(column, Iterable):
            raise
        first = Texts.of(text_of(item) for item in column)
    # One by one: the memory of a chunk is there until the next is asked for.
    while first is not None:
        yield _digits(first) if isinstance(first, Integers) else first
        first = next(found, None)


def _digits(chunk: Integers) -> Texts:
    gone = np.zeros(chunk.values.size, dtype=np.bool_) if chunk.missing is None else chunk.missing
    return Texts.of(
        None if missing else str(value) for value, missing in zip(chunk.values.tolist(), gone.tolist(), strict=True)
    )


def text_of(item: object) -> str | None:
    """Return the text of one value, None if it has none."""
    if isinstance(item, bool | np.bool_):
        return "true" if item else "false"
    if isinstance(item, float | np.floating):
        return None if np.isnan(item) else str(float(item)).removesuffix(".0")
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return str(item) if isinstance(item, str | int | np.integer) else None
