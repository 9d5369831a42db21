"""Every record goes to one holder, whichever way records are dealt out."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.partition import PARTITIONS, Partition, dealt
from reproduction.synthetic import synthetic_network

from panbayes.tables.table import Table


@pytest.fixture(scope="module")
def table() -> Table:
    return synthetic_network().sample_table(1003, np.random.default_rng(2), independent=True)


def records(part: Table) -> list[tuple[int, ...]]:
    return [tuple(map(int, record)) for record in part.codes.T]


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("holders", [1, 2, 3, 20])
def test_every_record_goes_to_one_holder(table: Table, partition: Partition, holders: int) -> None:
    parts = list(dealt(table, holders, partition).values())
    assert len(parts) == holders
    assert min(part.records for part in parts) > 0
    assert sorted(record for part in parts for record in records(part)) == sorted(records(table))


def test_in_turns_a_holder_gets_every_mth_record(table: Table) -> None:
    for j, part in enumerate(dealt(table, 3, "turns").values()):
        assert records(part) == records(table)[j::3]


def test_sizes_fall_like_the_inverse_of_the_holders_number(table: Table) -> None:
    sizes = np.array([part.records for part in dealt(table, 5, "sizes").values()])
    assert sizes == pytest.approx(1003 / (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / np.arange(1, 6), abs=1)
    first = next(iter(dealt(table, 5, "sizes").values()))
    assert records(first) == records(table)[: first.records]


def test_labels_are_in_order_and_shares_equal(table: Table) -> None:
    parts = list(dealt(table, 4, "labels").values())
    assert {part.records for part in parts} == {250, 251}
    labels = np.concatenate([part.codes[-1] for part in parts])
    assert (np.diff(labels.astype(int)) >= 0).all()
    # Within a label records keep their order, which is random.
    zeros = [record for record in records(table) if record[-1] == 0]
    assert records(parts[0]) == zeros[: parts[0].records]
