"""Learning from the Diabetes table: 80 % of its records to learn from, 20 % to test on, split anew every time.

The cross entropy is empirical: the mean of −log₂ p(x) over the records that nothing was learned from. Cells are about
all 43 attributes, or about seven of them: the ``narrow`` ones with the fewest values, the ``wide`` ones with the most.

Thesis: sections "Evaluation Metric" and "Real-World Data".
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Final

import numpy as np

from panbayes.bayesnet.network import Network
from panbayes.schema.schema import Schema
from panbayes.tables.diabetes import load_diabetes
from panbayes.tables.table import Table
from reproduction.distributed_trials import Subject, learned_row
from reproduction.experiment import Cell
from reproduction.results import Row

__all__ = [
    "ALL",
    "NARROW",
    "SOME",
    "WIDE",
    "diabetes_ready",
    "diabetes_row",
    "held_out_row",
    "some_attributes",
    "split",
]

ALL, NARROW, WIDE = "all", "narrow", "wide"
SOME: Final = 7
"""As many attributes as the synthetic data has."""

_TRAINING: Final = 0.8


@cache
def _whole() -> Table:
    return load_diabetes()


def diabetes_ready() -> None:
    """Load the table; refuse, and say how to get it, where it is not there."""
    _whole()


def diabetes_row(cell: Cell, repetitions: int, seed: int) -> Row:
    """Learn so often from the published table, by a cell that names its ``attributes``."""
    return held_out_row(_whole(), cell, repetitions, seed)


def held_out_row(table: Table, cell: Cell, repetitions: int, seed: int) -> Row:
    """Learn so often from a table, each time from a part of it, and test on the rest; beside it what table it was."""
    about = some_attributes(table, str(cell["attributes"]))
    sizes = about.schema.sizes
    seen = [np.unique(codes).size for codes in about.codes]
    return {
        **learned_row(cell, repetitions, seed, partial(split, about)),
        "number": len(sizes),
        "least_values": min(sizes),
        "most_values": max(sizes),
        "log10_tuples": sum(map(math.log10, seen)),
        "records": about.records,
    }


def some_attributes(table: Table, which: str) -> Table:
    """Return a table of all attributes, or of the seven with the fewest or the most values."""
    if which == ALL:
        return table
    by_size = np.argsort(np.array(table.schema.sizes), kind="stable")
    rows = np.sort(by_size[:SOME] if which == NARROW else by_size[-SOME:])
    schema = Schema(f"{table.schema.name} {which}", tuple(table.schema.attributes[row] for row in rows))
    return Table(schema, np.ascontiguousarray(table.codes[rows]))


def split(table: Table, seed: int) -> Subject:
    """Split a table at random into what is learned from and what is tested on."""
    order = np.random.default_rng(seed).permutation(table.records)
    cut = round(_TRAINING * table.records)
    test = table.select(order[cut:])

    def bits(network: Network) -> float:
        return float(network.log_prob(test).mean()) / -math.log(2)

    return Subject(table.select(order[:cut]), bits)
