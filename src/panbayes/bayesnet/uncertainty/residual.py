"""What no replicate knows: dependence that was not measured.

Replicates have the tables that were measured and no others. Two attributes that no table holds together may still
depend on each other a little more than the law says, or nobody would have stopped measuring; and values that were
measured in one group may differ in ways that the group does not show. Both widen an answer. On the logarithm of the
probability of values x, y of two attributes, with p the published probability that they meet, the variance is

    (u·p^(−¼) / Σ p'^¾)² + L² if x or y shares its group in every table.

u is how far the pair may be from what the law says of it, in mean relative deviation
(:mod:`panbayes.bayesnet.uncertainty.unseen`; seven tenths of it where a table holds both), shared out among the values
so that its mean is u and rare values get more. L is how far the two attributes are from independence, the root mean
square of the logarithm of p over the product: values in a group may differ as much as groups do. A question adds up its
pairs: of two targets, and of a target and what is given. With a third attribute there is also what three do together
and no two show: the sum grows by half for every attribute beyond two, up to two and a half times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.elimination import Scope
from panbayes.bayesnet.uncertainty.replicates import Replicates

__all__ = ["Pairs", "interactions", "pair_variance", "question_variance"]

Pairs = Callable[[int, int], FloatArray]
"""The published joint law of two attributes."""

_MEASURED: Final = 0.7
"""The part of what may go unseen where a table holds both attributes."""

_INTERACTION: Final = 0.5
_MOST_INTERACTIONS: Final = 2.5
_LARGEST: Final = 4.0
"""The largest variance of a pair: a factor of e² either way."""


def pair_variance(replicates: Replicates, pairs: Pairs, one: int, other: int) -> FloatArray:
    """Return the variance of the logarithm of every cell's probability that two attributes have from what is unseen."""
    joint = pairs(one, other)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    deviation = replicates.unseen.deviation(joint.size) if replicates.unseen else 0.0
    if (min(one, other), max(one, other)) in replicates.together:
        deviation *= _MEASURED
    unseen = deviation * np.maximum(joint, 1e-12) ** -0.25 / (joint**0.75).sum()
    ratio = np.log(np.maximum(joint, 1e-300) / np.maximum(np.outer(first, second), 1e-300))
    apart = float((joint * ratio**2).sum())
    grouped = replicates.grouped[one][:, None] | replicates.grouped[other]
    return np.asarray(np.minimum(unseen**2 + apart * grouped, _LARGEST))


def question_variance(replicates: Replicates, pairs: Pairs, targets: Scope, evidence: Mapping[int, int]) -> FloatArray:
    """Return the variance of the logarithm of every cell of p(targets | evidence), one axis per target."""
    more = interactions(len(targets) + len(evidence))
    sizes = [replicates.nested[v].size for v in targets]
    found = np.zeros(sizes)
    for place, target in enumerate(targets):
        along = [-1 if axis == place else 1 for axis in range(len(targets))]
        for given, code in evidence.items():
            found = found + pair_variance(replicates, pairs, target, given)[:, code].reshape(along)
        for later, other in enumerate(targets[place + 1 :], start=place + 1):
            shape = [sizes[axis] if axis in (place, later) else 1 for axis in range(len(targets))]
            found = found + pair_variance(replicates, pairs, target, other).reshape(shape)
    return found * more


def interactions(attributes: int) -> float:
    """Return how much more goes unseen in a question about so many ``attributes`` than in its pairs.

    >>> interactions(1), interactions(2), interactions(3), interactions(40)
    (1.0, 1.0, 1.5, 2.5)
    """
    return min(1 + _INTERACTION * max(attributes - 2, 0), _MOST_INTERACTIONS)
