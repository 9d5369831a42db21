"""Predictions of panbayes.planning against runs: synthetic records, made tables, and Diabetes where it is at hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from bench.planned_runs import Measured, measure, score_error, subject_table

from panbayes.consortium.agreement.strategies.adaptive import most_picks
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.covering import covering
from panbayes.planning.adaptive_plan import AdaptivePlan
from panbayes.planning.forecast import Forecast, Setting, forecast, forecasters
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.diabetes import load_diabetes
from panbayes.tables.table import Table
from tests.effort import soak, some

FACTOR: Final = 2.5
"""What docs/planning.md says of marginals, pairs and scores."""

BYTES: Final = 1.6
SEEDS: Final = (3, 4)


@cache
def table_of(subject: str, records: int) -> Table:
    return subject_table(subject, records=records)


def both(
    subject: str, records: int, holders: int, epsilon: str, strategy: str, **more: Any
) -> tuple[Forecast, list[Measured], Study]:
    table = table_of(subject, records)
    study = Study("planned", table.schema, strategy, Fraction(epsilon), **more)
    runs = [measure(study, table, holders=holders, seed=seed) for seed in SEEDS]
    return forecast(Setting(study, holders, records)), runs, study


def within(predicted: float | None, measured: list[float | None], factor: float) -> None:
    known = [value for value in measured if value is not None]
    if not known:
        assert predicted is None
        return
    assert predicted is not None
    assert 1 / factor <= predicted / float(np.mean(known)) <= factor, (predicted, known)


THESIS: Final = ("independent", "noisy-sufficient-statistics", "noisy-majority-voting", "noisy-model")


@pytest.mark.parametrize("strategy", [*THESIS, "adaptive"])
@pytest.mark.parametrize(
    ("subject", "records", "holders", "epsilon"),
    some(
        [
            ("synthetic", 20_000, 3, "0.3"),
            ("synthetic", 20_000, 3, "3"),
            ("synthetic", 20_000, 1, "1"),
            ("synthetic", 40_000, 10, "0.1"),
            ("latent", 12_000, 3, "3"),
        ],
        2,
    ),
)
def test_errors_traffic_and_rounds_are_as_predicted(
    subject: str, records: int, holders: int, epsilon: str, strategy: str
) -> None:
    found, runs, _ = both(subject, records, holders, epsilon, strategy)
    within(found.errors.marginals, [run.marginals for run in runs], FACTOR)
    within(found.errors.pairs, [run.pairs for run in runs], FACTOR)
    for run in runs:
        assert 1 / BYTES <= found.bytes.expected / run.bytes <= BYTES
        assert run.trips <= found.trips.most
        assert run.messages <= found.messages.most
        assert run.bytes <= found.bytes.most
        assert abs(run.trips - found.trips.expected) <= (2 if strategy == "adaptive" else 0)
        assert abs(run.messages - found.messages.expected) <= (2 if strategy == "adaptive" else 0)


@pytest.mark.parametrize("more", [{"delta": Fraction("1e-9")}, {"adjacency": "add-remove"}, {"choices": "together"}])
def test_the_adaptive_strategy_in_every_class_of_privacy(more: dict[str, Any]) -> None:
    found, runs, _ = both("synthetic", 20_000, 3, "1", "adaptive", **more)
    within(found.errors.marginals, [run.marginals for run in runs], FACTOR)
    within(found.errors.pairs, [run.pairs for run in runs], FACTOR)
    for run in runs:
        assert run.trips <= found.trips.most
        # A round that finds nothing may be the last.
        assert found.trips.expected / 2 <= run.trips <= found.trips.expected + 2


@pytest.mark.parametrize(
    ("subject", "records", "epsilon"),
    [("synthetic", 20_000, "0.3"), ("synthetic", 20_000, "5"), ("latent", 12_000, "0.3"), ("latent", 12_000, "3")],
)
@pytest.mark.parametrize("clip", ["holder", "analyst"])
def test_scores_of_noisy_tables_are_as_wrong_as_predicted(subject: str, records: int, epsilon: str, clip: Any) -> None:
    table = table_of(subject, records)
    study = Study("planned", table.schema, "noisy-sufficient-statistics", Fraction(epsilon), clip=clip)
    measured: list[float | None] = [score_error(study, table, holders=3, seed=seed) for seed in SEEDS]
    scores = forecast(Setting(study, 3, records)).errors.scores
    assert scores is not None
    within(scores.expected, measured, FACTOR)


def test_the_analysts_clipping_is_foreseen_too() -> None:
    errors = []
    for clip in ("holder", "analyst"):
        found, runs, _ = both("latent", 12_000, 3, "1", "noisy-majority-voting", clip=clip)
        within(found.errors.marginals, [run.marginals for run in runs], FACTOR)
        within(found.errors.pairs, [run.pairs for run in runs], FACTOR)
        errors.append(found.errors.marginals)
    assert errors[0] != errors[1]


@pytest.mark.parametrize(("subject", "records", "epsilon"), [("synthetic", 20_000, "0.3"), ("latent", 12_000, "3")])
def test_votes_by_the_linear_score_are_foreseen_too(subject: str, records: int, epsilon: str) -> None:
    found, runs, _ = both(subject, records, 3, epsilon, "noisy-majority-voting", score="linear")
    within(found.errors.marginals, [run.marginals for run in runs], FACTOR)
    within(found.errors.pairs, [run.pairs for run in runs], FACTOR)
    for run in runs:
        assert 1 / BYTES <= found.bytes.expected / run.bytes <= BYTES
        assert (run.trips, run.messages) == (found.trips.expected, found.messages.expected)
        assert run.bytes <= found.bytes.most


def test_two_parents_are_at_most_as_wrong_as_said() -> None:
    found, runs, _ = both("synthetic", 20_000, 3, "1", "noisy-majority-voting", degree=2)
    assert found.errors.families
    assert found.errors.pairs is not None
    for run in runs:
        assert run.pairs is not None
        assert run.pairs <= FACTOR * found.errors.pairs
    within(found.errors.marginals, [run.marginals for run in runs], FACTOR)


def test_no_run_measures_more_tables_than_the_most() -> None:
    table = table_of("latent", 12_000)
    study = Study("planned", table.schema, "adaptive", Fraction(3))
    plan = AdaptivePlan(Setting(study, 3, 12_000))
    found = forecast(plan.setting)
    assert found.tables.expected <= found.tables.most
    assert sum(part.offered for part in plan.rounds) <= found.tables.most
    spent = sum(float(one.loss.amount) for one in found.spends)
    assert spent == pytest.approx(float(study.grant.amount), rel=1e-9)


@pytest.mark.parametrize("attributes", [5, 6])
def test_the_most_of_a_round_counts_sets_of_four_attributes_too(attributes: int) -> None:
    schema = Schema("few", tuple(Attribute(f"x{i}", categories=("a", "b", "c")) for i in range(attributes)))
    study = Study("planned", schema, "adaptive", Fraction(1000), delta=Fraction(1, 10**9), adjacency="add-remove")
    last = AdaptivePlan(Setting(study, 1, 10**7)).rounds[-1]
    most = sum(math.comb(attributes, size) for size in (2, 3, 4))
    assert last.most >= min(most, most_picks(attributes), 8 * (attributes - 1))  # eight times the edges of a tree


@pytest.mark.parametrize(
    ("subject", "epsilon", "more"), [("synthetic", "1/10", 0), ("synthetic", "3", 1), ("dense", "1/2", 0)]
)
def test_blocks_are_foreseen(subject: str, epsilon: str, more: int) -> None:
    table = table_of(subject, 20_000)
    plan = AdaptivePlan(Setting(Study("planned", table.schema, "adaptive", Fraction(epsilon)), 3, 20_000))
    found = forecast(plan.setting)
    assert plan.blocks == covering(table.schema.sizes)
    assert found.tables.expected == len(plan.blocks) <= found.tables.most
    assert len(plan.rounds) == more
    assert any(f"{len(plan.blocks)} blocks of attributes" in one.what for one in found.spends)
    assert sum(one.loss.amount for one in found.spends) == plan.grant.loss.amount
    run = measure(plan.setting.study, table, holders=3, seed=3)
    within(found.errors.marginals, [run.marginals], FACTOR)
    within(found.errors.pairs, [run.pairs], FACTOR)
    assert (run.trips, run.messages) == (found.trips.expected, found.messages.expected)


def test_a_private_number_of_records_may_lead_to_more_rounds_than_the_true_one() -> None:
    schema = table_of("synthetic", 20_000).schema
    study = Study("planned", schema, "adaptive", Fraction(1))
    public, private = (
        forecast(Setting(replace(study, adjacency=adjacency), 3, 10)) for adjacency in ("replace", "add-remove")
    )
    assert public.tables.most == public.tables.expected == 0
    # Every round there can be: 1, 1, 2, 4 and 8 times the edges of a tree, and one more for every holder that rounds.
    assert private.tables.expected == 0
    assert private.tables.most == 6 * (1 + 1 + 2 + 4 + 8) + 3 * 4
    many = forecast(Setting(replace(study, adjacency="add-remove"), 3, 20_000)).tables
    assert many.most == private.tables.most
    assert forecast(Setting(study, 3, 20_000)).tables.most < many.most


@soak
@pytest.mark.parametrize("strategy", [*THESIS, "adaptive"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_on_diabetes(diabetes_path: Path, strategy: str, epsilon: str) -> None:
    table = _diabetes(diabetes_path)
    study = Study("planned", table.schema, strategy, Fraction(epsilon))
    found = forecast(Setting(study, 3, table.records))
    runs = [measure(study, table, holders=3, seed=seed) for seed in SEEDS]
    within(found.errors.marginals, [run.marginals for run in runs], FACTOR)
    within(found.errors.pairs, [run.pairs for run in runs], FACTOR)
    within(found.bytes.expected, [run.bytes for run in runs], 2)
    for run in runs:
        assert run.trips == found.trips.expected
        assert run.messages == found.messages.expected


@cache
def _diabetes(path: Path) -> Table:
    return load_diabetes(path)


def test_every_private_strategy_is_foreseen() -> None:
    assert set(forecasters()) == {name for name, strategy in strategies().items() if strategy.private}
