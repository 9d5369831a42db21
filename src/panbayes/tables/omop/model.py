"""Whether a database has the tables and columns of the data model that features look at, each of its type.

The types are those that the database declares, so what is refused here is refused whatever the records are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from panbayes.errors import InputError
from panbayes.schema.omop.cdm import DEATH, OBSERVATION_PERIOD, PERSON, PERSON_ID, RECORDS, Content
from panbayes.schema.omop.features import Features

__all__ = ["check_model", "looked_at"]

_DEMOGRAPHICS: Final = {
    "gender": "gender_concept_id",
    "race": "race_concept_id",
    "ethnicity": "ethnicity_concept_id",
    "age": "year_of_birth",
    "year-of-birth": "year_of_birth",
}


def looked_at(features: Features) -> dict[str, dict[str, Content]]:
    """Return the tables that features look at, and what is read of each."""
    cohort = features.cohort
    person = [_DEMOGRAPHICS[one.kind] for one in features.features if one.kind in _DEMOGRAPHICS]
    columns = [PERSON_ID, *person, *(["year_of_birth"] if cohort.age else [])]
    found: dict[str, dict[str, Content]] = {
        "person": {name: PERSON[name] for name in dict.fromkeys(columns)},
        "observation_period": dict(OBSERVATION_PERIOD),
    }
    if cohort.alive or any(one.kind == "died" for one in features.features):
        found[DEATH.name] = DEATH.columns
    for name in dict.fromkeys([cohort.table, *(one.table for one in features.features)]):
        if name is not None:
            valued = any(one.table == name and one.kind == "latest" for one in features.features)
            values = RECORDS[name].values or {}
            own = RECORDS[name].columns
            found[name] = own if valued else {column: own[column] for column in own if column not in values}
    return found


def check_model(
    features: Features,
    describe: Callable[[str], Mapping[str, str]],
    is_of: Callable[[str, Content], bool],
    *,
    argument: str,
) -> Mapping[str, str]:
    """Refuse a database that lacks what features look at; return the columns of ``person``.

    ``describe`` gives the columns of a table with their declared types, by names in small letters, and ``is_of`` tells
    whether values of a declared type are what the model has there.
    """
    tables = looked_at(features)
    described = {name: describe(name) for name in tables}
    for name, columns in tables.items():
        for column, content in columns.items():
            declared = described[name].get(column)
            if declared is None:
                raise InputError(
                    argument,
                    found=f'its table {name} has no column "{column}"',
                    remedy="give a database in the OMOP common data model 5.3 or 5.4",
                )
            if not is_of(declared, content):
                raise InputError(
                    argument,
                    found=f'column "{column}" of {name} is declared as {declared}, and the model has {_WORDS[content]}',
                    remedy="give a view of the tables in which it is one",
                )
    return described["person"]


_WORDS: Final[Mapping[Content, str]] = {"integer": "an integer", "date": "a date", "number": "a number"}
