"""Integer counts as bytes: packed into the fewest that hold them all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

__all__ = ["Cells", "pack_cells", "split_cells", "unpack_cells"]


class Cells(Struct, frozen=True, forbid_unknown_fields=True):
    """Integer counts, packed: little-endian two's complement of ``width`` bytes each."""

    width: Literal[2, 4, 8]
    data: bytes


def pack_cells(values: NDArray[np.int64]) -> Cells:
    """Pack counts into the fewest bytes that hold them all."""
    largest = int(np.abs(values).max(initial=0))
    for width in (2, 4):
        if largest < 2 ** (8 * width - 1):
            return Cells(width, values.astype(f"<i{width}").tobytes())
    return Cells(8, values.astype("<i8").tobytes())


def unpack_cells(cells: Cells) -> NDArray[np.int64]:
    """Read packed counts; the caller checks that there are as many as it asked for."""
    if len(cells.data) % cells.width:
        raise ValueError("packed counts must be whole")
    return np.frombuffer(cells.data, dtype=f"<i{cells.width}").astype(np.int64)


def split_cells(cells: Cells, shapes: Iterable[tuple[int, ...]]) -> list[NDArray[np.int64]]:
    """Cut packed counts into tables of these ``shapes``, which lie end to end."""
    flat = unpack_cells(cells)
    tables: list[NDArray[np.int64]] = []
    start = 0
    for shape in shapes:
        stop = start + math.prod(shape)
        tables.append(flat[start:stop].reshape(shape))
        start = stop
    return tables
