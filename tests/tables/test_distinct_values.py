"""Counting people by value, beside a count by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Unit
from panbayes.tables.distinct_values import MAX_CHARACTERS, count_values
from panbayes.tables.sources import batch as batch_module
from tests.tables.databases import in_duckdb
from tests.tables.lakes import as_delta


def counted(
    data: object, *, unit: Unit | None = None, missing: tuple[str, ...] = DEFAULT_MISSING_VALUES
) -> dict[str, int]:
    found = count_values(data, "value", unit=unit, missing_values=missing)
    assert len(set(found.values)) == len(found.values) == found.people.size
    return dict(zip(found.values, found.people.tolist(), strict=True))


def by_hand(rows: list[tuple[str | None, str | None]], max_records: int) -> dict[str, int]:
    """Each person's first records, every value once."""
    seen: dict[str, list[str]] = defaultdict(list)
    for person, value in rows:
        name = (person or "").strip()
        if name and name not in DEFAULT_MISSING_VALUES and len(seen[name]) < max_records:
            seen[name].append((value or "").strip())
    found: dict[str, int] = defaultdict(int)
    for values in seen.values():
        for value in set(values) - set(DEFAULT_MISSING_VALUES):
            found[value] += 1
    return dict(found)


@pytest.mark.parametrize("max_records", [1, 2, 5])
@pytest.mark.parametrize("batch", [7, 10_000])
def test_people_are_counted_as_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_records: int, batch: int
) -> None:
    monkeypatch.setattr(batch_module, "BATCH_RECORDS", batch)
    draw = np.random.default_rng(max_records)
    ids, values = ["p1", "p2", " p2 ", "p3", "p4", "", None, "NA"], ["a", " a", "b", "c", "", None]
    rows = [(ids[draw.integers(len(ids))], values[draw.integers(len(values))]) for _ in range(200)]
    frame = pl.DataFrame({"id": [r[0] for r in rows], "value": [r[1] for r in rows]})
    unit = Unit("id", max_records=max_records)
    assert counted(frame, unit=unit) == by_hand(rows, max_records)
    path = tmp_path / "rows.parquet"
    frame.write_parquet(path)
    assert counted(path, unit=unit) == by_hand(rows, max_records)
    categories = frame.with_columns(pl.col("value").cast(pl.Categorical))
    assert counted(categories, unit=unit) == by_hand(rows, max_records)


@pytest.mark.parametrize(
    ("written", "order_by"),
    [(as_delta, ()), (as_delta, ("day", "visit")), (in_duckdb, ()), (in_duckdb, ("visit",)), (as_delta, ("visit",))],
)
def test_in_a_table_without_an_order_a_persons_first_records_follow_from_their_own(
    tmp_path: Path, written: Callable[[pl.DataFrame, Path], str], order_by: tuple[str, ...]
) -> None:
    draw = np.random.default_rng(len(order_by))
    size = 300
    frame = pl.DataFrame(
        {
            "id": draw.integers(0, 40, size),
            "value": draw.choice(["a", "b", "c", "x" * 40 + "d", "x" * 40 + "e", ""], size),
            "visit": draw.integers(-3, 3, size),
            "day": draw.choice(["mon", "tue"], size),
        }
    )
    key = [*order_by, "value"]
    unit = Unit("id", max_records=2)
    ordered = frame.sort(key)
    rows: list[tuple[str | None, str | None]] = [
        (str(person), value) for person, value in ordered.select("id", "value").iter_rows()
    ]
    expected = by_hand(rows, unit.max_records)
    fewer = frame.filter(pl.col("id") != 7).sample(fraction=1, shuffle=True, seed=7)
    for number, table in enumerate((frame, frame.reverse(), fewer)):
        address = written(table, tmp_path / f"table{number}")
        joined = "&" if "?" in address else "?"
        ordered_address = f"{address}{joined}order_by={','.join(order_by)}" if order_by else address
        others = by_hand([row for row in rows if row[0] != "7"], unit.max_records)
        assert counted(ordered_address, unit=unit) == (expected if number < 2 else others)
        admitted = count_values(
            ordered_address,
            "value",
            unit=unit,
            missing_values=DEFAULT_MISSING_VALUES,
            admit=lambda ids: (ids.series() != 7).to_numpy(),
        )
        assert dict(zip(admitted.values, admitted.people.tolist(), strict=True)) == others


def test_without_a_unit_every_record_is_a_person() -> None:
    assert counted(pl.DataFrame({"value": ["a", "a", None, "b", "?"]})) == {"a": 2, "b": 1}


def test_a_person_who_has_a_value_often_counts_once() -> None:
    frame = pl.DataFrame({"id": ["p"] * 5 + ["q"], "value": ["a", "a", "a", "b", "c", "a"]})
    assert counted(frame, unit=Unit("id", max_records=4)) == {"a": 2, "b": 1}


def test_a_missing_value_takes_one_of_a_persons_records() -> None:
    # Which records are kept must not depend on their values.
    frame = pl.DataFrame({"id": ["p", "p"], "value": [None, "a"]})
    assert counted(frame, unit=Unit("id")) == {}


@pytest.mark.parametrize("odd", ["a\x00b", "a\nb", "a\u200bb", "a\u2028b", "\x1b[31m", "x" * (MAX_CHARACTERS + 1)])
def test_texts_that_cannot_be_names_do_not_count(odd: str) -> None:
    assert counted(pl.DataFrame({"value": [odd, "a", odd]})) == {"a": 1}


def test_long_texts_and_numbers_count_up_to_the_limit() -> None:
    longest = "ü" * MAX_CHARACTERS
    assert counted(pl.DataFrame({"value": [longest, longest]})) == {longest: 2}
    assert counted(pl.DataFrame({"value": [7.0, 7.5, 7.0]})) == {"7": 2, "7.5": 1}


def test_an_empty_table_has_no_values() -> None:
    empty = pl.DataFrame({"id": [], "value": []}, schema={"id": pl.String, "value": pl.String})
    assert counted(empty) == {}
    assert counted(empty, unit=Unit("id")) == {}


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="value"):
        counted(pl.DataFrame({"other": ["a"]}))
