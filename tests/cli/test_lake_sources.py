"""Tables in a lake on the command line: one account whatever they lie in, and no secret on the screen."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from deltalake import write_deltalake

from panbayes.consortium.agent.sections import Source
from panbayes.tables.sources.dispatch import read_columns
from tests.conftest import Panbayes
from tests.tables.lakes import as_iceberg

SCHEMA = """version = 1
name = "clinic"
status = "approved"

[[attributes]]
name = "sex"
categories = ["F", "M"]

[[attributes]]
name = "relapse"
categories = ["no", "yes"]
missing = true
"""


@pytest.fixture
def people(tmp_path: Path) -> pl.DataFrame:
    frame = pl.DataFrame({"sex": ["F", "M"] * 400, "relapse": ["no", "yes", "yes", None] * 200})
    frame.write_parquet(tmp_path / "people.parquet")
    write_deltalake(tmp_path / "people", frame.to_arrow())
    (tmp_path / "clinic.toml").write_text(SCHEMA)
    return frame


def test_the_same_records_are_one_account_wherever_they_lie(
    panbayes: Panbayes, people: pl.DataFrame, tmp_path: Path
) -> None:
    assert panbayes("study", "new", "study.toml", "--schema", "clinic.toml", "--epsilon", "1").returncode == 0
    address = as_iceberg(people, tmp_path)
    models = []
    for number, data in enumerate(
        ("people.parquet", "delta://people", f"delta://{tmp_path}/people?version=0", address)
    ):
        done = panbayes(
            "learn", "study.toml", "--holder", f"north={data}", "-o", f"{number}.json", "--state", "ledgers"
        )
        assert done.returncode == 0, done.stderr
        models.append((tmp_path / f"{number}.json").read_bytes())
    assert len(set(models)) == 1, "answered once, from one ledger"


def test_schemas_are_drafted_and_checked_against_lakes(
    panbayes: Panbayes, people: pl.DataFrame, tmp_path: Path
) -> None:
    for number, data in enumerate(("delta://people", as_iceberg(people, tmp_path))):
        done = panbayes("schema", "draft", data, "-o", f"draft{number}.toml", "--name", "people")
        assert done.returncode == 0, done.stderr
        done = panbayes("schema", "check", "clinic.toml", data)
        assert done.returncode == 0, done.stderr
        assert "dictionary type" not in done.stderr
    assert (tmp_path / "draft0.toml").read_text() == (tmp_path / "draft1.toml").read_text()
    write_deltalake(tmp_path / "people", people.to_arrow(), mode="append")
    done = panbayes("schema", "check", "clinic.toml", "delta://people?version=2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: delta://people?version=2: has no version 2, or not any more; ")


@pytest.mark.usefixtures("people")
def test_a_holders_file_names_a_lake_from_its_own_folder(tmp_path: Path) -> None:
    there = Source(url="delta://people").at(tmp_path)
    assert read_columns(there, ["sex"], argument="source").height == 800
