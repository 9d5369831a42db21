"""The tables of the OMOP common data model that features are made of, and the columns that are read of each.

They are the same in versions 5.3 and 5.4 of the model: what 5.4 has beside them is not read. Nothing is read of tables
that people share, such as ``concept``, ``concept_ancestor``, ``location``, ``care_site`` and ``provider``: every table
here has a column ``person_id``, and so every row that is read is somebody's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = [
    "ANSWER",
    "DEATH",
    "FIRST_DAY",
    "LAST_DAY",
    "NUMBER",
    "OBSERVATION_PERIOD",
    "PERSON",
    "PERSON_ID",
    "RECORDS",
    "UNIT",
    "VALUED",
    "CdmTable",
    "Content",
]

Content: TypeAlias = Literal["integer", "date", "number"]
"""What a column holds, by the model."""

PERSON_ID: Final = "person_id"

FIRST_DAY: Final = "1900-01-01"
LAST_DAY: Final = "2099-12-31"
"""An index date lies between these days; what is written for an unknown one, such as 0001-01-01, does not."""


@dataclass(frozen=True, slots=True)
class CdmTable:
    """A table of records: its name, its columns of concepts and of days, and those of values if it has some."""

    name: str
    day: str
    concept: str | None = None
    values: Mapping[str, Content] | None = None

    @property
    def columns(self) -> dict[str, Content]:
        """What is read of the table."""
        own: dict[str, Content] = {PERSON_ID: "integer", self.day: "date"}
        return own | ({self.concept: "integer"} if self.concept else {}) | dict(self.values or {})


NUMBER: Final = "value_as_number"
ANSWER: Final = "value_as_concept_id"
UNIT: Final = "unit_concept_id"

_VALUES: Final[Mapping[str, Content]] = {NUMBER: "number", ANSWER: "integer", UNIT: "integer"}

RECORDS: Final = {
    table.name: table
    for table in (
        CdmTable("condition_occurrence", "condition_start_date", "condition_concept_id"),
        CdmTable("drug_exposure", "drug_exposure_start_date", "drug_concept_id"),
        CdmTable("procedure_occurrence", "procedure_date", "procedure_concept_id"),
        CdmTable("measurement", "measurement_date", "measurement_concept_id", _VALUES),
        CdmTable("observation", "observation_date", "observation_concept_id", _VALUES),
        CdmTable("device_exposure", "device_exposure_start_date", "device_concept_id"),
        CdmTable("visit_occurrence", "visit_start_date", "visit_concept_id"),
    )
}
"""The tables of records that a feature can look at, by name."""

VALUED: Final = tuple(name for name, table in RECORDS.items() if table.values)
"""Those of them that have values."""

DEATH: Final = CdmTable("death", "death_date")

PERSON: Final[Mapping[str, Content]] = {
    PERSON_ID: "integer",
    "gender_concept_id": "integer",
    "year_of_birth": "integer",
    "race_concept_id": "integer",
    "ethnicity_concept_id": "integer",
}
"""What is read of the table ``person``."""

OBSERVATION_PERIOD: Final[Mapping[str, Content]] = {
    PERSON_ID: "integer",
    "observation_period_start_date": "date",
    "observation_period_end_date": "date",
}
"""What is read of the table ``observation_period``."""
