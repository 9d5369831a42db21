"""What features say of each person, in plain Python: row by row, person by person, without SQL."""

from __future__ import annotations

import datetime as dt
import math

from panbayes.schema.omop.cdm import RECORDS
from panbayes.schema.omop.cohort import Cohort
from panbayes.schema.omop.feature import Feature
from panbayes.schema.omop.features import Features
from tests.tables.omop.model import Cell, History, Row

__all__ = ["rows_of"]

EARLIEST, LATEST = dt.date(1900, 1, 1), dt.date(2099, 12, 31)
PLAUSIBLE = range(1800, 2201)


def rows_of(features: Features, history: History) -> dict[int, dict[str, Cell]]:
    """Every member of the cohort, with the value of every feature: a label, a number, or None."""
    people = {row["person_id"] for row in history["person"]} - {None}
    every: dict[Cell, dict[str, list[Row]]] = {person: {name: [] for name in history} for person in people}
    for name, rows in history.items():
        for row in rows:
            every.get(row["person_id"], {name: []})[name].append(row)
    found = {}
    for person, own in every.items():
        index = index_date(features, own)
        if index is not None and belongs(features.cohort, own, index):
            found[int(str(person))] = {one.name: value_of(features, one, own, index) for one in features.features}
    return found


def day(row: Row, column: str) -> dt.date | None:
    value = row.get(column)
    assert value is None or isinstance(value, dt.date)
    return value


def index_date(features: Features, own: History) -> dt.date | None:
    cohort = features.cohort
    if cohort.table is None or cohort.concepts is None:
        return dt.date.fromisoformat(cohort.date or "")
    table = RECORDS[cohort.table]
    ids = features.ids(cohort.concepts)
    found = [day(row, table.day) for row in own[table.name] if row.get(table.concept or "") in ids]
    known = sorted(one for one in found if one is not None and EARLIEST <= one <= LATEST)
    if cohort.date is not None:
        fixed = dt.date.fromisoformat(cohort.date)
        return fixed if any(one <= fixed for one in known) else None
    first, last = map(dt.date.fromisoformat, cohort.between)
    if cohort.index == "first":
        known = [one for one in known if first <= one <= last]
    return known[0] if known and first <= known[0] <= last else None


def belongs(cohort: Cohort, own: History, index: dt.date) -> bool:
    low = index - dt.timedelta(days=cohort.prior_days)
    high = index + dt.timedelta(days=cohort.follow_up_days)
    periods = [
        (day(row, "observation_period_start_date"), day(row, "observation_period_end_date"))
        for row in own["observation_period"]
    ]
    if not any(start is not None and end is not None and start <= low and high <= end for start, end in periods):
        return False
    if cohort.age is not None:
        age = age_at(own, index)
        if age is None or not cohort.age[0] <= age <= cohort.age[1]:
            return False
    deaths = [day(row, "death_date") for row in own["death"]]
    return not (cohort.alive and any(one is not None and one < index for one in deaths))


def least(own: History, column: str) -> int | None:
    values = [row[column] for row in own["person"] if row.get(column) is not None]
    return min(int(str(value)) for value in values) if values else None


def age_at(own: History, index: dt.date) -> int | None:
    born = least(own, "year_of_birth")
    return None if born is None or born not in PLAUSIBLE else index.year - born


def value_of(features: Features, feature: Feature, own: History, index: dt.date) -> Cell:
    if feature.kind in ("gender", "race", "ethnicity"):
        return label_of(feature, least(own, f"{feature.kind}_concept_id"))
    if feature.kind == "age":
        return age_at(own, index)
    if feature.kind == "year-of-birth":
        born = least(own, "year_of_birth")
        return born if born in PLAUSIBLE else None
    assert feature.window is not None
    first, last = (index + dt.timedelta(days=days) for days in feature.window)
    if feature.kind == "died":
        deaths = [day(row, "death_date") for row in own["death"]]
        return "yes" if any(one is not None and first <= one <= last for one in deaths) else "no"
    assert feature.table is not None
    assert feature.concepts is not None
    table, ids = RECORDS[feature.table], features.ids(feature.concepts)
    rows = [
        (on, row)
        for row in own[table.name]
        if row.get(table.concept or "") in ids and (on := day(row, table.day)) is not None and first <= on <= last
    ]
    if feature.kind == "any":
        return "yes" if rows else "no"
    if feature.kind == "count":
        return len(rows)
    if feature.kind == "days":
        return len({on for on, _ in rows})
    return latest(feature, rows)


def latest(feature: Feature, rows: list[tuple[dt.date, Row]]) -> Cell:
    if feature.groups:
        answers = [(on, row.get("value_as_concept_id")) for on, row in rows]
        known = [(on, answer) for on, answer in answers if answer is not None]
        on_last = [answer for on, answer in known if on == max(day for day, _ in known)]
        labels = [label_of(feature, int(str(answer))) for answer in on_last]
        return next((label for label, _ in feature.groups if label in labels), "other" if labels else None)
    numbers = [
        (on, float(str(row["value_as_number"])))
        for on, row in rows
        if row.get("value_as_number") is not None and (row.get("unit_concept_id") or 0) in feature.units
    ]
    finite = [(on, number) for on, number in numbers if math.isfinite(number)]
    return max((number for on, number in finite if on == max(day for day, _ in finite)), default=None)


def label_of(feature: Feature, concept: int | None) -> str | None:
    if concept is None:
        return None
    return next((label for label, ids in feature.groups if concept in ids), "other")
