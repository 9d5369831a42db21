"""Learning from a part of a table and testing on the rest, on a made table under the schema of Diabetes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from reproduction.diabetes_trials import NARROW, WIDE, held_out_row, some_attributes, split
from reproduction.experiment import Cell, experiments
from reproduction.partition import dealt
from reproduction.running import Run

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import Clip
from panbayes.consortium.local.learn import learn
from panbayes.tables.diabetes import diabetes_schema
from panbayes.tables.table import Table
from tests.effort import soak

RECORDS = 1500


@pytest.fixture(scope="module")
def table() -> Table:
    """Records that differ: the first attributes count them, the last ones hang together."""
    schema, g = diabetes_schema(), np.random.default_rng(4)
    codes = np.stack([g.integers(0, size, RECORDS) for size in schema.sizes])
    wide = schema.sizes.index(118)
    codes[wide] = np.arange(RECORDS) % 118
    codes[2] = np.arange(RECORDS) // 118 % 10
    codes[0] = np.arange(RECORDS) // 1180
    codes[-2] = codes[-1] % 2
    return Table(schema, codes.astype(np.uint8))


def test_a_fifth_is_tested_on_and_never_learned_from(table: Table) -> None:
    subject = split(table, 3)
    assert subject.training.records == 1200
    seen = {tuple(record) for record in table.codes.T}
    learned = {tuple(record) for record in subject.training.codes.T}
    assert len(seen) == RECORDS
    network = learn(Study("all", table.schema, "non-private"), subject.training)
    rest = np.array([tuple(record) not in learned for record in table.codes.T])
    assert rest.sum() == 300
    bits = 0.0
    for record in table.codes.T[rest]:
        for child, parents in network.structure.pairs:
            place = (*(record[parent] for parent in parents), record[child])
            bits -= math.log2(float(network.tables[child][place])) / 300
    assert subject.bits(network) == pytest.approx(bits, abs=1e-9)
    assert not np.array_equal(split(table, 4).training.codes, subject.training.codes)
    assert np.array_equal(split(table, 3).training.codes, subject.training.codes)


def test_the_narrow_and_the_wide_attributes(table: Table) -> None:
    sizes = sorted(table.schema.sizes)
    for which, expected in ((NARROW, sizes[:7]), (WIDE, sizes[-7:])):
        some = some_attributes(table, which)
        assert sorted(some.schema.sizes) == expected
        for attribute, codes in zip(some.schema.attributes, some.codes, strict=True):
            assert np.array_equal(codes, table.codes[table.schema.names.index(attribute.name)])


def cell(strategy: str, *, holders: int = 2, partition: str = "turns", attributes: str = NARROW) -> Cell:
    return {
        "partition": partition,
        "strategy": strategy,
        "epsilon": 2.0,
        "degree": 1,
        "holders": holders,
        "attributes": attributes,
    }


def bits(table: Table, asked: Cell, seed: int = 9) -> float:
    return float(held_out_row(table, asked, 1, seed)["bits"])


def test_a_row_is_the_mean_of_independent_repetitions_and_says_what_table_it_was(table: Table) -> None:
    row = held_out_row(table, cell("noisy-model"), 3, 5)
    single = [bits(table, cell("noisy-model"), seed) for seed in (5, 6, 7)]
    assert row["bits"] == pytest.approx(np.mean(single), abs=1e-12)
    assert row["deviation"] == pytest.approx(np.std(single, ddof=1), abs=1e-12)
    assert len(set(single)) == 3
    sizes = sorted(table.schema.sizes)
    assert (row["number"], row["least_values"], row["most_values"]) == (7, sizes[0], sizes[6])
    assert row["records"] == RECORDS
    whole = held_out_row(table, cell("naive", attributes="all"), 1, 1)
    assert (whole["number"], whole["most_values"]) == (43, 118)
    assert float(whole["log10_tuples"]) == pytest.approx(
        sum(math.log10(len(set(codes.tolist()))) for codes in table.codes), abs=1e-9
    )


@pytest.mark.parametrize(
    ("name", "strategy", "clip", "first"),
    [
        ("noisy-sufficient-statistics", "noisy-sufficient-statistics", "holder", False),
        ("noisy-sufficient-statistics-summed", "noisy-sufficient-statistics", "analyst", False),
        ("local-model", "privbayes", "holder", True),
    ],
)
def test_a_strategy_learns_by_the_study_of_its_name(
    table: Table, name: str, strategy: str, clip: Clip, first: bool
) -> None:
    """Noisy ss cuts at the holders or after the sum; a local model is learned from the first holder's records alone."""
    subject = split(some_attributes(table, NARROW), 9)
    parts = list(dealt(subject.training, 3, "sizes").items())
    study = Study(
        "repetition 9",
        subject.training.schema,
        strategy,
        Fraction(2),
        degree=1,
        mechanism="exponential",
        clip=clip,
    )
    expected = subject.bits(learn(study, dict(parts[:1] if first else parts), simulate=9))
    assert bits(table, cell(name, holders=3, partition="sizes")) == expected


def test_what_is_dealt_otherwise_is_learned_otherwise(table: Table) -> None:
    found = {bits(table, cell("noisy-model", holders=3, partition=one)) for one in ("turns", "sizes", "labels")}
    assert len(found) == 3


@soak
@pytest.mark.parametrize("name", ["diabetes-budget", "diabetes-holders"])
def test_every_strategy_of_the_experiments_runs(table: Table, name: str) -> None:
    """On seven attributes, at the cells' own ε and numbers of holders."""
    cells = {str(one["strategy"]): {**one, "attributes": NARROW} for one in Run(quick=True).cells(experiments()[name])}
    assert len(cells) == (6 if name == "diabetes-budget" else 8)
    for one in cells.values():
        row = held_out_row(table, one, 1, 2)
        assert 0 < float(row["bits"]) < 60
        assert int(row["repetitions"]) == (3 if one["strategy"] == "adaptive" else 1)
