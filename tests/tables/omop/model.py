"""A small OMOP database: the tables of the data model, and rows that tests make up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import duckdb
import polars as pl

__all__ = ["TABLES", "Cell", "History", "Row", "create", "fill", "frame_of", "statements"]

Cell: TypeAlias = int | float | str | dt.date | None
Row: TypeAlias = dict[str, Cell]
History: TypeAlias = Mapping[str, Sequence[Row]]
"""The rows of every table, by its name; columns that a row does not have are NULL."""

_EVENT: Final = "{0}_id INTEGER, person_id INTEGER, {1}_concept_id INTEGER, {2} DATE, {1}_type_concept_id INTEGER"
_VALUES: Final = "value_as_number {number}, value_as_concept_id INTEGER, unit_concept_id INTEGER"

TABLES: Final = {
    "person": "person_id INTEGER, gender_concept_id INTEGER, year_of_birth INTEGER, month_of_birth INTEGER, "
    "day_of_birth INTEGER, race_concept_id INTEGER, ethnicity_concept_id INTEGER, person_source_value VARCHAR(50)",
    "observation_period": "observation_period_id INTEGER, person_id INTEGER, observation_period_start_date DATE, "
    "observation_period_end_date DATE, period_type_concept_id INTEGER",
    "death": "person_id INTEGER, death_date DATE, death_type_concept_id INTEGER",
    "condition_occurrence": _EVENT.format("condition_occurrence", "condition", "condition_start_date"),
    "drug_exposure": _EVENT.format("drug_exposure", "drug", "drug_exposure_start_date"),
    "procedure_occurrence": _EVENT.format("procedure_occurrence", "procedure", "procedure_date"),
    "measurement": f"{_EVENT.format('measurement', 'measurement', 'measurement_date')}, {_VALUES}",
    "observation": f"{_EVENT.format('observation', 'observation', 'observation_date')}, {_VALUES}",
    "device_exposure": _EVENT.format("device_exposure", "device", "device_exposure_start_date"),
    "visit_occurrence": _EVENT.format("visit_occurrence", "visit", "visit_start_date"),
}
"""The columns of every table that is read, and a few that are not, as the model's own scripts declare them."""


def statements(schema: str, *, number: str = "NUMERIC") -> list[str]:
    """What makes the tables; ``number`` is the type of values."""
    return [
        f"CREATE SCHEMA IF NOT EXISTS {schema}",
        *(f"CREATE TABLE {schema}.{name} ({columns.format(number=number)})" for name, columns in TABLES.items()),
    ]


def create(connection: duckdb.DuckDBPyConnection, *, schema: str = "cdm", number: str = "DOUBLE") -> None:
    """Make empty tables."""
    for statement in statements(schema, number=number):
        connection.execute(statement)


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows of a table, with every column that any of them has."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    kinds = {column: _kind(column) for column in columns}
    return pl.DataFrame({column: [row.get(column) for row in rows] for column in columns}, schema=kinds)


def _kind(column: str) -> pl.DataType:
    if column.endswith("_date"):
        return pl.Date()
    return pl.Float64() if column == "value_as_number" else pl.Int64()


def fill(connection: duckdb.DuckDBPyConnection, history: History, *, schema: str = "cdm") -> None:
    """Put rows into the tables."""
    for name, rows in history.items():
        if rows:
            connection.register("rows_to_put", frame_of(rows))
            connection.execute(f"INSERT INTO {schema}.{name} BY NAME SELECT * FROM rows_to_put")
            connection.unregister("rows_to_put")
