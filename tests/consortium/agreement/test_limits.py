"""How large a question may be: the edges of what the adaptive strategy's plan lets pass, and what tables have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import prod

import msgspec
import pytest

from panbayes.consortium.agreement.limits import (
    MAX_CELLS,
    cells_of_all,
    cells_of_grouped,
    cells_of_largest,
    cells_text,
)
from panbayes.consortium.agreement.strategies.adaptive import COUNTS, ROUNDS, TABLES, granularities
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.protocol.cells import Cells
from panbayes.consortium.protocol.queries import (
    Count,
    GroupedTablesQuery,
    Grouping,
    Query,
    TableCandidate,
    TableChoiceQuery,
)
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

SIZES = (40, 40, 3)
SCHEMA = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES)))
STUDY = Study("limits", SCHEMA, "adaptive", 1)
TOO_MANY = "the study says tables: at most 49,235 cells together"


@pytest.mark.parametrize("length", [1, 2, 3])
def test_cells_of_sets_are_those_of_their_tables(length: int) -> None:
    sets = [prod(found) for found in combinations(SIZES, length)]
    assert cells_of_all(SIZES, length) == sum(sets)
    assert cells_of_largest(SIZES, length) == max(sets)


def test_cells_of_grouped_tables_are_counted_by_groups() -> None:
    groupings = (Grouping(0, ()), Grouping(1, (0, 5, 2) + (1,) * 37), Grouping(2, (1, 0, 1)))
    assert cells_of_grouped([(), (0,), (1, 2), (2, 1, 0)], groupings, SIZES) == 1 + 40 + 12 + 480
    assert cells_of_grouped([], (), SIZES) == 0
    for tables, found in (([(0, 3)], groupings), ([(3,), (0,)], groupings), ([()], (Grouping(3, ()),))):
        assert cells_of_grouped(tables, found, SIZES) is None


def test_the_text_never_says_more_than_fits_into_a_message() -> None:
    assert cells_text(1234) == "1,234 cells"
    assert cells_text(10**20) == f"{MAX_CELLS:,} cells"


def tables(groups: int, number: int = 1, groupings: int = 0) -> GroupedTablesQuery:
    """So many tables: all of 40·40 cells but the last, which has 40·``groups``."""
    grouped = Grouping(1, tuple(min(v, groups - 1) for v in range(40)))
    found = (Grouping(0, ()), Grouping(1, ()), grouped, *[Grouping(2, ())] * groupings)
    views = ((0, 1),) * (number - 1) + ((0, 2),)
    return GroupedTablesQuery("pure", "replace", found, views, (1,) * number, "1/2")


def small(number: int, weights: int | None = None, groupings: int = 1) -> GroupedTablesQuery:
    found = (Grouping(2, ()),) * groupings
    return GroupedTablesQuery("pure", "replace", found, ((0,),) * number, (1,) * (weights or number), "1/2")


def choice(number: int = 1, picks: int = 1, taken: int = 0, groupings: int = 2, counts: int = 1) -> TableChoiceQuery:
    found = (Grouping(0, ()), Grouping(2, ()), *[Grouping(2, ())] * (groupings - 2))
    candidates = (TableCandidate((0, 1), 0, 0),) * number
    looked = (*(Count(1, 0),) * (counts - 1), Count(picks, 0))
    return TableChoiceQuery(
        "pure", "replace", found, candidates, Cells(2, b""), "any", ((0, 1),) * taken, looked, 0, "1/5", "1/2"
    )


EDGES: list[tuple[Callable[..., Query], dict[str, int], dict[str, int], str]] = [
    (tables, {"groups": 30, "number": 31}, {"groups": 31, "number": 31}, TOO_MANY),
    (small, {"number": 48}, {"number": 49}, "the study says tables: at most 48"),
    (small, {"number": 1, "weights": 48}, {"number": 1, "weights": 49}, "the study says tables: at most 48"),
    (small, {"number": 1, "groupings": 192}, {"number": 1, "groupings": 193}, "the study says tables: at most 48"),
    (choice, {"picks": 24}, {"picks": 25}, "the study says picks: at most 24"),
    (choice, {"picks": 24, "counts": 3}, {"picks": 25, "counts": 3}, "the study says picks: at most 24"),
    (choice, {"counts": COUNTS}, {"counts": COUNTS + 1}, "the study says counts: at most 16"),
    (choice, {"taken": 24}, {"taken": 25}, "the study says picks: at most 24"),
    (choice, {"number": 20_013}, {"number": 20_014}, "the study says candidates: at most 20,013"),
    (choice, {"groupings": 80_052}, {"groupings": 80_053}, "the study says candidates: at most 20,013"),
]


@pytest.mark.parametrize(("ask", "most", "more", "text"), EDGES)
def test_the_plan_lets_pass_what_it_says_and_no_more(
    ask: Callable[..., Query], most: dict[str, int], more: dict[str, int], text: str
) -> None:
    assert STUDY.plan.complaint(ask(**most)) is None
    assert STUDY.plan.complaint(ask(**more)) == text


def test_the_number_of_cells_is_held_to_the_last() -> None:
    """83 values and 16,384 cells for each of three attributes: 49,235 cells pass, 49,236 do not."""
    views = tables(groups=30, number=31)
    assert cells_of_grouped(views.tables, views.groupings, SIZES) == 49_200
    for extra, complaint in ((35, None), (36, TOO_MANY)):
        last = Grouping(0, tuple(min(v, extra - 1) for v in range(40)))
        query = msgspec.structs.replace(
            views, groupings=(*views.groupings, last), tables=(*views.tables, (3,)), weights=(1,) * 32
        )
        assert STUDY.plan.complaint(query) == complaint


@pytest.mark.parametrize("axes", [(), (0,)])
def test_candidates_have_two_to_four_attributes(axes: tuple[int, ...]) -> None:
    query = msgspec.structs.replace(choice(), candidates=(TableCandidate(axes, 0, 0),))
    assert STUDY.plan.complaint(query) == "the study says candidates: of two to four attributes"
    for more in ((0, 1, 2), (0, 1, 2, 3)):
        found = msgspec.structs.replace(choice(groupings=4), candidates=(TableCandidate(more, 0, 0),))
        assert STUDY.plan.complaint(found) is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_choice_is_held_to_its_limits_at_every_place(place: int) -> None:
    """A count, or a candidate, beyond what is said is not hidden by others that are not."""
    counts, axes = [Count(24, 0)] * 3, list[tuple[int, ...]]([(0, 1)] * 3)
    counts[place] = Count(25, 0)
    complaint = STUDY.plan.complaint(msgspec.structs.replace(choice(), counts=tuple(counts)))
    assert complaint == "the study says picks: at most 24"
    for odd, text in (((0,), "candidates: of two to four attributes"), ((0, 2), "tables: of attributes of its schema")):
        axes[place] = odd
        query = msgspec.structs.replace(choice(), candidates=tuple(TableCandidate(found, 0, 0) for found in axes))
        assert STUDY.plan.complaint(query) == f"the study says {text}"


def test_the_cells_of_a_choice_are_held_to_the_last() -> None:
    """Tables of 40·40·3 cells: 2,500 of them have the twelve millions."""
    every = tuple(Grouping(attribute, ()) for attribute in range(3))
    for number, complaint in ((2500, None), (2501, "the study says tables: at most 12,000,000 cells together")):
        candidates = (TableCandidate((0, 1, 2), 0, 0),) * number
        query = msgspec.structs.replace(choice(), groupings=every, candidates=candidates)
        assert STUDY.plan.complaint(query) == complaint


def test_granularities_follow_the_number_of_pairs() -> None:
    """990 attributes have 489,555 pairs, of which 980,000 candidates hold two each; 991 have too many for that."""
    assert [granularities(attributes) for attributes in (1, 2, 990, 991)] == [3, 3, 2, 1]


def test_a_study_without_a_target_speaks_of_none() -> None:
    assert STUDY.plan.stages[1].words == "choices of tables"


def test_it_asks_twelve_times_at_most() -> None:
    assert (TABLES, ROUNDS) == (7, 5)
    assert [(stage.kind, stage.times) for stage in STUDY.plan.stages] == [("tables", 7), ("choices", 5)]
