"""Addresses of tables that are no files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.cli.arguments import data_file, input_paths
from panbayes.consortium.agent.sections import Source
from panbayes.consortium.local.gates import check_own
from panbayes.errors import InputError
from panbayes.tables.sources.address import ON_DISK, Address, is_address
from panbayes.tables.sources.dispatch import open_source, sources
from tests.conftest import Panbayes

WORD = "s3cr3t-word"


def parse(text: str) -> Address:
    return Address.parse(text, argument="data")


names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
options = st.dictionaries(st.sampled_from(["table", "order_by", "ö&=?"]), names)


@given(st.sampled_from(["postgresql", "duckdb"]), st.none() | st.integers(1, 65535), names, options)
def test_an_address_is_the_one_that_it_is_written_as(
    scheme: str, port: int | None, path: str, said: dict[str, str]
) -> None:
    address = Address(scheme, "", "" if port is None else "host", port, f"/{path}", tuple(sorted(said.items())))
    assert parse(str(address)) == address


def test_paths_begin_at_the_root_or_here() -> None:
    assert parse("duckdb:///data/a.duckdb?table=t").file == Path("/data/a.duckdb")
    assert parse("duckdb://Data/a.duckdb?table=t").file == Path("Data/a.duckdb")
    assert parse("sqlite://a%20b.db?table=t").file == Path("a b.db")
    assert parse("sqlite://a.db?table=t").within(Path("/x")) == parse("sqlite:///x/a.db?table=t")
    assert parse("postgresql://a/b?table=t").within(Path("/x")) == parse("postgresql://a/b?table=t")


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{WORD}@host/db?table=t",
        f"postgresql://:{WORD}@host/db?table=t",
        f"postgresql://host/db?password={WORD}&table=t",
        f"postgresql://host/db?sslpassword={WORD}&table=t",
        f"postgresql://host/db?access_token={WORD}&table=t",
        f"postgresql://me:{WORD}@host:port/db",
        f"postgresql://me:{WORD}@ho st/db",
        f"nosuch://me:{WORD}@host/db",
        f"postgresql://me:{WORD}@[host/db",
    ],
)
def test_a_secret_is_refused_and_not_repeated(text: str, panbayes: Panbayes, tmp_path: Path) -> None:
    attempts: list[Callable[[str], object]] = [parse, data_file, partial(Source, None)]
    for attempt in attempts:
        with pytest.raises(InputError) as caught:
            attempt(text)
        assert WORD not in str(caught.value)
    with pytest.raises(InputError) as caught, open_source(text, argument="data"):
        pass
    assert WORD not in str(caught.value)
    (tmp_path / "s.toml").write_text('version = 1\nname = "s"\n[attributes]\na = ["x", "y"]\n')
    for holder in (text, f"north={text}"):
        done = panbayes("learn", "s.toml", "--holder", holder, "-o", "m.json")
        assert done.returncode == 2
        assert WORD not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("duckdb:///a?table=", 'option "table" is empty'),
        ("duckdb:///a?table=a&table=b", 'option "table" twice'),
        ("duckdb:///a?table", "cannot be understood"),
        ("duckdb:///a#b", "holds a #"),
        ("duckdb:///a b", "holds a blank"),
        ("duckdb:///a%0ab", "cannot be printed"),
        ("postgresql://host:99999/db", "cannot be understood"),
    ],
)
def test_odd_addresses_are_told_apart(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(text)


def test_options_are_known_by_name() -> None:
    address = parse("duckdb:///a?tabel=t&pushdown=yes")
    with pytest.raises(InputError, match=r'has no option "tabel".*table'):
        address.check_options(("table", "pushdown"), argument="data")
    with pytest.raises(InputError, match=r'"pushdown" is "yes".*true or false'):
        address.flag("pushdown", argument="data")
    with pytest.raises(InputError, match=r'has no option "table".*\?table='):
        parse("duckdb:///a").check_options(("table",), required=("table",), argument="data")


def test_an_unknown_scheme_names_those_that_are_known() -> None:
    with pytest.raises(InputError, match=r"begins with nosuch://"), open_source("nosuch://host/db", argument="data"):
        pass


def test_schemes_on_this_machine_are_those_of_sources() -> None:
    assert all(scheme.islower() for source in sources() for scheme in source.schemes)
    assert len(known := [scheme for source in sources() for scheme in source.schemes]) == len(set(known))


def test_one_table_is_not_given_to_two_holders(tmp_path: Path) -> None:
    here = f"duckdb://{tmp_path}/a.duckdb?table=t"
    for other in (f"duckdb://{tmp_path}/./a.duckdb?table=t&order_by=x", f"{here}&pushdown=true"):
        with pytest.raises(InputError, match="given the same table as holder north"):
            check_own({"north": here, "south": other})
    with pytest.raises(InputError, match="given the same table"):
        check_own({"n": "postgresql://me@Host/db?table=t", "s": "postgresql://you@host/db?table=t"})
    check_own({"north": here, "south": here.replace("table=t", "table=u")})


def test_all_features_of_an_omop_database_are_of_the_same_people(tmp_path: Path) -> None:
    here = parse(f"omop+duckdb://{tmp_path}/a.duckdb?features=f.toml")
    assert str(here.place) == f"omop+duckdb://{tmp_path}/a.duckdb?schema=main"
    for other in ("g.toml", "f.toml&schema=main", "f.toml&schema=MAIN", "f.toml&pushdown=true"):
        assert parse(f"omop+duckdb://{tmp_path}/./a.duckdb?features={other}").place == here.place
    assert parse(f"omop+duckdb://{tmp_path}/a.duckdb?features=f.toml&schema=b").place != here.place
    there = parse("omop+postgresql://me@Host/db?features=f.toml")
    assert str(there.place) == "omop+postgresql://host:5432/db?schema=public"
    with pytest.raises(InputError, match="given the same table"):
        check_own({"n": str(here), "s": str(here).replace("f.toml", "g.toml")})


def test_an_omop_database_is_declared_in_keys(tmp_path: Path) -> None:
    found = Source(url="duckdb://a.duckdb", kind="omop", features="f.toml", schema="cdm").at(tmp_path)
    assert found == parse(f"omop+duckdb://{tmp_path}/a.duckdb?features={tmp_path}/f.toml&schema=cdm")
    far = Source(url="postgresql://h/d", kind="omop", features="f.toml").at(tmp_path)
    assert far == parse(f"omop+postgresql://h/d?features={tmp_path}/f.toml")
    assert isinstance(far, Address)
    assert far.files == (tmp_path / "f.toml",)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"url": "duckdb://a.duckdb", "kind": "omop"}, "source.features: is missing"),
        ({"url": "duckdb://a?table=t", "kind": "omop", "features": "f"}, "source.url: names a table"),
        ({"url": "sqlite://a", "kind": "omop", "features": "f"}, "found sqlite://; give an address with duckdb://"),
        ({"file": "a.csv", "kind": "omop", "features": "f"}, "give url instead of file"),
        ({"file": "a.csv", "features": "f"}, "source.features: is given without kind"),
        ({"url": "duckdb://a?table=t", "schema": "s"}, "source.schema: is given without kind"),
    ],
)
def test_keys_of_an_omop_database_belong_together(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Source(**keys)


def test_options_of_files_are_not_those_of_addresses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--encoding: is given for an address"):
        data_file("duckdb:///a?table=t", encoding="latin-1")
    with pytest.raises(InputError, match=r"source.sheet: is given beside url"):
        Source(url="duckdb:///a?table=t", sheet="x")
    with pytest.raises(InputError, match="found both file and url"):
        Source(file="a.csv", url="duckdb:///a?table=t")
    with pytest.raises(InputError, match="found neither file nor url"):
        Source()
    assert Source(url="duckdb://a.duckdb?table=t").at(tmp_path) == parse(f"duckdb://{tmp_path}/a.duckdb?table=t")


def test_outputs_do_not_replace_what_an_address_names() -> None:
    found = input_paths([data_file("sqlite://a.db?table=t"), data_file("b.csv"), data_file("postgresql://h/d?table=t")])
    assert found == [Path("a.db"), Path("b.csv")]
    assert "sqlite" in ON_DISK
    assert is_address("sqlite://a.db?table=t")


def test_files_that_others_read_are_found_from_the_folder_of_who_names_them(tmp_path: Path) -> None:
    given = parse("spark:///?order_by=day&path=people/*.parquet")
    assert given.within(tmp_path) == parse(f"spark:///?order_by=day&path={tmp_path}/people/*.parquet")
    assert given.within(Path()).place == given.place == parse(f"spark:///?path={Path.cwd()}/people/*.parquet").place
    assert parse("spark://a.b.c").within(tmp_path) == parse("spark://a.b.c")
