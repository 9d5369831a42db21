"""Trees and runs say what lists say."""

from __future__ import annotations

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from panbayes.tables.sql.dialects.duckdb import DUCKDB
from panbayes.tables.sql.expressions import choice, lookup, stepped
from panbayes.tables.sql.kinds import Integers, Value
from tests.effort import often

CONNECTION = duckdb.connect()


def values(expression: exp.Expr, low: int, high: int) -> list[object]:
    text = f"SELECT {expression.sql('duckdb')} FROM (SELECT range AS x FROM range({low}, {high})) ORDER BY x"
    return [one for (one,) in CONNECTION.execute(text).fetchall()]


numbers = st.lists(st.integers(0, 9), min_size=1, max_size=60) | st.integers(0, 9).flatmap(
    lambda first: st.integers(1, 60).map(lambda many: list(range(first, first + many)))
)


@settings(max_examples=often(12, 60))
@given(numbers, numbers)
def test_a_number_is_chosen_by_its_place(one: list[int], other: list[int]) -> None:
    chosen = one + other
    assert values(choice(exp.column("x"), chosen), 0, len(chosen)) == chosen


@settings(max_examples=often(12, 60))
@given(st.dictionaries(st.integers(-20, 40), st.integers(0, 5), max_size=40), st.integers(0, 5))
def test_the_last_step_at_or_below_a_value_counts(steps: dict[int, int], base: int) -> None:
    found = stepped(exp.column("x"), sorted(steps.items()), base, Integers(), DUCKDB)
    wanted = [next((steps[v] for v in range(x, -21, -1) if v in steps), base) for x in range(-25, 45)]
    assert values(found, -25, 45) == wanted


@settings(max_examples=often(12, 60))
@given(st.dictionaries(st.integers(-20, 40), st.integers(0, 5), min_size=1, max_size=40))
def test_a_point_is_found_and_nothing_else(points: dict[int, int]) -> None:
    known: dict[Value, int] = dict(points.items())
    found = lookup(exp.column("x"), known, Integers(), DUCKDB)
    assert values(found, -25, 45) == [points.get(x) for x in range(-25, 45)]
