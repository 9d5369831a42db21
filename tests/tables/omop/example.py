"""Features of every kind, over concepts that histories of tests are made of."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np

from panbayes.schema.omop.cdm import RECORDS
from panbayes.schema.omop.features import FEATURE_FILE, Features
from tests.tables.omop.model import TABLES, History, Row

__all__ = ["COHORTS", "NOW", "features_of", "made_up"]

T = TypeVar("T")

COHORTS: Final = {
    "first": 'index = "first"\ntable = "condition_occurrence"\nconcepts = "one"\n'
    'between = ["2019-12-28", "2020-01-05"]',
    "first with a past": 'index = "first"\ntable = "visit_occurrence"\nconcepts = "two"\nprior_days = 4\n'
    "follow_up_days = 2\nage = [0, 70]",
    "first ever": 'index = "first-ever"\ntable = "condition_occurrence"\nconcepts = "one"\n'
    'between = ["2020-01-01", "2020-12-31"]\nalive = true',
    "everybody on a day": 'index = "date"\ndate = "2020-01-02"',
    "those who had it": 'index = "date"\ndate = "2020-01-02"\ntable = "drug_exposure"\nconcepts = "two"\nalive = true',
}

_REST: Final = """
[[concept_sets]]
name = "one"
concepts = [1, 2]

[[concept_sets]]
name = "two"
concepts = [2, 3, 4]
without = [4]

[[features]]
name = "sex"
kind = "gender"
groups = {female = 8532, male = 8507}

[[features]]
name = "race"
kind = "race"
groups = {"one; or another" = [1, 2], "it's" = 3}

[[features]]
name = "Ethnicity"
kind = "ethnicity"
groups = {hispanic = 38003563}

[[features]]
name = "age"
kind = "age"
bins = [0, 1, 20, 65, 120]

[[features]]
name = "born"
kind = "year-of-birth"
bins = [1900, 1950.5, 2000, 2025]

[[features]]
name = "condition"
kind = "any"
table = "condition_occurrence"
concepts = "one"
window = [-3, 0]

[[features]]
name = "condition after"
kind = "any"
table = "condition_occurrence"
concepts = "two"
window = [1, 5]

[[features]]
name = "drugs"
kind = "count"
table = "drug_exposure"
concepts = "two"
window = [-5, -1]
bins = [0, 1, 2, 3]

[[features]]
name = "days with drugs"
kind = "days"
table = "drug_exposure"
concepts = "one"
window = [-5, 5]
bins = [0, 1, 2]

[[features]]
name = "procedure"
kind = "any"
table = "procedure_occurrence"
concepts = "one"
window = [-36525, 0]

[[features]]
name = "device"
kind = "any"
table = "device_exposure"
concepts = "one"
window = [0, 0]

[[features]]
name = "visits"
kind = "count"
table = "visit_occurrence"
concepts = "two"
window = [-5, 0]
bins = [1, 2]

[[features]]
name = "a1c"
kind = "latest"
table = "measurement"
concepts = "one"
window = [-4, 0]
bins = [3, 5.7, 6.5, 8]
units = [10]

[[features]]
name = "a1c in any unit"
kind = "latest"
table = "measurement"
concepts = "two"
window = [-4, 4]
bins = [3, 6, 8]
units = [0, 11]

[[features]]
name = "measured"
kind = "days"
table = "measurement"
concepts = "two"
window = [-5, 0]
bins = [0, 1, 2, 3]

[[features]]
name = "smokes"
kind = "latest"
table = "observation"
concepts = "two"
window = [-5, 1]
groups = {never = 7, "now or then" = [8, 9]}

[[features]]
name = "died"
kind = "died"
window = [0, 4]
"""


def features_of(cohort: str) -> Features:
    """Features of every kind, of one of the cohorts."""
    text = f'version = 1\nname = "everything"\nstatus = "approved"\n\n[cohort]\n{COHORTS[cohort]}\n{_REST}'
    return FEATURE_FILE.parse(text, source="features.toml")


NOW: Final = dt.date(2020, 1, 1)
_ODD_DAYS: Final = (None, dt.date.min, dt.date.max, dt.date(1899, 12, 31), dt.date(1900, 1, 1), dt.date(2100, 1, 1))
_NUMBERS: Final = (None, -1.0, 3.0, 5.699, 5.7, 6.0, 6.5, 7.0, 8.0, 8.001, 1e299, math.nan, math.inf, -math.inf)
_YEARS: Final = (None, 1799, 1899, 1950, 1951, 1999, 2000, 2019, 2020, 2021, 2**31 - 1, -(2**31))


def made_up(seed: int, persons: int) -> History:
    """A database of people made up with all that goes wrong in real ones: rows twice, days and values that are none."""
    coin = np.random.default_rng(seed)

    def pick(options: Sequence[T]) -> T:
        return options[int(coin.integers(len(options)))]

    def day() -> dt.date | None:
        return pick(_ODD_DAYS) if coin.random() < 0.1 else NOW + dt.timedelta(days=int(coin.integers(-7, 8)))

    found: dict[str, list[Row]] = {name: [] for name in TABLES}
    for person in range(1, persons + 1):
        own: Row = {"person_id": None if coin.random() < 0.01 else person}
        for _ in range(pick((0, 1, 1, 1, 1, 1, 1, 2))):
            found["person"].append(
                own
                | {
                    "gender_concept_id": pick((8507, 8532, 0, 1, None)),
                    "race_concept_id": pick((1, 2, 3, 4, 0, None)),
                    "ethnicity_concept_id": pick((38003563, 38003564, None)),
                    "year_of_birth": pick(_YEARS),
                }
            )
        for _ in range(pick((0, 1, 1, 2))):
            reach = dt.timedelta(days=pick((3, 30)))
            start, end = day(), day()
            start = start - reach if start is not None and start > dt.date(1899, 1, 1) and start.year < 9999 else start
            end = end + reach if end is not None and end.year < 9999 else end
            found["observation_period"].append(
                own | {"observation_period_start_date": start, "observation_period_end_date": end}
            )
        if coin.random() < 0.4:
            found["death"].append(own | {"death_date": day()})
        for table in RECORDS.values():
            for _ in range(pick((0, 1, 2, 5))):
                row = own | {table.day: day(), str(table.concept): pick((1, 2, 3, 4, 0, 99, None))}
                if table.values:
                    row["value_as_number"] = pick(_NUMBERS)
                    row["value_as_concept_id"] = pick((None, 0, 7, 8, 9, 10))
                    row["unit_concept_id"] = pick((None, 0, 10, 10, 11))
                found[table.name].append(row)
    for rows in found.values():
        rows[:] = [rows[int(place)] for place in coin.permutation(len(rows))]
    return found
