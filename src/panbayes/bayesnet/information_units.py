"""Sums of c·ln c that do not depend on the order of summation: whole numbers of a small unit.

The mutual information is made of Σ c·ln c over the counts c of a table. Each c·ln c is rounded to a whole number of
units of 2⁻ˢ, s = ``information_bits(records)``, so that every sum is a sum of integers: the same to the bit whether it
is taken from a table or from records, and with the error proven in :mod:`panbayes.exact.score_rounding`.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray
from panbayes.exact.score_rounding import information_bits

__all__ = ["KNOWN", "sum_units", "units"]

KNOWN: Final = 2**20
"""Below this count, c·ln c is looked up: 8 MB at most."""


def units(counts: CountArray, records: int) -> NDArray[np.int64]:
    """Return c·ln c of every count c in whole units of 2⁻ˢ, s = ``information_bits(records)``."""
    real = counts.astype(np.float64)
    return np.rint(np.ldexp(real * np.log(np.maximum(real, 1)), information_bits(records))).astype(np.int64)


def sum_units(counts: CountArray, records: int) -> int:
    """Return Σ c·ln c over the counts c in units of 2⁻ˢ.

    >>> sum_units(np.array([1, 0, 1]), 2), sum_units(np.array([2]), 2) == round(2 * np.log(2) * 2.0**52)
    (0, True)
    """
    known = _known_units(records)
    flat = counts.reshape(-1).astype(np.int64)
    large = flat[flat >= known.size]
    return int(known[flat[flat < known.size]].sum()) + int(units(large, records).sum())


@functools.lru_cache(maxsize=8)
def _known_units(records: int) -> NDArray[np.int64]:
    """Return c·ln c for c = 0, 1, … up to ``records``, or as far as is worth keeping."""
    known = units(np.arange(min(records + 1, KNOWN)), records)
    known.flags.writeable = False
    return known
