"""Learning the synthetic network from several holders, again and again, by the strategies of the thesis and by ours.

In every repetition fresh records are drawn and dealt to the holders in turns. The strategies are as in the thesis:
mutual information, the exponential mechanism, ε divided in halves, negative counts cut by the holders, add-one
smoothing; but noise is on integers, and simulated.

Thesis: section "Synthetic Data"; Algorithms Sharing the Noisy Sufficient Statistics, Noisy Majority Voting, Sharing the
Noisy Model.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.result import SMOOTHING
from panbayes.consortium.local.learn import learn
from panbayes.reproduce.experiment import Cell
from panbayes.reproduce.results import Row
from panbayes.reproduce.synthetic import RECORDS, cross_entropy, synthetic_network, synthetic_schema
from panbayes.tables.table import Table

__all__ = ["ADAPTIVE", "CENTRAL", "NAIVE", "PUBLISHED", "learned_row", "strategy_cells"]

PUBLISHED: Final = ("noisy-sufficient-statistics", "noisy-majority-voting", "noisy-model")
ADAPTIVE: Final = "adaptive"
NAIVE: Final = "naive"
"""Every attribute alone, without privacy: the thesis's lower bound for performance."""

CENTRAL: Final = "non-private"
"""The greedy search on all records, without privacy: the thesis's upper bound."""

_SELDOM: Final = 5
"""The adaptive strategy takes ten times as long, and is repeated so many times less."""


def strategy_cells(points: list[tuple[float, int, int]]) -> list[Cell]:
    """Return the cells of all strategies at every (ε, degree, number of holders), and those of the bounds."""
    cells: list[Cell] = [
        {"strategy": strategy, "epsilon": epsilon, "degree": degree, "holders": holders}
        for epsilon, degree, holders in points
        for strategy in PUBLISHED
    ]
    ours = sorted({(epsilon, holders) for epsilon, _, holders in points})
    cells += [{"strategy": ADAPTIVE, "epsilon": e, "degree": 0, "holders": h} for e, h in ours]
    degrees = sorted({degree for _, degree, _ in points})
    bounds = [(NAIVE, 0), *((CENTRAL, degree) for degree in degrees)]
    cells += [{"strategy": name, "epsilon": 0.0, "degree": degree, "holders": 1} for name, degree in bounds]
    return cells


def learned_row(cell: Cell, repetitions: int, seed: int) -> Row:
    """Learn so often by one strategy, and return the mean of the cross entropies and their deviation."""
    strategy = str(cell["strategy"])
    times = max(3, repetitions // _SELDOM) if strategy == ADAPTIVE else repetitions
    bits = np.array([_bits(cell, seed + repetition) for repetition in range(times)])
    deviation = float(bits.std(ddof=1)) if times > 1 else 0.0
    entropy = cross_entropy(synthetic_network())
    return {**cell, "repetitions": times, "bits": float(bits.mean()), "deviation": deviation, "entropy": entropy}


def _bits(cell: Cell, seed: int) -> float:
    strategy, holders = str(cell["strategy"]), int(cell["holders"])
    schema = synthetic_schema()
    table = synthetic_network().sample_table(RECORDS, np.random.default_rng(seed))
    name = f"repetition {seed}"
    if strategy == NAIVE:
        alone = Structure.independent(len(schema))
        return cross_entropy(fit(schema, alone, ExactCounts(table), smoothing=SMOOTHING))
    if strategy == CENTRAL:
        return cross_entropy(learn(Study(name, schema, strategy, degree=int(cell["degree"])), table))
    epsilon = Fraction(repr(float(cell["epsilon"])))
    if strategy == ADAPTIVE:
        study = Study(name, schema, strategy, epsilon)
    else:
        study = Study(name, schema, strategy, epsilon, degree=int(cell["degree"]), mechanism="exponential")
    dealt: dict[str, Table] = {f"holder {j}": table.select(slice(j, None, holders)) for j in range(holders)}
    return cross_entropy(learn(study, dealt, simulate=seed))
