"""The synthetic data of the thesis: seven attributes, X0 to X5 with two values and X6 with three, of 5.12 bits.

The thesis gives the domains, the entropy and that the non-private greedy search recovers the network; its edges and
tables are lost with the figure (errata 7). Here every attribute depends on the two before it, more on the nearer one;
one number, the strength, is set so that the entropy is 5.12 bits.

Thesis: Figure FIG_synthetic_graph_structure; section "Synthetic Data".
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from reproduction.distributed_trials import Subject, learned_row
from reproduction.experiment import Cell
from reproduction.results import Row

__all__ = ["RECORDS", "cross_entropy", "synthetic_network", "synthetic_row", "synthetic_schema", "truth"]

RECORDS: Final = 40_000
_STRENGTH: Final = 1.53047
_NEAR, _FAR = 1.2, 0.3
_SIGNS: Final = (1, 1, -1, 1, -1, 1, 1)


@cache
def synthetic_schema() -> Schema:
    """Return the seven attributes."""
    return Schema(
        "synthetic", tuple(Attribute(f"X{i}", categories=tuple("012"[: 3 if i == 6 else 2])) for i in range(7))
    )


@cache
def synthetic_network() -> Network:
    """Return the distribution that records are drawn from."""
    schema = synthetic_schema()
    structure = Structure.of([(0, ()), (1, (0,)), *((child, (child - 2, child - 1)) for child in range(2, 7))])
    tables = [np.array([0.42, 0.58]), _leaning([_NEAR])]
    tables += [_leaning([_FAR * _SIGNS[child], _NEAR * _SIGNS[child - 1]]) for child in range(2, 6)]
    return Network(schema, structure, (*tables, _leaning([_FAR, _NEAR], middle=0.35)))


def _leaning(weights: list[float], *, middle: float | None = None) -> NDArray[np.float64]:
    """Return a table in which parents at 1 and 0 pull their child up and down; ``middle`` adds a third value."""
    table = np.empty((2,) * len(weights) + (2 if middle is None else 3,))
    for values in itertools.product((0, 1), repeat=len(weights)):
        pull = sum(weight * (2 * value - 1) for weight, value in zip(weights, values, strict=True))
        heights = [-pull / 2, pull / 2] if middle is None else [-pull, middle, pull]
        odds = np.exp(_STRENGTH * np.array(heights))
        table[values] = odds / odds.sum()
    return table


@cache
def truth() -> tuple[Table, NDArray[np.float64]]:
    """Return every possible record and its probability."""
    schema = synthetic_schema()
    cells = np.array(list(itertools.product(*map(range, schema.sizes))), dtype=np.uint8).T
    everything = Table(schema, np.ascontiguousarray(cells))
    return everything, np.exp(synthetic_network().log_prob(everything))


def cross_entropy(network: Network) -> float:
    """Return the exact cross entropy of a network against the distribution, in bits.

    >>> round(cross_entropy(synthetic_network()), 3)
    5.12
    """
    everything, chances = truth()
    return float(chances @ network.log_prob(everything)) / -math.log(2)


def synthetic_row(cell: Cell, repetitions: int, seed: int) -> Row:
    """Learn from records that are drawn anew in every repetition, and judge by the distribution itself."""
    row = learned_row(cell, repetitions, seed, _drawn)
    return {**row, "entropy": cross_entropy(synthetic_network())}


def _drawn(seed: int) -> Subject:
    return Subject(
        synthetic_network().sample_table(RECORDS, np.random.default_rng(seed), independent=True), cross_entropy
    )
