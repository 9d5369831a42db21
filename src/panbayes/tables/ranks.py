"""Ranks of records, by which a person's records are put in order where their table has none of its own.

A lake rewrites its files as it likes, and to take one person's records away may move another's. So there a person's
first records are not those that come first, but the first by columns that the holder names, then by their codes:
numbers that follow from the record alone. Records with the same ranks have the same codes, so it does not matter which
of them is kept, and what is kept of a person depends on that person's records alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.tables.codes import Codes
from panbayes.tables.sources.batch import Batch

__all__ = ["Ranks", "rank_count", "record_ranks"]

Ranks: TypeAlias = NDArray[np.uint64]
"""Of shape (ranks, records); the first row decides, then the second, and so on."""

TEXT_RANKS: Final = 4
"""Texts are told apart by their first 32 bytes; what is the same there goes by the next column, or by codes."""

_SIGN: Final = np.uint64(2**63)


def record_ranks(codes: Codes, sizes: Sequence[int], batch: Batch, order_by: Sequence[str], *, argument: str) -> Ranks:
    """Return the ranks of some records: by the columns ``order_by``, then by their ``codes``, each below its size."""
    rows = [row for name in order_by for row in _value_ranks(batch.columns[name].series(), name, argument=argument)]
    return np.stack([*rows, *_code_ranks(codes, sizes)])


def rank_count(sizes: Sequence[int], order_by: Sequence[str]) -> int:
    """Return how many ranks a record has.

    >>> rank_count([2] * 64, ["visit"])
    7
    """
    nobody = np.zeros((len(sizes), 0), dtype=np.uint8)
    return (1 + TEXT_RANKS) * len(order_by) + len(_code_ranks(nobody, sizes))


def _value_ranks(values: pl.Series, name: str, *, argument: str) -> list[NDArray[np.uint64]]:
    """Return the ranks of every value: whether there is one, and which; what is missing comes first.

    >>> there, which, *_ = _value_ranks(pl.Series([3, None, -2]), "a", argument="data")
    >>> there.tolist(), bool(which[2] < which[0])
    ([1, 0, 1], True)
    """
    kind = values.dtype
    if kind == pl.String:
        return _text_ranks(values)
    if kind == pl.Null:
        values = values.cast(pl.Int64)
    elif not (kind.is_integer() or kind.is_float() or kind.is_temporal() or kind == pl.Boolean) or kind == pl.Int128:
        raise InputError(
            argument,
            found=f'order_by names "{name}", which is of a kind that is not ordered here',
            remedy="name a column of numbers, days, times or texts",
        )
    if kind.is_float():
        values = values.fill_nan(None)
    there = values.is_not_null().to_numpy().astype(np.uint64)
    if kind.is_float():
        bits = (values.fill_null(0.0).cast(pl.Float64) + 0.0).to_numpy().view(np.uint64)
        which = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    elif kind == pl.UInt64:
        which = values.fill_null(0).to_numpy().copy()
    else:
        which = values.to_physical().cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64) ^ _SIGN
    nothing = np.zeros(there.size, dtype=np.uint64)
    return [there, np.where(there == 1, which, nothing), *[nothing] * (TEXT_RANKS - 1)]


def _text_ranks(values: pl.Series) -> list[NDArray[np.uint64]]:
    """Return the ranks of texts: the order of their first bytes in UTF-8 is that of their first characters."""
    there = values.is_not_null().to_numpy().astype(np.uint64)
    size = 8 * TEXT_RANKS
    joined = b"".join((text or "").encode()[:size].ljust(size, b"\0") for text in values.to_list())
    words = np.frombuffer(joined, dtype=">u8").reshape(-1, TEXT_RANKS).astype(np.uint64)
    return [there, *words.T]


def _code_ranks(codes: Codes, sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """Return numbers in the order of the records' codes, attribute by attribute: as many as fit into one, and so on.

    >>> [ranks.tolist() for ranks in _code_ranks(np.array([[1, 0], [2, 0]], dtype=np.uint8), (2, 3))]
    [[5, 0]]
    """
    found: list[NDArray[np.uint64]] = []
    room = 0
    for code, size in zip(codes, sizes, strict=True):
        if found and room * size < 2**63:
            found[-1] = found[-1] * np.uint64(size) + code.astype(np.uint64)
            room *= size
        else:
            found.append(code.astype(np.uint64))
            room = size
    return found
