"""Wishes: whatever one person does to a table, counts move by no more than the noise is made for; by reading tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from panbayes.consortium.holder.proposals.wish import Cells, Edges, Protected, Values, Wish
from panbayes.dp.quantiles import edge_scores, edge_sensitivity
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.grids import calendar, decades, listed, steps
from panbayes.schema.schema import Unit
from panbayes.tables.distinct_values import ValueCounts

EPSILON = Fraction(1, 2)
ADJACENCIES: list[Adjacency] = ["add-remove", "replace"]
GRID = steps("value", low=Fraction(0), high=Fraction(30), step=Fraction(10))
CELLS = Cells(listed("value", ("1", "11")), EPSILON)
EDGES = Edges(GRID, (Fraction(1, 3), Fraction(3, 4)), EPSILON)
VALUES = Values("value", EPSILON, Fraction(1, 1000))

Rows = tuple[tuple[str, str | None], ...]

WORTH = ("1", "11", "inf", "odd", None)
"""What a record may hold: two values of the list, one beyond every grid, one that is no number, nothing."""

OTHERS: list[Rows] = [(), (("r", "inf"), ("r", "1"), ("q", None), ("q", "11"))]


def frame(rows: Rows) -> pl.DataFrame:
    types = {"id": pl.String, "value": pl.String}
    return pl.DataFrame({"id": [row[0] for row in rows], "value": [row[1] for row in rows]}, schema=types)


def lives(records: int) -> list[Rows]:
    """Everything that a person may have, up to so many records, in every order."""
    return [
        tuple(("p", value) for value in values)
        for number in range(records + 1)
        for values in itertools.product(WORTH, repeat=number)
    ]


def neighbours(adjacency: Adjacency, records: int) -> Iterator[tuple[Rows, Rows]]:
    """Tables with and without a person, or with another life of the same person, among others before and after."""
    for others in OTHERS:
        cut = len(others) // 2
        before, after = others[:cut], others[cut:]
        for life in lives(records):
            for instead in lives(2) if adjacency == "replace" else [()]:
                yield (*before, *life, *after), (*before, *instead, *after)


@cache
def counts(wish: Wish, rows: Rows, protected: Protected) -> NDArray[np.int64]:
    """Read a table once, however many neighbours it has."""
    found = wish.read(frame(rows), protected, argument="data")
    if isinstance(found, ValueCounts):
        known = dict(zip(found.values, found.people.tolist(), strict=True))
        return np.array([known.get(value, 0) for value in ("1", "11", "inf", "odd")], dtype=np.int64)
    return found


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("wish", [CELLS, VALUES], ids=["cells", "values"])
def test_one_person_moves_counts_by_what_the_noise_is_made_for(wish: Cells | Values, adjacency: Adjacency) -> None:
    # Who comes or goes has up to three records, of which two are kept: the cut is part of what is looked at.
    protected = Protected(adjacency, Unit("id", max_records=2))
    event = wish.event(protected)
    moved = max(
        int(np.abs(counts(wish, one, protected) - counts(wish, other, protected)).sum())
        for one, other in neighbours(adjacency, 3 if adjacency == "add-remove" else 2)
    )
    assert moved == event.l1 == (2 if adjacency == "add-remove" else 4)
    assert Pure(EPSILON).of_event(event) == Pure(EPSILON)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_one_person_has_at_most_so_many_values_alone(adjacency: Adjacency) -> None:
    protected = Protected(adjacency, Unit("id", max_records=2))
    alone = max(
        int(((counts(VALUES, one, protected) == 0) != (counts(VALUES, other, protected) == 0)).sum())
        for one, other in neighbours("add-remove", 3)
    )
    assert alone == protected.max_records


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_one_person_moves_scores_by_what_edges_are_chosen_for(adjacency: Adjacency) -> None:
    protected = Protected(adjacency, Unit("id", max_records=2))
    for share in EDGES.shares:
        allowed = edge_sensitivity(share, adjacency=adjacency, max_records=2)
        moved = max(
            float(
                np.abs(
                    edge_scores(counts(EDGES, one, protected), share)
                    - edge_scores(counts(EDGES, other, protected), share)
                ).max()
            )
            for one, other in neighbours(adjacency, 3 if adjacency == "add-remove" else 2)
        )
        assert moved == allowed


@pytest.mark.parametrize("wish", [CELLS, VALUES], ids=["cells", "values"])
def test_without_a_unit_a_record_moves_one_count_or_two(wish: Cells | Values) -> None:
    for adjacency, most in (("add-remove", 1), ("replace", 2)):
        protected = Protected("replace" if adjacency == "replace" else "add-remove", None)
        moved = max(
            int(np.abs(counts(wish, one, protected) - counts(wish, other, protected)).sum())
            for one, other in neighbours(protected.adjacency, 1)
            if adjacency == "add-remove" or len(one) == len(other)
        )
        assert moved == most == wish.event(protected).l1


def test_all_choices_of_edges_cost_epsilon_together() -> None:
    assert Pure(EPSILON).of_event(EDGES.event(Protected("replace", None))) == Pure(EPSILON)


@pytest.mark.parametrize("wish", [CELLS, EDGES, VALUES], ids=["cells", "edges", "values"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_an_empty_table_is_answered(wish: Wish, adjacency: Adjacency) -> None:
    protected = Protected(adjacency, Unit("id"))
    answer = wish.draw(wish.read(frame(()), protected, argument="data"), protected, noise=SecureNoise())
    assert len(answer) == {"cells": 4, "edges": 2, "values": 0}[type(wish).__name__.lower()]


def test_what_is_no_number_lies_in_no_cell_and_what_is_beyond_lies_at_the_end() -> None:
    texts = ["-inf", "-3", "0", "9.99", "10", "30", "31", "inf", "nan", "x"]
    rows: Rows = tuple((str(person), text) for person, text in enumerate(texts))
    protected = Protected("add-remove", None)
    assert EDGES.read(frame(rows), protected, argument="data").tolist() == [4, 1, 3]
    everything = Cells(GRID, EPSILON).read(frame(rows), protected, argument="data")
    assert everything.tolist() == [4, 1, 3, 2]
    far = Cells(decades("value"), EPSILON).read(frame(rows), protected, argument="data")
    assert far.sum() == len(rows)
    assert far[[0, -2, -1]].tolist() == [1, 1, 2]
    born = frame((("a", "2020-05-01"), ("b", "x")))
    dates = Cells(calendar("value", "year"), EPSILON).read(born, protected, argument="data")
    assert dates[[120, -1]].tolist() == [1, 1]


def test_answers_are_noisy_at_the_scale_of_their_epsilon() -> None:
    """The mean magnitude fits the scale, and none that is 30 % off (some 2,000 cells, 25 standard errors apart)."""
    protected = Protected("add-remove", Unit("id", max_records=3))
    wish = Cells(decades("value"), EPSILON)
    exact = wish.read(frame(()), protected, argument="data")
    found = np.abs(np.array(wish.draw(exact, protected, noise=SecureNoise()), dtype=np.float64))
    expected = 3 / float(EPSILON)
    error = expected / np.sqrt(found.size)
    assert abs(found.mean() - expected) < 7 * error < 0.3 * expected - 7 * error


def test_questions_are_texts_that_tell_wishes_apart() -> None:
    wishes: list[Wish] = [
        CELLS,
        Cells(GRID, EPSILON),
        Cells(decades("value"), EPSILON),
        Cells(CELLS.attribute, EPSILON, missing_values=("x",)),
        Cells(CELLS.attribute, EPSILON, edition="autumn"),
        Cells(CELLS.attribute, EPSILON, blocks=("2026-Q4",)),
        EDGES,
        Edges(GRID, (Fraction(1, 2),), EPSILON),
        VALUES,
        Values("other", EPSILON, Fraction(1, 1000)),
    ]
    asked = [tuple(sorted(wish.question().items())) for wish in wishes]
    assert len(set(asked)) == len(asked)
    again = Cells(CELLS.attribute, EPSILON, missing_values=(*reversed(CELLS.missing_values), ""))
    assert again.question() == CELLS.question()


@pytest.mark.parametrize(
    "shares", [(), (Fraction(1, 2), Fraction(1, 2)), (Fraction(0),), (Fraction(1),), (Fraction(1, 20_000),)]
)
def test_shares_that_cannot_be_chosen_are_refused(shares: tuple[Fraction, ...]) -> None:
    with pytest.raises(InputError, match="quantiles"):
        Edges(GRID, shares, EPSILON)


def test_noise_that_nobody_serves_is_refused_before_anything_is_read() -> None:
    with pytest.raises(InputError, match="epsilon"):
        Cells(GRID, Fraction(1, 10**12)).event(Protected("replace", None))


def test_the_unit_is_no_column_to_ask_about() -> None:
    protected = Protected("add-remove", Unit("id"))
    with pytest.raises(InputError, match="id"):
        Values("id", EPSILON, Fraction(1, 100)).read(frame(()), protected, argument="data")
    with pytest.raises(InputError, match="id"):
        Cells(listed("id", ("1",)), EPSILON).read(frame(()), protected, argument="data")


def test_counts_of_the_wrong_kind_are_our_own_mistake() -> None:
    protected, noise = Protected("add-remove", None), SimulatedNoise(1)
    cells, values = np.zeros(3, dtype=np.int64), ValueCounts((), np.zeros(0, dtype=np.int64))
    for wish in (CELLS, EDGES):
        with pytest.raises(TypeError):
            wish.draw(values, protected, noise=noise)
    with pytest.raises(TypeError):
        VALUES.draw(cells, protected, noise=noise)
