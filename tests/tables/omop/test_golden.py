"""The SELECT in every dialect, as text; running this module writes the texts anew.

DuckDB and PostgreSQL run theirs in other tests. The others are text alone: nothing here has spoken to those services.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from panbayes.cli.verbs.omop import DIALECTS
from panbayes.schema.omop.features import FEATURE_FILE
from panbayes.tables.omop.select import one_row_a_person

GOLDEN = Path(__file__).parent / "golden"


def text(dialect: str) -> str:
    features = FEATURE_FILE.parse(FEATURE_FILE.example, source="features.toml")
    return one_row_a_person(features, schema="cdm").sql(dialect, pretty=True) + "\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_text_is_the_one_on_file(dialect: str) -> None:
    assert text(dialect) == (GOLDEN / f"{dialect}.sql").read_text(encoding="utf-8"), (
        "run: python -m tests.tables.omop.test_golden"
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_text_is_one_statement_that_only_reads(dialect: str) -> None:
    (statement,) = sqlglot.parse(text(dialect), dialect=dialect)
    assert isinstance(statement, sqlglot.exp.Select)
    read = {f"{table.db}.{table.name}" for table in statement.find_all(sqlglot.exp.Table) if table.db}
    tables = ("person", "observation_period", "condition_occurrence", "drug_exposure", "measurement")
    assert read == {f"cdm.{name}" for name in tables}


def test_every_text_on_file_is_expected() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(DIALECTS)


if __name__ == "__main__":
    for name in DIALECTS:
        (GOLDEN / f"{name}.sql").write_text(text(name), encoding="utf-8")
