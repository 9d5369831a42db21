"""OMOP databases as sources: the rows of plain Python on every engine, and refusals by public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.omop.features import Features
from panbayes.schema.schema import Unit
from panbayes.tables.remote import remote_table
from panbayes.tables.sources.dispatch import open_source, read_frame
from panbayes.tables.table import Table
from tests.effort import some
from tests.postgres import POSTGRES
from tests.tables.omop.databases import in_duckdb, in_postgresql, written
from tests.tables.omop.example import COHORTS, features_of, made_up
from tests.tables.omop.model import History, create
from tests.tables.omop.test_select import expected, labelled

Put: TypeAlias = Callable[[History, Path], str]
ENGINES: dict[str, Put] = {"DuckDB": in_duckdb, "PostgreSQL": lambda history, _: in_postgresql(history)}


@pytest.fixture(scope="module")
def history() -> History:
    return made_up(6, 400)


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, history: History, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database, without features."""
    if request.param == "PostgreSQL":
        assert POSTGRES.port
    return ENGINES[request.param](history, tmp_path_factory.mktemp("omop"))


READ = ("first", "everybody on a day")
"""Cohorts whose codes are looked at where there are several feature files."""


def codes_of(features: Features, history: History) -> list[tuple[int, ...]]:
    """The codes of the rows of plain Python, in the order of their codes."""
    attributes = features.schema.attributes
    rows = expected(features, history).values()
    return sorted(tuple(one.labels.index(label) for one, label in zip(attributes, row, strict=True)) for row in rows)


@pytest.mark.parametrize("cohort", some([one for one in COHORTS if one not in READ], 1))
def test_codes_are_those_of_plain_python(place: str, cohort: str, history: History, tmp_path: Path) -> None:
    features = features_of(cohort)
    table = Table.read(f"{place}&features={written(features, tmp_path)}", features.schema)
    assert sorted(map(tuple, table.codes.T.tolist())) == codes_of(features, history)
    assert table.persons == table.records > 15


def test_rows_are_those_of_plain_python(place: str, history: History, tmp_path: Path) -> None:
    features = features_of("first")
    frame = read_frame(f"{place}&features={written(features, tmp_path)}", argument="data")
    assert labelled(features, frame.with_columns(pl.col("person_id").cast(pl.Int64))) == expected(features, history)
    with open_source(f"{place}&features={written(features, tmp_path)}", argument="data") as opened:
        assert opened.columns == ("person_id", *features.schema.names)


def test_counts_in_the_database_are_those_of_its_rows(place: str, tmp_path: Path) -> None:
    features = features_of("those who had it")
    address = f"{place}&features={written(features, tmp_path)}"
    few = tuple(features.schema.attributes[a] for a in (0, 1, 3, 5, 12, 15))
    schema = replace(features.schema, attributes=few)
    table = Table.read(address, schema)
    sets = [(0,), (3, 1), (2, 4, 5)]
    with ExitStack() as stack:
        remote = remote_table(f"{address}&pushdown=true", schema, argument="data", may_be_empty=False, stack=stack)
        assert remote is not None
        assert remote.facts == table.facts
        assert np.array_equal(remote.count(sets).flat, table.count(sets).flat)
    with pytest.raises(InputError, match="counted where it lies"):
        Table.read(f"{address}&pushdown=true", schema)


def test_an_empty_cohort_is_a_table_without_records(place: str, tmp_path: Path) -> None:
    features = features_of("first")
    nobody = replace(features, cohort=replace(features.cohort, between=("1950-01-01", "1950-01-02")))
    schema = replace(nobody.schema, attributes=nobody.schema.attributes[:3])
    table = Table.read(f"{place}&features={written(nobody, tmp_path)}", schema, may_be_empty=True)
    assert (table.records, table.persons) == (0, 0)


def test_other_features_than_the_schemas_are_refused(tmp_path: Path) -> None:
    features, other = features_of("first"), features_of("first ever")
    address = f"{in_duckdb(made_up(6, 50), tmp_path)}&features={written(features, tmp_path)}"
    with pytest.raises(InputError, match="has other features than"):
        Table.read(address, other.schema)
    with pytest.raises(InputError, match="has other features than"):
        Table.read(address, replace(features.schema, features=None))
    coarser = tuple(
        Attribute("age", bins=(0, 50, 120)) if one.name == "age" else one for one in features.schema.attributes
    )
    with pytest.raises(InputError, match='says otherwise than its features do of "age"'):
        Table.read(address, replace(features.schema, attributes=coarser))
    with pytest.raises(InputError, match="whom a record belongs to"):
        Table.read(address, replace(features.schema, unit=Unit("person_id", 2)))
    # To learn of fewer attributes is to say nothing else.
    fewer = replace(features.schema, attributes=features.schema.attributes[:3])
    assert Table.read(address, fewer).codes.shape[0] == 3


def test_no_value_of_postgresql_stops_it(tmp_path: Path) -> None:
    """Numbers that no float holds, and days that no moment reaches."""
    assert POSTGRES.port
    history = made_up(7, 60)
    place = in_postgresql(history)
    schema = place.rpartition("=")[2]
    days = ("-infinity", "infinity", "4713-01-01 BC", "5874897-12-31")
    numbers = ("1e400", "-1e400", "1e-400", "'NaN'", "'Infinity'", "'-Infinity'")
    POSTGRES.execute(
        *(
            f"INSERT INTO {schema}.{table} (person_id, {concept}, {day}) SELECT person_id, 2, '{one}'::date "
            f"FROM {schema}.person"
            for one in days
            for table, concept, day in (
                ("condition_occurrence", "condition_concept_id", "condition_start_date"),
                ("drug_exposure", "drug_concept_id", "drug_exposure_start_date"),
                ("visit_occurrence", "visit_concept_id", "visit_start_date"),
                ("measurement", "measurement_concept_id", "measurement_date"),
            )
        ),
        *(
            f"INSERT INTO {schema}.observation_period (person_id, observation_period_start_date, "
            f"observation_period_end_date) SELECT person_id, '{one}'::date, 'infinity'::date FROM {schema}.person"
            for one in ("-infinity", "4713-01-01 BC")
        ),
        *(
            f"INSERT INTO {schema}.measurement (person_id, measurement_concept_id, measurement_date, unit_concept_id, "
            f"value_as_number) SELECT person_id, 1, '2020-01-01'::date, 10, {one}::numeric FROM {schema}.person"
            for one in numbers
        ),
        f"UPDATE {schema}.person SET year_of_birth = -2147483648 WHERE person_id = 1",
    )
    for cohort in some(COHORTS, 2):
        features = features_of(cohort)
        table = Table.read(f"{place}&features={written(features, tmp_path)}", features.schema, may_be_empty=True)
        assert table.records == table.persons


CHANGES = {
    "ALTER TABLE cdm.person DROP COLUMN race_concept_id": 'its table person has no column "race_concept_id"',
    "DROP TABLE cdm.device_exposure": 'has no table or view "cdm.device_exposure"',
    "DROP TABLE cdm.death": 'has no table or view "cdm.death"',
    "ALTER TABLE cdm.measurement DROP COLUMN unit_concept_id": 'measurement has no column "unit_concept_id"',
    "ALTER TABLE cdm.drug_exposure ALTER drug_exposure_start_date TYPE VARCHAR": "VARCHAR, and the model has a date",
    "ALTER TABLE cdm.visit_occurrence ALTER visit_start_date TYPE TIMESTAMP": "declared as TIMESTAMP",
    "ALTER TABLE cdm.observation ALTER value_as_number TYPE VARCHAR": "the model has a number",
    "ALTER TABLE cdm.person ALTER person_id TYPE VARCHAR": "the model has an integer",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_database_of_another_model_is_refused(change: str, tmp_path: Path) -> None:
    features = features_of("first")
    place = in_duckdb({}, tmp_path)
    with duckdb.connect(place.removeprefix("omop+duckdb://").partition("?")[0]) as connection:
        connection.execute(change)
    with pytest.raises(InputError) as caught:
        Table.read(f"{place}&features={written(features, tmp_path)}", features.schema)
    assert CHANGES[change] in str(caught.value)


def test_only_what_features_speak_of_is_looked_for(tmp_path: Path) -> None:
    features = replace(features_of("everybody on a day"), features=features_of("first").features[:1])
    place = in_duckdb({"person": [{"person_id": 1, "gender_concept_id": 8507}]}, tmp_path)
    with duckdb.connect(place.removeprefix("omop+duckdb://").partition("?")[0]) as connection:
        for name in ("measurement", "death", "drug_exposure", "visit_occurrence"):
            connection.execute(f"DROP TABLE cdm.{name}")
    table = Table.read(f"{place}&features={written(features, tmp_path)}", features.schema, may_be_empty=True)
    assert table.records == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", 'has no option "features"'),
        ("&features=none.toml", "none.toml: cannot be read"),
        ("&features=none.toml&table=person", 'has no option "table"'),
        ("&features=none.toml&order_by=person_id", 'has no option "order_by"'),
    ],
)
def test_addresses_that_cannot_be_meant(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said), open_source(f"{in_duckdb({}, tmp_path)}{more}", argument="data"):
        pass


def test_sets_that_are_not_lists_are_not_looked_up_at_the_site(tmp_path: Path) -> None:
    features = features_of("first")
    sets = (replace(features.concept_sets[0], descendants=True), features.concept_sets[1])
    address = f"{in_duckdb({}, tmp_path)}&features={written(replace(features, concept_sets=sets), tmp_path)}"
    with pytest.raises(InputError, match="panbayes omop expand"):
        read_frame(address, argument="data")


def test_of_several_feature_files_the_schema_says_which(place: str, history: History, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no feature file"):
        read_frame(f"{place}&features={tmp_path}", argument="data")
    several = [features_of(cohort) for cohort in READ]
    for features in several:
        written(features, tmp_path)
    address = f"{place}&features={tmp_path}"
    for features in several:
        table = Table.read(address, features.schema)
        assert sorted(map(tuple, table.codes.T.tolist())) == codes_of(features, history)
    with pytest.raises(InputError, match="has other features than"):
        Table.read(address, features_of("first ever").schema)
    with pytest.raises(InputError, match="names several feature files"):
        read_frame(address, argument="data")


def test_a_schema_of_any_name_is_found(tmp_path: Path) -> None:
    features = features_of("everybody on a day")
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        create(connection, schema='"Odd schema.1"')
    address = f"omop+duckdb://{path}?schema=Odd%20schema.1&features={written(features, tmp_path)}"
    assert Table.read(address, features.schema, may_be_empty=True).records == 0
