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
