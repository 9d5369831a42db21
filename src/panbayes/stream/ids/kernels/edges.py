"""Edges in text: two vertices on a line, and the number of the unordered pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop
from panbayes.stream.ids.kernels.spans import is_space

__all__ = ["number_pairs", "split_pairs"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@loop
def split_pairs(data: Bytes, starts: Ints, lengths: Ints, more_starts: Ints, more_lengths: Ints) -> None:
    """Cut every trimmed span in two at its first comma, or at its first white space if it has no comma.

    The first parts stay in ``starts`` and ``lengths``, the second ones go to ``more_starts`` and ``more_lengths``;
    a span without a cut has an empty second part.
    """
    for t in range(starts.size):
        start, end = starts[t], starts[t] + lengths[t]
        cut, space = end, end
        for i in range(start, end):
            if data[i] == 44:
                cut = i
                break
            if space == end and is_space(data[i]):
                space = i
        if cut == end:
            cut = space
        lengths[t] = cut - start
        more_starts[t] = min(cut + 1, end)
        more_lengths[t] = end - more_starts[t]


@loop
def number_pairs(first: Ints, second: Ints, vertices: int) -> None:
    """Put into ``first`` the number j(j − 1)/2 + i of each pair of vertices i < j, whichever of them comes first.

    A pair with a vertex outside 0 … ``vertices`` − 1, and one of a vertex with itself, becomes −1.
    """
    limit = np.uint64(vertices)
    for t in range(first.size):
        low, high = min(first[t], second[t]), max(first[t], second[t])
        inside = np.uint64(low) < limit and np.uint64(high) < limit and low != high
        first[t] = high * (high - 1) // 2 + low if inside else np.int64(-1)
