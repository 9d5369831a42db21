"""Private edges: every pair of small tables beside the stated sensitivity, and the exact loss of a choice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import selection_pmf
from panbayes.dp.mechanisms import selection_scale
from panbayes.dp.quantiles import choose_edge, edge_error, edge_scores, edge_sensitivity
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.pure import Pure
from tests.effort import often, soak, some

FALSE_ALARM = 1e-9
CELLS = 3
SHARES = [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3), Fraction(9, 10)]

NOWHERE = -1
"""The place of a record that is no number."""

Person = tuple[int, ...]


def cells_of(records: tuple[int, ...]) -> NDArray[np.int64]:
    return np.bincount([place for place in records if place != NOWHERE], minlength=CELLS).astype(np.int64)


def people(max_records: int) -> list[Person]:
    """Everything that a person may contribute: up to so many records, each in a cell or nowhere."""
    places = [NOWHERE, *range(CELLS)]
    return [who for n in range(max_records + 1) for who in itertools.combinations_with_replacement(places, n)]


def neighbours(adjacency: Adjacency, max_records: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    everybody = people(max_records)
    others = [(), (0,), (2,), (0, 1), (1, 2, 2), (0, 0, 2, 2, 2)]
    for base in others:
        for who in everybody:
            for instead in everybody if adjacency == "replace" else [()]:
                yield (*base, *who), (*base, *instead)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("max_records", [1, 2])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_person_moves_a_score_further_and_some_do_so_far(
    adjacency: Adjacency, max_records: int, share: Fraction
) -> None:
    moved = max(
        np.abs(edge_scores(cells_of(one), share) - edge_scores(cells_of(other), share)).max()
        for one, other in neighbours(adjacency, max_records)
    )
    assert moved == edge_sensitivity(share, adjacency=adjacency, max_records=max_records)


@pytest.mark.parametrize("share", some(SHARES[:2], 1))
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_choice_loses_at_most_its_epsilon(adjacency: Adjacency, share: Fraction) -> None:
    epsilon = Fraction(1)
    event = Pure(epsilon).selection_event()
    max_records = often(1, 2)
    sensitivity = edge_sensitivity(share, adjacency=adjacency, max_records=max_records)
    scale = selection_scale(event, sensitivity=Fraction(sensitivity))
    worst = 0.0
    for one, other in neighbours(adjacency, max_records):
        p = selection_pmf(edge_scores(cells_of(one), share), scale=scale, mechanism=event.rule)
        q = selection_pmf(edge_scores(cells_of(other), share), scale=scale, mechanism=event.rule)
        worst = max(worst, float(np.abs(np.log(p / q)).max()))
    assert 0.2 < worst <= float(epsilon) + 1e-12


def test_scores_are_those_of_the_definition() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        cells = generator.integers(0, 9, size=int(generator.integers(2, 8)))
        share = Fraction(int(generator.integers(1, 10)), 10)
        records = np.repeat(np.arange(cells.size), cells)
        expected = [
            -abs(share.denominator * int((records < edge).sum()) - share.numerator * records.size)
            for edge in range(1, cells.size)
        ]
        assert edge_scores(cells, share).tolist() == expected


def test_an_empty_table_makes_all_edges_equal() -> None:
    scores = edge_scores(np.zeros(5, np.int64), Fraction(1, 3))
    assert (scores == 0).all()
    assert scores.size == 4


def test_scores_that_would_round_are_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="exact"):
        edge_scores(np.array([2**40, 2**40]), Fraction(1, 10**4))
    with pytest.raises(ValueError, match="two cells"):
        edge_scores(np.array([2]), Fraction(1, 2))
    with pytest.raises(ValueError, match="between 0 and 1"):
        edge_sensitivity(Fraction(1), adjacency="replace")


@soak
@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(1), Fraction(13, 10)])
def test_edges_are_drawn_at_the_scale_and_at_no_other(factor: Fraction) -> None:
    """The law of the choice fits the scale that is claimed, and none that is 30 % off."""
    cells = np.array([30, 10, 10, 30])
    share = Fraction(1, 2)
    event = Pure(Fraction(1, 10)).selection_event()
    runs = 9_000
    drawn = [
        choose_edge(cells, share, adjacency="add-remove", max_records=1, event=event, noise=SecureNoise())
        for _ in range(runs)
    ]
    scale = factor * selection_scale(event, sensitivity=Fraction(1))
    law = selection_pmf(edge_scores(cells, share), scale=scale, mechanism=event.rule)
    chance = stats.chisquare(np.bincount(drawn, minlength=3), law * runs).pvalue
    assert (chance > FALSE_ALARM) == (factor == 1)


@pytest.mark.parametrize(("part", "seldom"), [(Fraction(101, 100), True), (Fraction(1, 2), False)])
def test_the_error_that_is_stated_holds_as_often_as_it_says(part: Fraction, seldom: bool) -> None:
    """One edge is right and all others lack as much: a little more than is stated, or half of it."""
    edges, share, event, noise = 199, Fraction(1, 4), Pure(Fraction(1, 20)).selection_event(), SimulatedNoise(3)
    stated = edge_error(share, edges=edges, adjacency="add-remove", max_records=1, event=event)
    assert stated == pytest.approx(2 * 3 / 4 * 20 * math.log(199 / 0.05))
    lacking = math.ceil(stated * part)
    cells = np.zeros(edges + 1, dtype=np.int64)
    cells[[0, 1, -1]] = 1000, lacking, 3000 - lacking
    drawn = [
        choose_edge(cells, share, adjacency="add-remove", max_records=1, event=event, noise=noise) for _ in range(2_000)
    ]
    assert (np.count_nonzero(drawn) <= 0.05 * 2_000) == seldom
