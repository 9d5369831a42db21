"""Learning from several holders, again and again, by the strategies of the thesis and by ours.

In every repetition a subject is drawn anew, and its records are dealt to the holders. The strategies are as in the
thesis: mutual information, the exponential mechanism, ε divided in halves, negative counts cut by the holders, add-one
smoothing; but noise is on integers, and simulated.

Thesis: section "Experimental Evaluation" of Chapter 3; Algorithms Sharing the Noisy Sufficient Statistics, Noisy
Majority Voting, Sharing the Noisy Model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.result import SMOOTHING
from panbayes.consortium.local.learn import learn
from panbayes.tables.table import Table
from reproduction.experiment import Cell
from reproduction.partition import PARTITIONS, dealt
from reproduction.results import Row

__all__ = ["ADAPTIVE", "CENTRAL", "LOCAL", "NAIVE", "PUBLISHED", "SUMMED", "Subject", "learned_row", "strategy_cells"]

PUBLISHED: Final = ("noisy-sufficient-statistics", "noisy-majority-voting", "noisy-model")
ADAPTIVE: Final = "adaptive"
NAIVE: Final = "naive"
"""Every attribute alone, without privacy: the thesis's lower bound for performance."""

CENTRAL: Final = "non-private"
"""The greedy search on all records, without privacy: the thesis's upper bound."""

SUMMED: Final = "noisy-sufficient-statistics-summed"
"""Noisy ss with negative counts cut after the sum over holders, where the thesis has every holder cut its own."""

LOCAL: Final = "local-model"
"""The model that the first holder learns privately from its own records: what sharing the model averages."""

_SELDOM: Final = 5
"""The adaptive strategy takes ten times as long, and is repeated so many times less."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What one repetition is about: the records to learn from, and the cross entropy of a network in ``bits``."""

    training: Table
    bits: Callable[[Network], float]


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


def learned_row(cell: Cell, repetitions: int, seed: int, draw: Callable[[int], Subject]) -> Row:
    """Learn so often by one strategy, and return the mean of the cross entropies and their deviation."""
    times = max(3, repetitions // _SELDOM) if cell["strategy"] == ADAPTIVE else repetitions
    bits = np.array([_bits(cell, one, draw(one)) for one in range(seed, seed + times)])
    deviation = float(bits.std(ddof=1)) if times > 1 else 0.0
    return {**cell, "repetitions": times, "bits": float(bits.mean()), "deviation": deviation}


def _bits(cell: Cell, seed: int, subject: Subject) -> float:
    strategy, degree = str(cell["strategy"]), int(cell["degree"])
    schema, name = subject.training.schema, f"repetition {seed}"
    if strategy == NAIVE:
        alone = Structure.independent(len(schema))
        return subject.bits(fit(schema, alone, ExactCounts(subject.training), smoothing=SMOOTHING))
    if strategy == CENTRAL:
        return subject.bits(learn(Study(name, schema, strategy, degree=degree), subject.training))
    (partition,) = (one for one in PARTITIONS if one == cell["partition"])
    holders = dealt(subject.training, int(cell["holders"]), partition)
    epsilon = Fraction(repr(float(cell["epsilon"])))
    match strategy:
        case "adaptive":
            study = Study(name, schema, strategy, epsilon)
        case "local-model":
            study = Study(name, schema, "privbayes", epsilon, degree=degree, mechanism="exponential")
            holders = dict([next(iter(holders.items()))])
        case "noisy-sufficient-statistics-summed":
            study = Study(name, schema, PUBLISHED[0], epsilon, degree=degree, mechanism="exponential", clip="analyst")
        case _:
            study = Study(name, schema, strategy, epsilon, degree=degree, mechanism="exponential")
    return subject.bits(learn(study, holders, simulate=seed))
