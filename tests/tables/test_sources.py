from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.sources.dispatch import read_frame
from panbayes.tables.table import Table
from panbayes.tables.units import first_records

SCHEMA = Schema(
    "s",
    (
        Attribute("sex", categories=("F", "M"), other="other", missing="missing"),
        Attribute("age", bins=(0, 50, 100), missing="missing"),
    ),
)
SEX = ["F", "M", "X", None, "F"]


def test_paths_and_objects_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Table.read(tmp_path / "absent.csv", SCHEMA)
    with pytest.raises(InputError, match="directory"):
        Table.read(tmp_path, SCHEMA)
    with pytest.raises(InputError, match="holds a NUL, which no path can"):
        Table.read("t\0.csv", SCHEMA)
    for thing in (7, None, [1, 2], {"sex": SEX}, np.zeros(3), pl.LazyFrame({"sex": SEX})):
        with pytest.raises(InputError, match="--holder: found a"):
            read_frame(thing, argument="--holder")
    with pytest.raises(InputError, match=r"found a LazyFrame; collect it first: frame.collect\(\)"):
        Table.read(pl.LazyFrame({"sex": SEX}), SCHEMA)


@given(st.data())
def test_one_person_changes_no_other_persons_records(data: st.DataObject) -> None:
    """Group privacy rests on this: whatever one person's records are, the others' kept records stay the same."""
    others = data.draw(st.lists(st.integers(1, 3), max_size=12))
    mine = data.draw(st.lists(st.integers(0, len(others)), max_size=6))
    mixed = list(others)
    for position in sorted(mine, reverse=True):
        mixed.insert(position, 0)
    most = data.draw(st.integers(1, 3))
    with_me, _ = first_records(pl.Series(mixed, dtype=pl.Int64), most)
    without_me, _ = first_records(pl.Series(others, dtype=pl.Int64), most)
    places = [i for i, person in enumerate(mixed) if person != 0]
    assert [i for i in with_me.tolist() if mixed[i] != 0] == [places[i] for i in without_me.tolist()]
    assert len([i for i in with_me.tolist() if mixed[i] == 0]) <= most


def test_a_table_with_a_privacy_unit(tmp_path: Path) -> None:
    schema = Schema("s", SCHEMA.attributes, unit=Unit("who", 2))
    path = tmp_path / "t.csv"
    path.write_text("who,sex,age\na,F,1\na,M,2\nb,F,3\na,F,4\n,M,5\nNA,F,5\n")
    table = Table.read(path, schema)
    assert (table.records, table.persons, table.size) == (3, 2, 2)
    assert table.codes[0].tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="records: the table has a privacy unit; split it by persons"):
        table.select(slice(0, 2))


def test_pandas_columns_of_mixed_values_have_codes_whatever_they_hold() -> None:
    schema = Schema("s", (Attribute("a", categories=("x", "1", "2.5", "true"), other="other", missing="missing"),))
    values = ["x", 1, 1.0, np.int64(1), 2.5, True, np.bool_(True), None, float("nan"), pd.NaT, {"y"}]
    frame = pd.DataFrame({0: [1, "x"] * 5 + [1], "a": pd.Series(values, dtype=object)})
    assert Table.read(frame, schema).codes[0].tolist() == [0, 1, 1, 1, 2, 3, 3, 5, 5, 5, 4]
    with pytest.raises(InputError, match="has two columns of the same name"):
        Table.read(pd.DataFrame([["x", "y"]], columns=["a", "a"]), schema)


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (pd.Categorical([1, "private", 2.5, None]), [0, 2, 3, 4]),
        (pd.Series(["1", "private", "\ud800", None], dtype=object), [0, 2, 3, 4]),
    ],
)
def test_no_value_of_a_pandas_column_makes_reading_fail(values: object, codes: list[int]) -> None:
    """Arrow refuses mixed categories and halves of characters, and would quote the value."""
    attribute = Attribute("x", categories=("1", "2", "private"), other="other", missing="missing")
    assert Table.read(pd.DataFrame({"x": values}), Schema("s", (attribute,))).codes.tolist() == [codes]
