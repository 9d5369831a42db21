"""One table is one place, whatever it is called; what overlaps is told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.file import File
from panbayes.tables.sources.place import Place, absolute, place_of


def at(data: object) -> Place:
    found = place_of(data, argument="data")
    assert found is not None
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("parts/a.csv", "parts/b.csv", "parts/deep/c.csv", "parts/_hidden.csv", "other/a.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n1\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "parts")
    (tmp_path / "other" / "hard.csv").hardlink_to(tmp_path / "parts" / "a.csv")
    return tmp_path


SAME: list[tuple[str, str]] = [
    ("parts/a.csv", "parts/a.csv"),
    ("parts/a.csv", "parts/deep/../a.csv"),
    ("parts/a.csv", "link/a.csv"),
    ("parts/a.csv", "other/hard.csv"),
    ("parts", "link"),
    ("parts/*.csv", "link/*.csv"),
]
OVERLAPPING: list[tuple[str, str]] = [
    ("parts", "parts/a.csv"),
    ("parts", "parts/deep"),
    ("parts", "other/hard.csv"),
    ("parts", "other"),
    ("parts/*.csv", "parts/a.csv"),
    ("parts/*.csv", "parts"),
    ("parts/*.csv", "parts/a*"),
    ("parts/*.csv", "other/*.csv"),
    ("parts/**/*.csv", "parts/deep"),
]
APART: list[tuple[str, str]] = [
    ("parts/a.csv", "parts/b.csv"),
    ("parts/a*.csv", "parts/b*.csv"),
    ("parts/*.csv", "parts/deep"),
    ("parts", "par"),
    ("parts/a.csv", "nowhere.csv"),
    ("parts", "other/a.csv"),
]


@pytest.mark.parametrize("written", [str, Path, File])
@pytest.mark.parametrize(("one", "other"), [*SAME, *OVERLAPPING, *APART])
def test_files_folders_and_patterns(one: str, other: str, written: Callable[[str], object], folder: Path) -> None:
    kind = "same" if (one, other) in SAME else "overlapping" if (one, other) in OVERLAPPING else "apart"
    for first, second in permutations((at(written(f"{folder}/{one}")), at(f"{folder}/{other}"))):
        assert first.is_same(second) == (kind == "same")
        assert first.overlaps(second) == (kind != "apart")


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("postgresql://db/clinic?table=people", "postgresql://me@DB/clinic?table=people&order_by=id", "same"),
        ("postgresql://db/clinic?table=people", "postgresql://db/clinic?table=visits", "apart"),
        ("postgresql://db/clinic?table=people", "postgresql://db2/clinic?table=people", "apart"),
        ("postgresql://db/clinic?table=people", "postgresql://db/clinic?table=people&pushdown=true", "same"),
        ("delta://{}/parts", "delta://{}/link?version=3", "same"),
        ("delta://{}/parts", "{}/parts", "overlapping"),
        ("delta://{}/parts", "{}/parts/a.csv", "overlapping"),
        ("delta://{}/parts", "{}/other/a.csv", "apart"),
        ("duckdb://{}/parts/a.csv?table=x", "duckdb://{}/other/hard.csv?table=x", "same"),
        ("duckdb://{}/parts/a.csv?table=x", "duckdb://{}/other/hard.csv?table=y", "apart"),
        ("duckdb://{}/parts/a.csv?table=x", "sqlite://{}/parts/a.csv?table=x", "apart"),
        ("postgresql://db/clinic?table=people", "{}/parts", "apart"),
    ],
)
def test_addresses(one: str, other: str, kind: str, folder: Path) -> None:
    for first, second in permutations((at(one.format(folder)), at(other.format(folder)))):
        assert first.is_same(second) == (kind == "same")
        assert first.overlaps(second) == (kind != "apart")


def test_what_lies_in_memory_has_no_place() -> None:
    assert place_of(pl.DataFrame(), argument="data") is None
    with pytest.raises(InputError, match="NUL"):
        place_of("a\0b", argument="data")


def test_an_absolute_table_does_not_depend_on_where_somebody_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = File("a.csv", encoding="latin-1", separator="tab", header=False, columns=3)
    assert absolute(file) == File(tmp_path / "a.csv", encoding="latin-1", separator="tab", header=False, columns=3)
    there = Address.parse("duckdb://a.duckdb?table=x", argument="data")
    assert str(absolute(there)) == f"duckdb://{tmp_path}/a.duckdb?table=x"
    far = Address.parse("postgresql://db/clinic?table=x", argument="data")
    assert absolute(far) == far


def place(text: str) -> Place:
    found = place_of(text, argument="data")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("duckdb:///a.duckdb?table=people", "duckdb:///a.duckdb?table=main.People&order_by=x"),
        ("duckdb:///a.duckdb?table=people", 'duckdb:///a.duckdb?table=a.main."people"&pushdown=true'),
        ("duckdb:///a.b.duckdb?table=people", 'duckdb:///a.b.duckdb?table="A".people'),
        ("duckdb:///main.duckdb?table=people", "duckdb:///main.duckdb?table=main_db.people"),
        ("postgresql://db/clinic?table=people", "postgresql://you@DB:5432/clinic?table=public.people"),
        ("postgresql:///clinic?table=people", "postgresql://127.0.0.1/clinic?table=people"),
        ("omop+duckdb:///a.duckdb?features=a.toml", "omop+duckdb:///a.duckdb?features=b.toml&schema=MAIN"),
        ("spark:///?path=/data/people.parquet", "/data/people.parquet"),
    ],
)
def test_other_words_for_one_table_are_no_other_place(one: str, other: str) -> None:
    assert place(one).is_same(place(other))
    assert place(other).is_same(place(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("duckdb:///a.duckdb?table=people", "duckdb:///b.duckdb?table=people"),
        ("duckdb:///a.duckdb?table=people", "duckdb:///a.duckdb?table=cdm.people"),
        ("postgresql://db/clinic?table=people", "postgresql://db:5433/clinic?table=people"),
        ("postgresql://db/clinic?table=people", "postgresql://db/other?table=people"),
    ],
)
def test_other_tables_are_other_places(one: str, other: str) -> None:
    assert not place(one).is_same(place(other))
    assert not place(one).overlaps(place(other))


def test_a_table_of_an_omop_database_overlaps_with_its_people() -> None:
    people, table = place("omop+duckdb:///a.duckdb?features=f.toml"), place("duckdb:///a.duckdb?table=cdm.person")
    assert people.overlaps(table)
    assert table.overlaps(people)
    assert not people.is_same(table)
    assert not people.overlaps(place("duckdb:///b.duckdb?table=cdm.person"))
