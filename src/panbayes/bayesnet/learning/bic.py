"""The Bayesian information criterion: mutual information less what the parameters cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from panbayes.bayesnet.counts import Counts, FloatArray
from panbayes.bayesnet.learning.scores.mutual_information import INFORMATION

__all__ = ["bic_gains"]


def bic_gains(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return by how much a parent set improves the Bayesian information criterion over no parents, per record.

    With n = ``counts.total``, r values of the child and q combinations of the parents' values, the gain is
    ``I(child; parents) − ln(n)/(2n) · (r − 1)(q − 1)`` nats.
    """
    n = max(counts.total, 2.0)
    sizes = counts.sizes
    free = np.array([sizes[child] - 1 for child in children], dtype=np.float64)
    rows = np.array([math.prod(sizes[p] for p in parents) - 1 for parents in parent_sets], dtype=np.float64)
    return INFORMATION(counts, parent_sets, children) - math.log(n) / (2 * n) * rows[:, None] * free
