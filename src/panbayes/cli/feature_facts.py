"""A feature file in plain words: who is learned about, and what each attribute tells."""

from __future__ import annotations

from panbayes.display import shortened
from panbayes.schema.omop.cdm import FIRST_DAY, LAST_DAY
from panbayes.schema.omop.cohort import Cohort
from panbayes.schema.omop.feature import Feature
from panbayes.schema.omop.features import Features

__all__ = ["cohort_lines", "feature_rows"]


def cohort_lines(cohort: Cohort) -> list[str]:
    """Say who is in the cohort, and what the index date is."""
    records = f'record of "{cohort.concepts}" in {cohort.table}'
    bounded = cohort.between != (FIRST_DAY, LAST_DAY)
    when = f" from {cohort.between[0]} to {cohort.between[1]}" if bounded else ""
    if cohort.index == "date":
        who = f"Who: those with a {records} on {cohort.date} or before." if cohort.concepts else "Who: everybody."
        index = f"Index date: {cohort.date}."
    elif cohort.index == "first":
        who = f"Who: those with a {records}{when}."
        index = "Index date: the day of the first such record."
    else:
        who = f"Who: those whose first {records} is{when or ' of any day'}."
        index = "Index date: the day of that record."
    observed = f"Observed: from {cohort.prior_days} days before the index date to {cohort.follow_up_days} days after."
    return [
        who,
        index,
        observed,
        *([f"Age: {cohort.age[0]} to {cohort.age[1]} in the year of the index date."] if cohort.age else []),
        *(["Alive: no death is recorded before the index date."] if cohort.alive else []),
    ]


def feature_rows(features: Features) -> list[tuple[str, str]]:
    """Say what each attribute tells."""
    return [(feature.name, _told(feature)) for feature in features.features]


def _told(feature: Feature) -> str:
    window = "" if feature.window is None else f"from day {feature.window[0]} to day {feature.window[1]}"
    records = f'of "{feature.concepts}" in {feature.table}, {window}'
    values = shortened([label for label, _ in feature.groups] or feature.attribute(certain=True).labels)
    return {
        "any": f"whether there is a record {records}",
        "count": f"how many records {records}: {values}",
        "days": f"on how many days there is a record {records}: {values}",
        "latest": f"the latest value {records}: {values}",
        "died": f"whether the person died, {window}",
        "age": f"the age in the year of the index date: {values}",
        "year-of-birth": f"the year of birth: {values}",
    }.get(feature.kind, f"the {feature.kind}: {values}")
