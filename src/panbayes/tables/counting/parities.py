"""Parities: how many more records have an even number of ones among some attributes than an odd number.

For attributes with two values, s = Σ_records ∏_a (−1)^x_a. It is what a table of them says beyond the tables of fewer
attributes, up to a factor, and costs next to nothing: sixty-four records lie in one word, an exclusive or of words has
their parities, and the ones in it are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.counting.engines import Kernels, choose_kernels, engine

__all__ = ["pack_bits", "parities"]


def pack_bits(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Pack rows of zeros and ones into words, padded with zeros."""
    packed = np.packbits(bits, axis=1)
    padding = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, padding)))).view(np.uint64)


def parities(
    bits: NDArray[np.uint8], sets: Sequence[Sequence[int]], *, kernels: Kernels | None = None
) -> NDArray[np.int64]:
    """Return s for every set; ``bits`` has a row of zeros and ones for each attribute.

    >>> parities(np.array([[0, 1, 1], [0, 1, 0], [0, 0, 0]], dtype=np.uint8), [(0,), (0, 1), (0, 1, 2)]).tolist()
    [-1, 1, 1]
    """
    words, counter = pack_bits(bits), engine(choose_kernels(kernels))
    found = np.empty(len(sets), dtype=np.int64)
    lengths = np.array([len(members) for members in sets], dtype=np.int64)
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        members = np.array([sets[place] for place in places.tolist()], dtype=np.int64).reshape(places.size, length)
        found[places] = bits.shape[1] - 2 * counter.count_odd(words, members)
    return found
