from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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
AGE = [10, 60, None, 99, 200]
CODES = [[0, 1, 2, 3, 0], [0, 1, 2, 1, 1]]


def test_every_kind_of_source_gives_the_same_codes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"more": range(5), "sex": SEX, "age": AGE})
    csv, tsv, parquet = tmp_path / "t.csv", tmp_path / "t.tsv", tmp_path / "t.parquet"
    frame.write_csv(csv)
    frame.write_csv(tsv, separator="\t")
    frame.write_parquet(parquet)
    windows = tmp_path / "w.csv"
    windows.write_bytes(b"\xef\xbb\xbf" + csv.read_bytes().replace(b"\n", b"\r\n"))
    sources = [csv, str(csv), tsv, parquet, windows, frame, pd.DataFrame({"sex": SEX, "age": AGE})]
    sources += [pa.table({"sex": SEX, "age": AGE}), pd.DataFrame({"sex": pd.Categorical(SEX), "age": AGE})]
    for source in sources:
        table = Table.read(source, SCHEMA)
        assert table.codes.tolist() == CODES
        assert (table.records, table.size, table.persons) == (5, 5, None)


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n \n", "is empty"),
    "header.csv": (b"sex,age\n", "holds no records"),
    "mark.csv": (b"\xef\xbb\xbf", "is empty"),
    "return.csv": (b'\r"', "has a header with quotes that do not match"),
    "quote.csv": (b'sex,"age\nF,1\n', "has a header with quotes that do not match"),
    "nul.csv": (b"sex,age\0\nF,1\n", "is a binary file"),
    "png.csv": (b"\x89PNG\r\n\x1a\n\xff\xfe\xff", "is a picture, which is not read"),
    "latin.csv": ("sex,âge\nF,1\n".encode("latin-1"), "is not UTF-8 text"),
    "twice.csv": (b"sex,age,sex\nF,1,M\n", 'has two columns "sex"'),
    "columns.csv": (b"sex,height\nF,1\n", 'has no column "age", which the schema names'),
    "none.csv": (b"a,b\nF,1\n", 'has no columns "sex", "age", which the schema names'),
    "text.parquet": (b"sex,age\nF,1\n", "is not a Parquet file"),
    "cut.parquet": (b"PAR1" + b"\0" * 100, "is a damaged or truncated Parquet file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_line_about_the_file(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        Table.read(path, SCHEMA)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.parquet", tmp_path / "part.parquet"
    pl.DataFrame({"sex": SEX * 1000, "age": AGE * 1000}).write_parquet(whole)
    for length in (4, 100, whole.stat().st_size // 2, whole.stat().st_size - 1):
        part.write_bytes(whole.read_bytes()[:length])
        with pytest.raises(InputError, match="damaged or truncated Parquet"):
            Table.read(part, SCHEMA)


@pytest.mark.parametrize("name", ["t", "t.dat", "t.csv", "T.PARQUET"])
def test_a_parquet_file_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    pl.DataFrame({"sex": SEX, "age": AGE}).write_parquet(tmp_path / name)
    assert Table.read(tmp_path / name, SCHEMA).codes.tolist() == CODES


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


@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=40), st.integers(1, 4))
def test_first_records_against_a_loop(ids: list[int | None], most: int) -> None:
    seen: dict[int, int] = {}
    kept = []
    for row, person in enumerate(ids):
        if person is None:
            continue
        seen[person] = seen.get(person, 0) + 1
        if seen[person] <= most:
            kept.append(row)
    found, persons = first_records(pl.Series("id", ids, dtype=pl.Int64), most)
    assert found.tolist() == kept
    assert persons == len(seen)


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


def test_json_is_not_mistaken_for_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"sex": "F", "age": 1}]))
    with pytest.raises(InputError, match=r"t\.json"):
        Table.read(path, SCHEMA)


def test_pandas_columns_of_mixed_values_have_codes_whatever_they_hold() -> None:
    schema = Schema("s", (Attribute("a", categories=("x", "1", "2.5", "true"), other="other", missing="missing"),))
    values = ["x", 1, 1.0, np.int64(1), 2.5, True, np.bool_(True), None, float("nan"), pd.NaT, {"y"}]
    frame = pd.DataFrame({0: [1, "x"] * 5 + [1], "a": pd.Series(values, dtype=object)})
    assert Table.read(frame, schema).codes[0].tolist() == [0, 1, 1, 1, 2, 3, 3, 5, 5, 5, 4]
    with pytest.raises(InputError, match="has two columns of the same name"):
        Table.read(pd.DataFrame([["x", "y"]], columns=["a", "a"]), schema)


def test_durations_are_texts() -> None:
    schema = Schema("s", (Attribute("a", categories=("PT1S",), other="other"),))
    frame = pl.DataFrame({"a": pl.Series([1000, 2000]).cast(pl.Duration("ms"))})
    assert Table.read(frame, schema).codes[0].tolist() == [0, 1]


def test_names_of_columns_come_back_as_they_were_written(tmp_path: Path) -> None:
    frame = pl.DataFrame({'na"me': ["1"], "a,b": ["2"], "ü\nx": ["3"]})
    frame.write_csv(tmp_path / "t.csv")
    assert read_frame(tmp_path / "t.csv", argument="t").equals(frame)


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
