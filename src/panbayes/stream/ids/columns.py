"""Ids in whatever container they come: NumPy, Arrow, polars, pandas, DuckDB, plain sequences.

A missing id (``None``, NaN, a null) is dropped, and no other with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

import numpy as np

from panbayes.stream.ids.arrow import arrow_chunks, speaks_arrow
from panbayes.stream.ids.chunk import Chunk, Integers, Texts, wrong_type

__all__ = ["chunks"]

_MISSING: Final = ("NAType", "NaTType", "MaskedConstant")
"""What pandas and NumPy put where nothing is, beside ``None`` and NaN; known by name, so that neither is loaded."""


def chunks(ids: object) -> Iterator[Chunk]:
    """Yield the ids as chunks of integers or texts; refuse other types by their name.

    >>> [chunk.values.tolist() for chunk in chunks([3, 1])]
    [[3, 1]]
    >>> [chunk.lengths.tolist() for chunk in chunks(["ann", None, "bo"])]
    [[3, 0, 2]]
    """
    if isinstance(ids, Integers | Texts):
        yield ids
    elif isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise wrong_type(f"an array of {ids.ndim} dimensions")
        if ids.dtype.kind in "iu":
            missing = np.ma.getmaskarray(ids) if isinstance(ids, np.ma.MaskedArray) else None
            yield Integers(np.ascontiguousarray(np.ma.getdata(ids)), missing)
        elif ids.dtype.kind in "USOT":
            yield _of_items(ids.tolist())
        else:
            raise wrong_type(f"an array of type {ids.dtype}")
    elif speaks_arrow(ids):
        yield from _of_arrow(ids)
    elif isinstance(ids, (str, bytes, dict)) or not isinstance(ids, Iterable):
        raise wrong_type(f"a {type(ids).__name__}")
    else:
        yield _of_items(list(ids))


def _of_arrow(ids: object) -> Iterator[Chunk]:
    """Yield what a library hands over; Python objects, and what it does not hand over, item by item."""
    if _holds_objects(ids):
        yield _of_items(_items(ids))
        return
    found = arrow_chunks(ids)
    try:
        first = next(found, None)
    except (ValueError, TypeError, NotImplementedError, ImportError):
        yield _of_items(_items(ids))
        return
    if first is not None:
        yield first
        yield from found


def _holds_objects(ids: object) -> bool:
    """Say whether a column or frame of polars or pandas holds Python objects: polars hands over their addresses."""
    kinds = getattr(ids, "dtypes", []) if hasattr(ids, "columns") else [getattr(ids, "dtype", None)]
    return any(str(kind).lower() == "object" for kind in kinds)


def _items(ids: object) -> list[object]:
    """Return the items of a column, or of the one column of a frame."""
    names = getattr(ids, "columns", None)
    if names is not None and len(names) != 1:
        raise wrong_type(f"a frame of {len(names)} columns")
    take = getattr(ids, "__getitem__", None)
    column = take(names[0]) if names is not None and take is not None else ids
    if not isinstance(column, Iterable):
        raise wrong_type(f"a {type(ids).__name__}")
    return list(column)


def _of_items(items: list[object]) -> Chunk:
    """Lay out items of Python: all integers, or all texts; among texts an integer is its digits."""
    kinds = {kind for kind in map(type, items) if kind is not type(None)}
    if kinds == {int}:
        return _integers(items)
    if kinds <= {str}:
        return Texts.of(items)
    missing = [_is_missing(item) for item in items]
    read = [None if gone else item for item, gone in zip(items, missing, strict=True)]
    for item in read:
        if isinstance(item, bool) or not isinstance(item, int | np.integer | str | bytes | UUID | None):
            raise wrong_type(f"a sequence with an item of type {type(item).__name__}")
    if all(isinstance(item, int | np.integer | None) for item in read):
        return _integers(read)
    return Texts.of(item if isinstance(item, str | bytes | None) else str(item) for item in read)


def _integers(items: list[object]) -> Chunk:
    """Lay out integers; where some are negative or large, all as the texts of their digits."""
    if all(item is None or (isinstance(item, int | np.integer) and 0 <= item < 1 << 62) for item in items):
        values = [int(item) if isinstance(item, int | np.integer) else 0 for item in items]
        missing = np.array([item is None for item in items], dtype=np.bool_)
        return Integers(np.array(values, dtype=np.int64), missing if missing.any() else None)
    return Texts.of(None if item is None else str(item) for item in items)


def _is_missing(item: object) -> bool:
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in _MISSING
