"""Verbs that read tables, on addresses of databases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.running import run_here
from tests.tables.databases import in_duckdb, in_sqlite

SCHEMA = """\
version = 1
name = "clinic"
status = "approved"
[[attributes]]
name = "size"
bins = [0, 1.5, 3]
missing = true
[[attributes]]
name = "sex"
categories = ["F", "M"]
missing = true
"""
STUDY = 'version = 1\nname = "clinic"\nschema = "clinic.toml"\nstrategy = "privbayes"\nepsilon = 1.0\n'
FRAME = pl.DataFrame({"size": [1.2, 1.7, None] * 300, "sex": ["F", "M", "F"] * 300})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clinic.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY)
    FRAME.write_csv(tmp_path / "plain.csv")
    return tmp_path


@pytest.mark.parametrize("put", [in_duckdb, in_sqlite])
def test_every_verb_that_reads_a_table_reads_one_of_a_database(
    put: Callable[[pl.DataFrame, Path], str], folder: Path
) -> None:
    address = put(FRAME, folder / "t").replace(f"{folder}/", "")
    said = {}
    for where in (address, "plain.csv"):
        for command in (
            ("learn", "study.toml", "--holder", f"north={where}", "-o", "model.json", "--simulate", "1"),
            ("schema", "check", "clinic.toml", where, "--json"),
            ("schema", "draft", where, "-o", "draft.toml"),
            ("score", "model.json", where, "--json"),
            ("classify", "model.json", where, "--target", "sex", "-o", "out.csv"),
        ):
            done = run_here(*command, folder=folder)
            assert done.returncode == 0, done.stderr
        draft = (folder / "draft.toml").read_text().partition("[[")[2]
        model = json.loads((folder / "model.json").read_text())
        said[where] = (model, draft, (folder / "out.csv").read_text())
    assert said[address][0] == said["plain.csv"][0]
    assert said[address][1] == said["plain.csv"][1]
    assert len(said[address][2].splitlines()) == len(said["plain.csv"][2].splitlines()) == FRAME.height + 1


def test_a_table_of_a_database_is_the_one_that_a_file_was_charged_for(folder: Path) -> None:
    address = in_duckdb(FRAME, folder / "t")
    for where in ("plain.csv", address):
        done = run_here(
            "learn", "study.toml", "--holder", f"north={where}", "-o", "model.json", "--state", ".", folder=folder
        )
        assert done.returncode == 0, done.stderr
    assert len(list(folder.rglob("*.ledger"))) == 1, "one account: the records are the same"


def test_a_database_is_not_replaced_by_what_is_made_of_it(folder: Path) -> None:
    address = in_duckdb(FRAME, folder / "t")
    file = address.removeprefix("duckdb://").partition("?")[0]
    done = run_here("schema", "draft", address, "-o", file, folder=folder)
    assert done.returncode == 2
    assert Path(file).stat().st_size > 1000


WORD = "geheim"
WITH_PASSWORD = f"postgresql://me:{WORD}@db/clinic?table=people"
HOLDER = f'version = 1\nname = "n"\nkey = "n.key"\ncap = 3\n[source]\nurl = "{WITH_PASSWORD}"\n'


@pytest.mark.parametrize(
    ("argument", "command"),
    [
        ("--holder north", ("learn", "study.toml", "--holder", f"north={WITH_PASSWORD}", "-o", "model.json")),
        ("DATA", ("schema", "check", "clinic.toml", WITH_PASSWORD)),
        ("DATA", ("schema", "draft", WITH_PASSWORD, "-o", "draft.toml")),
        ("DATA", ("score", "model.json", WITH_PASSWORD)),
        ("DATA", ("classify", "model.json", WITH_PASSWORD, "--target", "sex", "-o", "out.csv")),
        ("--source", ("holder", "dataset", "declare", "north", "--fixed", "--source", WITH_PASSWORD, "--state", ".")),
        (
            "--source",
            ("holder", "init", "--name", "n", "--cap", "3", "--officer", "m=m.pub", "--source", WITH_PASSWORD),
        ),
        ("n.toml, line 6, source.url", ("holder", "pending", "--config", "n.toml")),
    ],
)
def test_a_password_in_an_address_is_not_repeated_and_the_argument_is_the_one_that_was_given(
    argument: str, command: tuple[str, ...], folder: Path
) -> None:
    (folder / "n.toml").write_text(HOLDER)
    run_here("keygen", "m", folder=folder)
    done = run_here(*command, folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {argument}: a postgresql address holds a password; take it out"), done.stderr
    assert WORD not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("learn", "study.toml", "--holder", f"={WITH_PASSWORD}", "-o", "model.json"),
        ("learn", "study.toml", "--holder", "north=plain.csv", f"south={WITH_PASSWORD}", "-o", "model.json"),
        ("holder", "ledger", "show", WITH_PASSWORD),
        ("schema", "bounds", WITH_PASSWORD, "size", "--epsilon", "1"),
        ("show", WITH_PASSWORD),
        ("show", f"postgresql://me:{WORD}@{WORD}@db/clinic"),
    ],
)
def test_an_address_where_none_is_known_is_repeated_without_its_password(
    command: tuple[str, ...], folder: Path
) -> None:
    done = run_here(*command, folder=folder)
    assert done.returncode == 2
    assert WORD not in done.stdout + done.stderr, done.stderr
