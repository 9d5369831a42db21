"""The synthetic network has what the thesis says of it, and learning it is what the strategies do."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from reproduction.distributed_trials import strategy_cells
from reproduction.experiment import Cell
from reproduction.synthetic import cross_entropy, synthetic_network, synthetic_row, synthetic_schema, truth

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn


def test_entropy_by_brute_force() -> None:
    """Every record's probability, multiplied out of the tables, without the network's own code."""
    network = synthetic_network()
    tables = {child: (parents, network.tables[child]) for child, parents in network.structure.pairs}
    assert synthetic_schema().sizes == (2,) * 6 + (3,)
    entropy = total = 0.0
    for record in itertools.product(*map(range, synthetic_schema().sizes)):
        chance = math.prod(
            float(table[(*(record[parent] for parent in parents), record[child])])
            for child, (parents, table) in tables.items()
        )
        total += chance
        entropy -= chance * math.log2(chance)
    assert total == pytest.approx(1, abs=1e-12)
    assert entropy == pytest.approx(5.12, abs=0.005)
    assert cross_entropy(network) == pytest.approx(entropy, abs=1e-12)
    assert truth()[1].sum() == pytest.approx(1, abs=1e-12)


def test_the_greedy_search_recovers_it() -> None:
    table = synthetic_network().sample_table(40_000, np.random.default_rng(1), independent=True)
    found = learn(Study("recovered", synthetic_schema(), "non-private", degree=2), table)
    assert {child: set(parents) for child, parents in found.structure.pairs} == {
        child: set(parents) for child, parents in synthetic_network().structure.pairs
    }
    assert cross_entropy(found) - cross_entropy(synthetic_network()) < 0.002


def test_every_point_has_every_strategy_and_the_bounds_stand_once() -> None:
    cells = strategy_cells([(0.1, 1, 3), (0.1, 2, 3)])
    assert len({tuple(cell.values()) for cell in cells}) == len(cells) == 2 * 3 + 1 + 1 + 2


def test_a_row_is_the_mean_of_independent_repetitions() -> None:
    cell: Cell = {"partition": "turns", "strategy": "noisy-model", "epsilon": 1.0, "degree": 1, "holders": 2}
    row = synthetic_row(cell, 3, 5)
    single = [float(synthetic_row(cell, 1, seed)["bits"]) for seed in (5, 6, 7)]
    assert row["bits"] == pytest.approx(np.mean(single), abs=1e-12)
    assert row["deviation"] == pytest.approx(np.std(single, ddof=1), abs=1e-12)
    assert len(set(single)) == 3
    assert dict(row) == dict(synthetic_row(cell, 3, 5))


def test_more_holders_have_fewer_records_each() -> None:
    """With counts without much noise, two holders know what one does."""
    cell: Cell = {"partition": "turns", "strategy": "noisy-sufficient-statistics", "epsilon": 50.0, "degree": 2}
    one, two = (float(synthetic_row({**cell, "holders": m}, 1, 3)["bits"]) for m in (1, 2))
    assert one == pytest.approx(two, abs=0.01)
    assert one == pytest.approx(5.12, abs=0.02)
