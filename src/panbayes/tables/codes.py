"""The integers that stand for values: which type they have."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.schema.schema import Schema

__all__ = ["Codes", "Room", "code_type"]

Codes: TypeAlias = NDArray[np.uint8 | np.uint16]
"""Codes of shape (attributes, records), C-contiguous, so that each attribute's codes lie side by side."""


def code_type(schema: Schema) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest integer type that holds every code of the schema."""
    return np.uint8 if max(schema.sizes) <= 256 else np.uint16


class Room:
    """Memory for one block after the other, each of any shape: taken once, for the largest."""

    def __init__(self, dtype: Any) -> None:
        """Take nothing yet."""
        self._memory: NDArray[Any] = np.empty(0, dtype=dtype)

    def shaped(self, rows: int, records: int) -> NDArray[Any]:
        """Return a C-contiguous array of this shape; what the last one held is lost."""
        if rows * records > self._memory.size:
            self._memory = np.empty(0, dtype=self._memory.dtype)  # let go of it before the larger one is taken
            self._memory = np.empty(rows * records, dtype=self._memory.dtype)
        return self._memory[: rows * records].reshape(rows, records)
