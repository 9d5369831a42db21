"""The SELECT gives the rows that plain Python gives, and every row depends on one person's records alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import duckdb
import polars as pl
import pytest

from panbayes.schema.omop.features import Features
from panbayes.tables.encoding import encode_values
from panbayes.tables.omop.select import one_row_a_person
from tests.effort import often, some
from tests.tables.omop.brute import rows_of
from tests.tables.omop.example import COHORTS, features_of, made_up
from tests.tables.omop.model import Cell, History, create, fill


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        create(connection)
        yield connection


@cache
def text_of(features: Features) -> str:
    return one_row_a_person(features, schema="cdm").sql("duckdb")


def selected(database: duckdb.DuckDBPyConnection, features: Features, history: History) -> pl.DataFrame:
    """What the database gives for a history, in the order of ids."""
    database.execute("BEGIN")
    try:
        fill(database, history)
        found: pl.DataFrame = database.sql(text_of(features)).pl()
        return found.sort("person_id")
    finally:
        database.execute("ROLLBACK")


def labelled(features: Features, frame: pl.DataFrame) -> dict[int, tuple[str, ...]]:
    """The label that the ordinary encoder gives every value."""
    schema = features.schema
    columns = []
    for attribute in schema.attributes:
        codes = encode_values(frame[attribute.name], attribute, schema.missing_values).codes
        columns.append([attribute.labels[code] for code in codes.tolist()])
    return dict(zip(frame["person_id"].to_list(), zip(*columns, strict=True), strict=True))


def expected(features: Features, history: History) -> dict[int, tuple[str, ...]]:
    """The same of the rows of plain Python."""
    rows = rows_of(features, history)
    values: dict[str, list[Cell]] = {name: [row[name] for row in rows.values()] for name in features.schema.names}
    numeric = {attribute.name: attribute.numeric for attribute in features.schema.attributes}
    frame = pl.DataFrame(
        {"person_id": pl.Series(list(rows), dtype=pl.Int64)}
        | {name: pl.Series(given, dtype=pl.Float64 if numeric[name] else pl.String) for name, given in values.items()}
    )
    return labelled(features, frame)


@pytest.mark.parametrize("cohort", COHORTS)
@pytest.mark.parametrize("seed", some([1, 2], 1))
def test_the_rows_are_those_of_plain_python(database: duckdb.DuckDBPyConnection, cohort: str, seed: int) -> None:
    features, history = features_of(cohort), made_up(seed, often(700, 1500))
    found = selected(database, features, history)
    assert found["person_id"].n_unique() == found.height > 25
    wanted = expected(features, history)
    assert labelled(features, found) == wanted
    for attribute, labels in zip(features.schema.attributes, zip(*wanted.values(), strict=True), strict=True):
        assert len(set(labels)) >= min(attribute.size, 3) - 1, attribute.name


def without(history: History, person: int) -> History:
    """The same database without all rows of a person."""
    return {name: [row for row in rows if row["person_id"] != person] for name, rows in history.items()}


def by_person(frame: pl.DataFrame) -> dict[int, tuple[object, ...]]:
    return {row[0]: row for row in frame.rows()}


@pytest.mark.parametrize("cohort", some(COHORTS, 2))
def test_a_person_changes_no_other_row(database: duckdb.DuckDBPyConnection, cohort: str) -> None:
    features, history = features_of(cohort), made_up(3, 300)
    before = by_person(selected(database, features, history))
    for person in sorted(before)[: often(2, 4)]:
        gone = by_person(selected(database, features, without(history, person)))
        assert gone == {known: row for known, row in before.items() if known != person}
        # Another person's records, under this one's id, and days far from all others'.
        altered = without(history, person)
        stranger = made_up(100 + person, 1)
        altered = {
            name: [*rows, *({**row, "person_id": person} for row in stranger[name])] for name, rows in altered.items()
        }
        changed = by_person(selected(database, features, altered))
        assert {k: v for k, v in changed.items() if k != person} == {k: v for k, v in before.items() if k != person}


def test_the_order_of_rows_says_nothing(database: duckdb.DuckDBPyConnection) -> None:
    features, history = features_of("first"), made_up(4, 400)
    found = selected(database, features, history)
    turned = {name: list(reversed(rows)) for name, rows in history.items()}
    assert found.equals(selected(database, features, turned))


LARGEST: Final = {
    "DECIMAL(38, 0)": "99999999999999999999999999999999999999",
    "DECIMAL(38, 37)": "9.9",
    "DECIMAL(18, 3)": "999999999999999.999",
    "FLOAT": "3e38",
    "DOUBLE": "1e308",
    "INTEGER": "2147483647",
}


@pytest.mark.parametrize("number", LARGEST)
def test_values_of_any_type_are_compared(number: str) -> None:
    features = features_of("everybody on a day")
    with duckdb.connect() as connection:
        create(connection, number=number)
        connection.execute(
            "INSERT INTO cdm.person (person_id) VALUES (1), (2); INSERT INTO cdm.observation_period (person_id, "
            "observation_period_start_date, observation_period_end_date) SELECT person_id, DATE '0001-01-01', "
            "DATE '9999-12-31' FROM cdm.person"
        )
        for person, value in ((1, "7"), (2, LARGEST[number])):
            connection.execute(
                "INSERT INTO cdm.measurement (person_id, measurement_concept_id, measurement_date, value_as_number, "
                "unit_concept_id) SELECT ?, 1, DATE '2020-01-01', ?, 10",
                [person, value],
            )
        found = connection.sql(text_of(features)).pl()
    labels = labelled(features, found)
    place = features.schema.names.index("a1c")
    assert labels[1][place] == "[6.5, 8]"
    assert labels[2][place] == ("missing" if number == "DOUBLE" else "[6.5, 8]")


def test_days_beyond_all_moments_do_not_stop_the_database(database: duckdb.DuckDBPyConnection) -> None:
    """DuckDB has dates that are no timestamps; to compare one as a timestamp would fail."""
    database.execute("BEGIN")
    try:
        fill(database, made_up(5, 50))
        for day in ("5877642-06-25 (BC)", "5881580-07-10", "300000-01-01", "infinity", "-infinity"):
            for statement in (
                "INSERT INTO cdm.condition_occurrence (person_id, condition_start_date, condition_concept_id) "
                "SELECT person_id, ?, 1 FROM cdm.person",
                "INSERT INTO cdm.drug_exposure (person_id, drug_exposure_start_date, drug_concept_id) "
                "SELECT person_id, ?, 1 FROM cdm.person",
                "INSERT INTO cdm.observation_period (person_id, observation_period_start_date, "
                "observation_period_end_date) SELECT person_id, '-infinity', ? FROM cdm.person",
                "INSERT INTO cdm.death (person_id, death_date) SELECT person_id, ? FROM cdm.person",
            ):
                database.execute(statement, [day])
        for cohort in COHORTS:
            rows = database.sql(text_of(features_of(cohort))).pl()
            assert rows.width == 18
    finally:
        database.execute("ROLLBACK")
