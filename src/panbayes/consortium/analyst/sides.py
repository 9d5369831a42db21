"""Two sides of every attribute with about as many records each: what the linear score of votes goes by.

A pair's score can be as large as the smaller side allows, so even sides say most. Values of an ordered attribute are
cut at one place; those of another are dealt out, the most frequent first, each to the side that has less. Means are
what the same noisy counts say of the sides; noise in them adds to every score of a pair with the mean of the other
attribute as a factor, which even sides keep small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.protocol.queries import MEAN_PARTS

__all__ = ["sides_of"]


def sides_of(counts: NDArray[np.int64], *, ordered: bool) -> tuple[tuple[int, ...], int]:
    """Return the side of every value, and the mean of the sides in 4096ths: +1 for side 0, −1 for side 1.

    Noisy counts below zero count as zero; where all do, as if all values were alike.

    >>> sides_of(np.array([50, 30, 15, 5]), ordered=True)
    ((0, 1, 1, 1), 0)
    >>> sides_of(np.array([30, 40, -2, 30]), ordered=False)
    ((1, 0, 0, 1), -819)
    """
    kept = np.maximum(counts, 0).astype(np.float64)
    law = kept / kept.sum() if kept.sum() else np.full(kept.size, 1 / kept.size)
    sides = np.zeros(law.size, dtype=np.int64)
    if ordered and law.size > 1:
        below = np.cumsum(law)[:-1]
        sides[int(np.argmin(np.abs(below - 0.5))) + 1 :] = 1
    elif not ordered:
        balance = 0.0
        for value in np.argsort(-law, kind="stable").tolist():
            sides[value] = int(balance > 0)
            balance += law[value] if balance <= 0 else -law[value]
    mean = round(MEAN_PARTS * float(law @ (1 - 2 * sides)))
    return tuple(sides.tolist()), mean
