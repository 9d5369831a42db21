"""What a run asks of its holders and how it reads what comes back: laws of noise, and how many tables fit."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.agreement.strategies import adaptive as agreement
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive import fitting as fitting_module
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.fitting import askable, fitting, weight
from panbayes.consortium.analyst.adaptive.margins import part_without_margins, without_margins
from panbayes.consortium.analyst.adaptive.measurement import averaged
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.local.gates import open_gates
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, OneRadius, Together
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table

SIZES = (6, 5, 4, 6)
SCHEMA = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES)))
PAIRS: list[Axes] = [((a, SIZES[a]), (b, SIZES[b])) for a, b in combinations(range(4), 2)]
CODES = np.random.default_rng(3).integers(0, 4, (4, 900)).astype(np.uint8)


@pytest.mark.parametrize(("adjacency", "delta"), [("replace", "0"), ("add-remove", "0"), ("add-remove", "1e-6")])
def test_the_noise_of_tables_has_the_law_that_their_weights_say(adjacency: Adjacency, delta: str) -> None:
    """Pairs with weight 1 and 9 in turn, from two holders: of some 80 cells each, within 12 %.

    Under zCDP and add-remove pairs come centred, and their noise follows from their shapes too: it is told in the noise
    of a whole table at the same weight, the root of what is left without margins. Under pure privacy those of one
    weight and about as many cells share a radius, in every measurement another one.
    """
    agreed = Study("s", SCHEMA, "adaptive", 1, adjacency=adjacency, delta=delta)
    tables = {"x": Table(SCHEMA, CODES[:, :500].copy()), "y": Table(SCHEMA, CODES[:, 500:].copy())}
    weights = [1, 9, 1, 9, 1, 9]
    found: dict[int, list[float]] = {1: [], 9: []}
    deviations: dict[int, float] = {}
    session = None
    for seed in range(10 if delta != "0" else 40):
        with open_gates(agreed, tables, simulate=seed) as gates:
            session = Session.of(Federation(agreed, gates, simulated=True))
            measured = session.measure(PAIRS, Fraction(1, 2), "pairs", weights=weights, round_number=0)
        for table, share in zip(measured, weights, strict=True):
            (a, _), (b, _) = table.axes
            exact = np.zeros((SIZES[a], SIZES[b]))
            np.add.at(exact, (CODES[a], CODES[b]), 1)
            assert table.centred == (delta != "0")
            part = math.sqrt(part_without_margins(exact.shape)) if table.centred else 1.0
            off = table.pooled - (without_margins(exact) if table.centred else exact)
            found[share] += (off / table.pooled_law.deviation).ravel().tolist()
            deviations[share] = table.pooled_law.deviation / part
            assert table.law.balanced == (adjacency == "replace")
    assert deviations[1] / deviations[9] == pytest.approx(3 if delta != "0" else 9, rel=0.01 if delta != "0" else 0.1)
    for noise in found.values():
        assert np.std(noise) == pytest.approx(1, rel=0.12)
    assert session is not None
    shared = session.grant.sharing(Fraction(1, 2), [30, 24, 36, 20, 30, 24], weights)
    alone = [(2,)] if adjacency == "replace" else []  # balanced noise is less even for a table by itself
    assert [group.places for group in shared] == ([] if delta != "0" else [(0, 4), (1, 3, 5), *alone])


def test_other_and_missing_stand_in_no_order() -> None:
    schema = Schema(
        "s",
        (
            Attribute("age", bins=(0, 40, 65, 120), missing="missing"),
            Attribute("stays", categories=(0, 1, 2), other="more", missing="missing"),
            Attribute("ward", categories=("a", "b", "c")),
        ),
    )
    agreed = Study("s", schema, "adaptive", 1)
    with open_gates(agreed, {"x": Table(schema, np.zeros((3, 5), dtype=np.uint8))}, simulate=0) as gates:
        assert Session.of(Federation(agreed, gates, simulated=True)).ordered == (3, 3, 0)


@pytest.mark.parametrize(("max_records", "delta"), [(1, "1e-6"), (2, "1e-6"), (2, "0")])
def test_the_statement_says_the_noise_that_was_drawn(max_records: int, delta: str) -> None:
    """The total, a single attribute, two pairs of one shape and weight, and a triple, in one question.

    Of every event of the step there are as many tables as it says, and the noise of each is what a holder adds: for
    centred tables of two by two and two by two by two 16·(1/4) and 64·(1/2) in the square, times m².
    """
    schema = Schema("s", tuple(Attribute(name, categories=("x", "y")) for name in "abc"), unit=Unit("who", max_records))
    agreed = Study("s", schema, "adaptive", 1, adjacency="add-remove", delta=delta)
    held = Table(schema, np.random.default_rng(1).integers(0, 2, (3, 40)).astype(np.uint8), 40 // max_records)
    axes: list[Axes] = [(), ((0, 2),), ((0, 2), (1, 2)), ((1, 2), (2, 2)), ((0, 2), (1, 2), (2, 2))]
    with open_gates(agreed, {"x": held}, simulate=1) as gates:
        session = Session.of(Federation(agreed, gates, simulated=True))
        measured = session.measure(axes, Fraction(1, 2), "all", weights=[1, 1, 3, 3, 2], round_number=0)
    (step,) = session.spent["x"]
    event, whole = step.event, agreed.grant.part(Fraction(1, 2))
    assert isinstance(event, Together)
    assert step.loss == whole == whole.of_event(event)
    m, part = max_records, whole.amount / 10
    if delta == "0":
        assert [table.centred for table in measured] == [False] * 5
        # The two pairs share a radius, with the fractions of both; alone, the others would gain nothing by one.
        assert event.events == (
            OneRadius(m / (6 * part), m),
            DiscreteLaplace(m / part, 2 * m),
            DiscreteLaplace(m / (2 * part), m),
        )
        return
    assert [table.centred for table in measured] == [False, False, True, True, True]
    assert event.events == (
        DiscreteGaussian(m**2 / (2 * part), 2 * m**2),
        DiscreteGaussian(32 * m**2 / (4 * part), 32 * m**2),
        DiscreteGaussian(4 * m**2 / (6 * part), 8 * m**2),
    )
    deviations = [table.law.deviation**2 * 2 * float(part) / m**2 for table in measured]
    assert deviations == pytest.approx([1, 1, 4 / 3 / 16, 4 / 3 / 16, 32 / 2 / 64])


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("holders", [1, 3])
def test_the_part_that_a_table_had_is_read_off_its_noise(adjacency: Adjacency, holders: int) -> None:
    """Of one that was measured once, and of one that was measured a second time and averaged."""
    agreed = Study("s", SCHEMA, "adaptive", 1, adjacency=adjacency, delta="1e-6")
    tables = {f"h{j}": Table(SCHEMA, CODES[:, j::holders].copy()) for j in range(holders)}
    with open_gates(agreed, tables, simulate=1) as gates:
        session = Session.of(Federation(agreed, gates, simulated=True))
        first = session.measure(PAIRS, Fraction(1, 2), "pairs", weights=[1, 2, 3, 1, 2, 3], round_number=0)
        second = session.measure(PAIRS, Fraction(1, 4), "again", round_number=1)
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        part = (1 + place % 3) / 24
        assert session.part_of(one.axes, one.pooled_law) == pytest.approx(part, rel=1e-6)
        _, law = averaged(one.pooled, one.pooled_law, other.pooled, other.pooled_law)
        assert session.part_of(one.axes, law) == pytest.approx(part + 1 / 24, rel=1e-6)
        cells = one.pooled.size if one.centred else 1
        assert session.width(one.axes) == pytest.approx(cells * one.law.deviation * math.sqrt(part), rel=1e-6)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_tables_come_whole_or_without_margins_as_the_grant_says(adjacency: Adjacency, delta: str) -> None:
    """At an ε at which noise is next to nothing; beside the total and a single attribute, which are always whole."""
    agreed = Study("s", SCHEMA, "adaptive", 1000, adjacency=adjacency, delta=delta)
    axes: list[Axes] = [(), ((2, 4),), PAIRS[0]]
    with open_gates(agreed, {"x": Table(SCHEMA, CODES)}, simulate=1) as gates:
        session = Session.of(Federation(agreed, gates, simulated=True))
        measured = session.measure(axes, Fraction(1, 2), "all", round_number=0)
    exact = np.zeros((6, 5))
    np.add.at(exact, (CODES[0], CODES[1]), 1)
    assert measured[2].centred == session.grant.centred == (adjacency == "add-remove" and delta != "0")
    np.testing.assert_allclose(measured[2].pooled, without_margins(exact) if measured[2].centred else exact, atol=0.5)
    assert measured[0].pooled == pytest.approx(900, abs=0.5)
    np.testing.assert_allclose(measured[1].pooled, np.bincount(CODES[2]), atol=0.5)


def believed(known: list[Axes]) -> Belief:
    laws = [np.full(size, 1 / size) for size in SIZES]
    tables = []
    for axes in known:
        cells = np.ones([count for _, count in axes])
        tables.append(Known(axes, cells, NoiseLaw(True, ((1.0, 1),)), cells, cells, cells, np.zeros_like(cells)))
    nested = tuple(Nested.of(law, ordered=False) for law in laws)
    return Belief(900.0, tuple(Estimate(law, law) for law in laws), nested, tuple(tables))


@pytest.mark.parametrize(("each", "cells", "known", "kept"), [(1, 1_000, 0, 4), (1, 1_000, 3, 1), (2, 1_000, 0, 6)])
def test_tables_beyond_the_number_that_one_question_may_ask_for_are_passed_over(
    each: int, cells: int, known: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the last round measures all known ones again; the first that were taken are kept."""
    monkeypatch.setattr(agreement, "MEASURED", each)
    monkeypatch.setattr(agreement, "MEASURED_CELLS", cells)
    small: list[Axes] = [((a, 2), (b, 2)) for a, b in combinations(range(4), 2)]
    triples: list[Axes] = [tuple((a, 2) for a in found) for found in ((0, 1, 2), (0, 1, 3), (0, 2, 3))]
    belief = believed(triples[:known])
    assert askable(belief, small) == small[:kept]


def test_a_table_with_more_cells_than_are_left_is_passed_over_and_smaller_ones_after_it_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Room for forty cells: 4, 24 and 4 of them fit, 30 do not."""
    monkeypatch.setattr(agreement, "MEASURED_CELLS", 10)
    first, second, wide, last = ((0, 2), (1, 2)), ((2, 4), (3, 6)), ((0, 6), (1, 5)), ((0, 2), (2, 2))
    assert askable(believed([]), [first, second, wide, last]) == [first, second, last]


def test_tables_that_are_too_heavy_together_may_be_asked_for_and_those_too_heavy_alone_may_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A triangle of 6, 5 and 4 groups is one clique of 120 cells; its sides alone have at most 50."""
    sides: list[Axes] = [((0, 6), (1, 5)), ((1, 5), (2, 4)), ((0, 6), (2, 4))]
    assert weight(believed(sides[:1]), sides[1:2]) == pytest.approx(6 * 5 + 5 * 4, abs=11)
    assert weight(believed([]), sides) >= 120
    monkeypatch.setattr(fitting_module, "TREE", 100)
    assert fitting(believed([]), sides) == sides[:2]
    assert askable(believed([]), sides) == sides
    assert askable(believed(sides[:2]), [sides[2], ((2, 2), (3, 2))]) == [((2, 2), (3, 2))]
    monkeypatch.setattr(fitting_module, "NETWORK", 100)
    coarse: Axes = ((0, 2), (1, 2), (2, 2))
    assert weight(believed([]), [coarse]) == np.inf, "a network of values would have 120 cells"
    assert askable(believed([]), [coarse]) == fitting(believed([]), [coarse]) == []
