"""Ids in whatever container they come: NumPy, Arrow, polars, pandas, plain sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from panbayes.stream.ids.arrow import arrow_chunks, speaks_arrow
from panbayes.stream.ids.chunk import Chunk, Integers, Texts, wrong_type

__all__ = ["chunks"]


def chunks(ids: object) -> Iterator[Chunk]:
    """Yield the ids as chunks of integers or texts; refuse other types by their name.

    >>> [chunk.values.tolist() for chunk in chunks([3, 1])]
    [[3, 1]]
    >>> [chunk.lengths.tolist() for chunk in chunks(["ann", "bo"])]
    [[3, 2]]
    """
    if isinstance(ids, Integers | Texts):
        yield ids
    elif isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise wrong_type(f"an array of {ids.ndim} dimensions")
        if ids.dtype.kind in "iu":
            yield Integers(np.ascontiguousarray(ids))
        elif ids.dtype.kind in "USOT":
            yield Texts.of(ids.tolist())
        else:
            raise wrong_type(f"an array of type {ids.dtype}")
    elif speaks_arrow(ids):
        yield from arrow_chunks(ids)
    elif isinstance(ids, (str, bytes, dict)) or not isinstance(ids, Iterable):
        raise wrong_type(f"a {type(ids).__name__}")
    else:
        items = list(ids)
        if all(type(item) is int for item in items):
            yield Integers(np.array([item if 0 <= item < 1 << 62 else -1 for item in items], dtype=np.int64))
        elif all(isinstance(item, str | bytes | None) for item in items):
            yield Texts.of(items)
        else:
            raise wrong_type("a sequence with items that are neither all integers nor all texts")
