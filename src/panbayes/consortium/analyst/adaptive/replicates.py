"""Replicates of what the analyst believes: what else the same measurements would allow.

Every replicate draws counts for each single attribute and each known table around the estimated ones: with the variance
of the estimate, which knows the noise, and that of records drawn from a population, of which the truth is the law. The
draws are of gamma laws, which stay positive. Then it goes the way the estimates went: tables are brought to the
replicate's single attributes, and the law is fitted to them in a few steps from where it stands.

How much dependence may have gone unseen follows from the noise of tables and looks, and from how many pairs the
junction tree could not have held (:mod:`panbayes.bayesnet.uncertainty.unseen`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes, reduced_sizes, weight_of
from panbayes.bayesnet.markov.maxent import Effort, fit_field
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.bayesnet.uncertainty.unseen import Unseen
from panbayes.consortium.analyst.adaptive.belief import Belief, end_to_end, slack_of
from panbayes.consortium.analyst.adaptive.margins import raked
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.consortium.analyst.adaptive.selection import said as told_beyond_chance

__all__ = ["draw_replicates", "single_replicates"]

DRAWS: Final = 24
_EFFORT: Final = Effort(6)
_LEAST_SHAPE: Final = 0.02
_LAST: Final = 4
"""The last pairs are a quarter of all; a quarter of them said less than what was passed over may say."""

_TRIED: Final = 30
"""So many pairs that were not measured are tried whether the tree would have held them."""


def draw_replicates(
    belief: Belief,
    rng: np.random.Generator,
    *,
    noise: float | None,
    look: float = 0.0,
    first: float = 0.0,
    tree: int,
    added_up: bool = False,
) -> Replicates:
    """Draw replicates of a belief.

    ``noise`` is the standard deviation of a cell of a table, None where dependencies were never looked at, ``look``
    that of a look at how many tables are worth it, and ``first`` that of a first look after which none were offered;
    ``tree`` is how many cells the junction tree may have. Where the k values of single attributes were ``added_up`` to
    the number of records, they are drawn with k/(k − 1) of their variance: drawn one by one and divided by their sum,
    they lose again what they had lost by that.
    """
    laws, parameters = [], []
    more = [one.variance.size / max(1, one.variance.size - 1) if added_up else 1.0 for one in belief.singles]
    for _ in range(DRAWS):
        own = [
            _drawn_law(estimate.distribution, factor * estimate.variance, belief.records, rng)
            for estimate, factor in zip(belief.singles, more, strict=True)
        ]
        laws.append(own)
        parameters.append(_drawn_parameters(belief, own, rng))
    return Replicates.of(
        unseen=None if noise is None else _unseen(belief, noise, look, first, tree, rng),
        nested=belief.nested,
        tables=[table.axes for table in belief.known],
        laws=laws,
        parameters=parameters,
    )


def single_replicates(
    distributions: Sequence[FloatArray], variance: float, records: float, rng: np.random.Generator
) -> Replicates:
    """Draw replicates of single attributes alone, whose counts have this ``variance`` of noise."""
    laws = [
        [_drawn_law(law, np.full(law.size, variance), max(records, 1.0), rng) for law in distributions]
        for _ in range(DRAWS)
    ]
    nested = [Nested(law.size, ()) for law in distributions]
    return Replicates.of(unseen=None, nested=nested, tables=(), laws=laws, parameters=[np.zeros(0)] * DRAWS)


def _drawn_law(distribution: FloatArray, variance: FloatArray, records: float, rng: np.random.Generator) -> FloatArray:
    mean = records * distribution
    counts = _drawn(mean, variance + mean, rng)  # independent counts, divided by their sum, have the records' chance
    return np.asarray(counts / counts.sum())


def _drawn(mean: FloatArray, variance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw positive counts of these means and variances, as nearly as a gamma law that is not all spikes can."""
    shape = np.maximum(mean**2 / np.maximum(variance, 1e-9), _LEAST_SHAPE)
    return np.asarray(np.maximum(mean * rng.gamma(shape) / shape, 1e-6 * mean + 1e-9))


def _drawn_parameters(belief: Belief, laws: Sequence[FloatArray], rng: np.random.Generator) -> FloatArray:
    if not belief.known:
        return np.zeros(0)
    targets = []
    for table in belief.known:
        margins = [np.bincount(belief.nested[a].groups(count), laws[a]).astype(np.float64) for a, count in table.axes]
        targets.append(raked(_drawn(table.mean, table.variance + table.mean, rng), margins))
    slack = [slack_of(table, target, belief.records) for table, target in zip(belief.known, targets, strict=True)]
    field = belief.field.around(laws)
    return fit_field(field, end_to_end(targets), end_to_end(slack), belief.parameters, effort=_EFFORT)


def _unseen(belief: Belief, noise: float, look: float, first: float, tree: int, rng: np.random.Generator) -> Unseen:
    """Say what was passed over, what the look's noise hid if the rest is as dense as what was seen, or a first look.

    Pairs that say no more than chance tell nothing of how much the others may.
    """
    pairs = [table for table in belief.known if len(table.axes) == 2 and told_beyond_chance(table, belief.records) > 0]
    said = [np.abs(table.mean - table.expected).sum() / belief.records for table in pairs[-(len(pairs) // _LAST + 1) :]]
    passed = _passed_over(belief, tree, rng) * float(np.quantile(said, 1 / _LAST)) if said else 0.0
    attributes = len(belief.singles)
    dense = len({tuple(a for a, _ in table.axes) for table in pairs}) / max(attributes * (attributes - 1) / 2, 1)
    hidden = max(dense * look, first) / belief.records
    return Unseen(round(belief.records, 1), round(noise, 3), round(max(passed, hidden), 6))


def _passed_over(belief: Belief, tree: int, rng: np.random.Generator) -> float:
    """Return about what part of the pairs that no table holds the tree could not have held."""
    tables = [table.axes for table in belief.known]
    held = {pair for axes in tables for pair in combinations([a for a, _ in axes], 2)}
    sizes = [single.distribution.size for single in belief.singles]
    left = [pair for pair in combinations(range(len(sizes)), 2) if pair not in held]
    if not left:
        return 0.0
    tried = rng.choice(len(left), min(_TRIED, len(left)), replace=False).tolist()

    def heavy(one: int, other: int) -> bool:
        pair: Axes = ((one, min(2, sizes[one])), (other, min(2, sizes[other])))
        return weight_of([*tables, pair], reduced_sizes(len(sizes), [*tables, pair])) > tree

    return sum(heavy(*left[place]) for place in tried) / len(tried)
