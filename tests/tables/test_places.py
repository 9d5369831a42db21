"""One table is one place, whatever it is called; what overlaps is told."""

from __future__ import annotations

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


def test_files_folders_and_patterns(folder: Path) -> None:
    for pairs, kind in ((SAME, "same"), (OVERLAPPING, "overlapping"), (APART, "apart")):
        for one, other in pairs:
            for written in (str, Path, File):
                for first, second in permutations((at(written(f"{folder}/{one}")), at(f"{folder}/{other}"))):
                    assert first.is_same(second) == (kind == "same"), (one, other, written)
                    assert first.overlaps(second) == (kind != "apart"), (one, other, written)


def test_addresses(folder: Path) -> None:
    clinic = "postgresql://db/clinic?table=people"
    for one, other, kind in (
        (clinic, "postgresql://me@DB/clinic?table=people&order_by=id", "same"),
        (clinic, "postgresql://db/clinic?table=visits", "apart"),
        (clinic, "postgresql://db2/clinic?table=people", "apart"),
        (clinic, f"{clinic}&pushdown=true", "same"),
        ("delta://{}/parts", "delta://{}/link?version=3", "same"),
        ("delta://{}/parts", "{}/parts", "overlapping"),
        ("delta://{}/parts", "{}/parts/a.csv", "overlapping"),
        ("delta://{}/parts", "{}/other/a.csv", "apart"),
        ("duckdb://{}/parts/a.csv?table=x", "duckdb://{}/other/hard.csv?table=x", "same"),
        ("duckdb://{}/parts/a.csv?table=x", "duckdb://{}/other/hard.csv?table=y", "apart"),
        ("duckdb://{}/parts/a.csv?table=x", "sqlite://{}/parts/a.csv?table=x", "apart"),
        (clinic, "{}/parts", "apart"),
    ):
        for first, second in permutations((at(one.format(folder)), at(other.format(folder)))):
            assert first.is_same(second) == (kind == "same"), (one, other)
            assert first.overlaps(second) == (kind != "apart"), (one, other)


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


def test_other_words_for_one_table_are_no_other_place() -> None:
    for one, other in (
        ("duckdb:///a.duckdb?table=people", "duckdb:///a.duckdb?table=main.People&order_by=x"),
        ("duckdb:///a.duckdb?table=people", 'duckdb:///a.duckdb?table=a.main."people"&pushdown=true'),
        ("duckdb:///a.b.duckdb?table=people", 'duckdb:///a.b.duckdb?table="A".people'),
        ("duckdb:///main.duckdb?table=people", "duckdb:///main.duckdb?table=main_db.people"),
        ("postgresql://db/clinic?table=people", "postgresql://you@DB:5432/clinic?table=public.people"),
        ("postgresql:///clinic?table=people", "postgresql://127.0.0.1/clinic?table=people"),
        ("omop+duckdb:///a.duckdb?features=a.toml", "omop+duckdb:///a.duckdb?features=b.toml&schema=MAIN"),
        ("spark:///?path=/data/people.parquet", "/data/people.parquet"),
    ):
        assert at(one).is_same(at(other)), (one, other)
        assert at(other).is_same(at(one)), (one, other)


def test_other_tables_are_other_places() -> None:
    for one, other in (
        ("duckdb:///a.duckdb?table=people", "duckdb:///b.duckdb?table=people"),
        ("duckdb:///a.duckdb?table=people", "duckdb:///a.duckdb?table=cdm.people"),
        ("postgresql://db/clinic?table=people", "postgresql://db:5433/clinic?table=people"),
        ("postgresql://db/clinic?table=people", "postgresql://db/other?table=people"),
    ):
        assert not at(one).is_same(at(other)), (one, other)
        assert not at(one).overlaps(at(other)), (one, other)


def test_a_table_of_an_omop_database_overlaps_with_its_people() -> None:
    people, table = at("omop+duckdb:///a.duckdb?features=f.toml"), at("duckdb:///a.duckdb?table=cdm.person")
    assert people.overlaps(table)
    assert table.overlaps(people)
    assert not people.is_same(table)
    assert not people.overlaps(at("duckdb:///b.duckdb?table=cdm.person"))
