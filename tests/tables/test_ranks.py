"""Which of a person's records come first where the table has no order of its own: never the order they lie in."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.ranks import rank_count, record_ranks
from panbayes.tables.reading import read_records
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.table import Table
from tests.effort import often
from tests.tables.lakes import as_delta, as_iceberg

VALUES: dict[str, tuple[pl.DataType | type[pl.DataType], st.SearchStrategy[Any]]] = {
    "whole": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "unsigned": (pl.UInt64, st.integers(0, 2**64 - 1)),
    "real": (pl.Float64, st.floats()),
    "flag": (pl.Boolean, st.booleans()),
    "day": (pl.Date, st.dates(dt.date(1800, 1, 1), dt.date(2200, 1, 1))),
    "text": (pl.String, st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)),
    "time": (pl.Datetime("us"), st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1))),
}


def key(value: Any) -> tuple[int, Any]:
    """What is missing comes first."""
    return (0, 0) if value is None or (isinstance(value, float) and math.isnan(value)) else (1, value)


@pytest.mark.parametrize("name", VALUES)
@settings(max_examples=often(8, 60))
@given(data=st.data())
def test_ranks_are_in_the_order_of_values_then_of_codes(name: str, data: st.DataObject) -> None:
    kind, values = VALUES[name]
    said = data.draw(st.lists(st.tuples(st.none() | values, st.tuples(*[st.integers(0, 4)] * 30)), min_size=1))
    codes = np.array([code for _, code in said], dtype=np.uint8).T
    batch = Batch({"v": Column(pl.Series([value for value, _ in said], dtype=kind, strict=False))}, len(said))
    ranks = record_ranks(codes, (5,) * 30, batch, ["v"], argument="data")
    assert len(ranks) == rank_count((5,) * 30, ["v"])
    found = [tuple(rank) for rank in ranks.T.tolist()]
    expected = [(key(value), code) for value, code in said]
    for one in range(len(said)):
        for other in range(len(said)):
            assert (found[one] < found[other]) == (expected[one] < expected[other])


SCHEMA = Schema(
    "s", (Attribute("a", categories=(0, 1, 2)), Attribute("b", categories=("x", "y"))), unit=Unit("id", max_records=2)
)
RECORDS: list[dict[str, Any]] = [
    {"id": person, "visit": visit, "a": a, "b": b}
    for person, visit, a, b in [
        ("p", 3, 0, "x"),
        ("p", 1, 2, "y"),
        ("p", 2, 1, "y"),
        ("q", 5, 2, "y"),
        ("q", None, 1, "x"),
        ("q", 5, 0, "y"),
        ("q", 5, 2, "x"),
        ("r", 1, 1, "x"),
        (None, 0, 0, "x"),
    ]
]


def kept(by_visit: bool) -> list[tuple[int, ...]]:
    """The records kept, person by person, by a loop."""
    found = []
    for person in ("p", "q", "r"):
        own = [one for one in RECORDS if one["id"] == person]
        coded = [(key(one["visit"]) if by_visit else (0, 0), (one["a"], int(one["b"] == "y"))) for one in own]
        found += [code for _, code in sorted(coded)[:2]]
    return sorted(found)


@pytest.mark.parametrize("put", [as_delta, as_iceberg])
@pytest.mark.parametrize("order", ["?order_by=visit", ""])
def test_a_lake_that_is_rewritten_keeps_the_same_records(
    put: Callable[[pl.DataFrame, Path], str], order: str, tmp_path: Path
) -> None:
    for seed in range(3):
        places = np.random.default_rng(seed).permutation(len(RECORDS))
        frame = pl.DataFrame([RECORDS[place] for place in places], schema_overrides={"visit": pl.Int64})
        table = Table.read(f"{put(frame, tmp_path / 't')}{order}", SCHEMA)
        assert table.persons == 3
        assert sorted(map(tuple, table.codes.T.tolist())) == kept(bool(order))


def test_many_records_of_one_person_are_ranked_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("panbayes.tables.units.PART_RECORDS", 16)
    visits = np.random.default_rng(1).permutation(600)
    frame = pl.DataFrame({"id": visits % 3, "visit": visits, "a": visits % 3, "b": ["x"] * 600})
    with read_records(as_delta(frame, tmp_path / "t") + "?order_by=visit", SCHEMA) as read:
        codes = np.concatenate([block.copy() for block in read.blocks()], axis=1)
    assert sorted(codes[0].tolist()) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("column", "said"), [("odd", 'order_by names "odd".*numbers, days'), ("vist", "visit")])
def test_what_cannot_be_ordered_is_refused(column: str, said: str, tmp_path: Path) -> None:
    address = as_delta(pl.DataFrame(RECORDS).with_columns(odd=pl.lit([1])), tmp_path / "t")
    with pytest.raises(InputError, match=said):
        Table.read(f"{address}?order_by={column}", SCHEMA)
