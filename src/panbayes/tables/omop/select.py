"""Features compiled into one SELECT that gives one row a person of the cohort.

**Whose rows a row depends on.** The row of person p, and whether there is one, is a function of public constants and of
the *set* (for counts the multiset) of those rows whose ``person_id`` is p, in ``person``, ``observation_period``,
``death`` and the tables of records. For

* ``persons`` and ``entries`` aggregate by ``person_id``, so each has one row a person, made of that person's own;
* ``members`` joins the two by ``person_id`` and asks ``EXISTS`` of rows with that ``person_id``; its row depends on
  those of p alone, and so does the index date, the MIN of days of p's own records or a public constant;
* every ``of_…`` joins one table to ``members`` by ``person_id``, has its windows by ``PARTITION BY person_id`` and
  aggregates by ``person_id``: one row a person at most, of p's own;
* the SELECT joins those to ``members`` by ``person_id``, one row to at most one.

Nothing is read of any table that people share (:mod:`panbayes.schema.omop.cdm`). So to add or to remove a person, with
all rows that bear the id, adds or removes one row at most and leaves every other row as it was; to alter a person's
rows changes that person's row alone, or lets it come or go. With ``max_records = 1`` that is the unit that a study
protects.

**Order.** MIN, MAX, COUNT and EXISTS do not depend on the order in which rows lie. The latest number is the greatest of
those of its last day; the latest concept that of the first group in the file that has one on its last day.

**Errors.** :mod:`panbayes.tables.omop.expressions` says why no value can make the SELECT fail. That a table or a column
is not there, or is of another type, is public and found before (:mod:`panbayes.tables.omop.model`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sqlglot import exp

from panbayes.schema.omop.cdm import ANSWER, DEATH, FIRST_DAY, LAST_DAY, NUMBER, PERSON_ID, RECORDS, UNIT, CdmTable
from panbayes.schema.omop.feature import NO, OTHER, YES, Feature
from panbayes.schema.omop.features import Features
from panbayes.tables.omop.expressions import (
    LARGEST,
    alias,
    between,
    binned,
    case,
    constant,
    day,
    field,
    grouped,
    later,
    listed,
    named,
    number,
    one_of,
    table,
    together,
)

__all__ = ["one_row_a_person"]

FIRST_YEAR: Final = 1800
LAST_YEAR: Final = 2200
"""Beyond these there is no year of birth."""

_DEMOGRAPHICS: Final = {
    "gender": "gender_concept_id",
    "race": "race_concept_id",
    "ethnicity": "ethnicity_concept_id",
    "year-of-birth": "year_of_birth",
}

_MEMBER: Final = "m"
_RECORD: Final = "r"


def one_row_a_person(features: Features, *, schema: str) -> exp.Select:
    """Compile features into one SELECT with a column ``person_id`` and one for every feature, in order.

    ``schema`` is where the tables of the data model lie.
    """
    features.require_lists()
    return _Compiler(features, schema).select()


@dataclass(frozen=True)
class _Compiler:
    """Builds the SELECT from the bottom up; each method is one of its named parts."""

    features: Features
    schema: str

    @cached_property
    def offsets(self) -> dict[int, str]:
        """The days that windows begin and end on, from the index date, and the column of ``members`` with each."""
        found = {days for feature in self.features.features for days in feature.window or ()}
        return {days: f"day_{place}" for place, days in enumerate(sorted(found))}

    @cached_property
    def looked_at(self) -> dict[str, tuple[CdmTable, list[tuple[int, Feature]]]]:
        """The tables of records, each with the features that look at it and their places."""
        found: dict[str, tuple[CdmTable, list[tuple[int, Feature]]]] = {}
        for place, feature in enumerate(self.features.features):
            records = DEATH if feature.kind == "died" else RECORDS.get(feature.table or "")
            if records is not None:
                found.setdefault(records.name, (records, []))[1].append((place, feature))
        return found

    def select(self) -> exp.Select:
        """Put all parts together."""
        found: list[exp.Expr] = [named(field(_MEMBER, PERSON_ID), PERSON_ID)]
        found += [
            named(self.told(place, feature), feature.name) for place, feature in enumerate(self.features.features)
        ]
        whole = listed(found, exp.to_table("members").as_(_MEMBER))
        for name in self.looked_at:
            part = f"of_{name}"
            whole = whole.join(
                part, on=field(part, PERSON_ID).eq(field(_MEMBER, PERSON_ID)), join_type="left", copy=False
            )
        for name, part_of in self.parts():
            whole = whole.with_(name, as_=part_of, copy=False)
        return whole

    def parts(self) -> Iterator[tuple[str, exp.Select]]:
        """Yield what the SELECT is made of, each part after those that it names."""
        yield "persons", self.persons()
        yield "entries", self.entries()
        yield "members", self.members()
        for name, (records, looking) in self.looked_at.items():
            yield f"hits_{name}", self.hits(records, looking)
            latest = [place for place, feature in looking if feature.kind == "latest"]
            if latest:
                yield f"dated_{name}", self.dated(name, looking)
            yield f"of_{name}", self.counted(f"dated_{name}" if latest else f"hits_{name}", looking)

    def persons(self) -> exp.Select:
        """One row a person, whatever the table holds: of several rows the least of every column."""
        columns = dict.fromkeys(
            [
                *(_DEMOGRAPHICS[one.kind] for one in self.features.features if one.kind in _DEMOGRAPHICS),
                *(["year_of_birth"] if self.has_age else []),
            ]
        )
        found = [field(_RECORD, PERSON_ID), *(alias(exp.Min(this=field(_RECORD, name)), name) for name in columns)]
        return (
            listed(found, table("person", schema=self.schema).as_(_RECORD))
            .where(_there(field(_RECORD, PERSON_ID)), copy=False)
            .group_by(field(_RECORD, PERSON_ID), copy=False)
        )

    @property
    def has_age(self) -> bool:
        """Whether anything asks for the age."""
        return self.features.cohort.age is not None or any(one.kind == "age" for one in self.features.features)

    def entries(self) -> exp.Select:
        """Everybody who has an index date, with it."""
        cohort = self.features.cohort
        fixed = None if cohort.date is None else day(cohort.date)
        if cohort.table is None or cohort.concepts is None:
            return listed(
                [field("persons", PERSON_ID), alias(fixed or exp.null(), "index_date")], exp.to_table("persons")
            )
        records = RECORDS[cohort.table]
        own = field(_RECORD, records.day)
        first, last = (FIRST_DAY, cohort.date) if cohort.date else cohort.between
        if cohort.index == "first-ever":
            first, last = FIRST_DAY, LAST_DAY
        found = (
            listed(
                [field(_RECORD, PERSON_ID), alias(fixed or exp.Min(this=own), "index_date")],
                table(records.name, schema=self.schema).as_(_RECORD),
            )
            .where(one_of(field(_RECORD, records.concept or ""), self.features.ids(cohort.concepts)), copy=False)
            .where(between(own.copy(), day(first), day(last)), copy=False)
            .group_by(field(_RECORD, PERSON_ID), copy=False)
        )
        if cohort.index == "first-ever" and cohort.between != (FIRST_DAY, LAST_DAY):
            found = found.having(between(exp.Min(this=own.copy()), *map(day, cohort.between)), copy=False)
        return found

    def members(self) -> exp.Select:
        """The cohort: who has an index date and is asked for, with what is known of the person and of the days."""
        cohort = self.features.cohort
        index = field("e", "index_date")
        age = exp.Sub(
            this=exp.Extract(this=exp.var("YEAR"), expression=index.copy()),
            expression=_year(field("p", "year_of_birth")),
        )
        own = [_DEMOGRAPHICS[one.kind] for one in self.features.features if one.kind in _DEMOGRAPHICS]
        found: list[exp.Expr] = [
            field("p", PERSON_ID),
            *(
                alias(_year(field("p", name)) if name == "year_of_birth" else field("p", name), name)
                for name in dict.fromkeys(own)
            ),
            *([alias(age, "age")] if self.has_age else []),
            *(alias(later(index.copy(), days), name) for days, name in self.offsets.items()),
        ]
        selected = (
            listed(found, exp.to_table("persons").as_("p"))
            .join(exp.to_table("entries").as_("e"), on=field("e", PERSON_ID).eq(field("p", PERSON_ID)), copy=False)
            .where(self.observed(index), copy=False)
        )
        if cohort.age is not None:
            selected = selected.where(between(age.copy(), *map(constant, cohort.age)), copy=False)
        if cohort.alive:
            dead = self.rows_of(DEATH.name, "d").where(
                exp.LT(this=field("d", DEATH.day), expression=index.copy()), copy=False
            )
            selected = selected.where(exp.Not(this=exp.Exists(this=dead)), copy=False)
        return selected

    def observed(self, index: exp.Expr) -> exp.Expr:
        """Tell whether one observation period of the person reaches as far as the cohort asks."""
        cohort = self.features.cohort
        covering = (
            self.rows_of("observation_period", "o")
            .where(
                exp.LTE(
                    this=field("o", "observation_period_start_date"),
                    expression=later(index.copy(), -cohort.prior_days),
                ),
                copy=False,
            )
            .where(
                exp.GTE(
                    this=field("o", "observation_period_end_date"),
                    expression=later(index.copy(), cohort.follow_up_days),
                ),
                copy=False,
            )
        )
        return exp.Exists(this=covering)

    def rows_of(self, name: str, known_as: str) -> exp.Select:
        """Select the rows of the person ``p`` in a table."""
        return listed([constant(1)], table(name, schema=self.schema).as_(known_as)).where(
            field(known_as, PERSON_ID).eq(field("p", PERSON_ID)), copy=False
        )

    def hits(self, records: CdmTable, looking: Sequence[tuple[int, Feature]]) -> exp.Select:
        """The records of members that any feature looks at, with what each feature sees of them."""
        found: list[exp.Expr] = [field(_MEMBER, PERSON_ID)]
        for place, feature in looking:
            seen = together(self.sees(records, feature))
            own = field(_RECORD, records.day)
            if feature.kind == "latest":
                found.append(alias(case([(seen, own)], None), f"day_of_{place}"))
                found.append(alias(case([(seen.copy(), _value(feature))], None), f"value_of_{place}"))
            else:
                found.append(
                    alias(case([(seen, own if feature.kind == "days" else constant(1))], None), f"hit_{place}")
                )
        windows = [feature.window for _, feature in looking if feature.window is not None]
        first, last = min(low for low, _ in windows), max(high for _, high in windows)
        selected = (
            listed(found, exp.to_table("members").as_(_MEMBER))
            .join(
                table(records.name, schema=self.schema).as_(_RECORD),
                on=field(_RECORD, PERSON_ID).eq(field(_MEMBER, PERSON_ID)),
                copy=False,
            )
            .where(self.within(records, (first, last)), copy=False)
        )
        if records.concept is not None:
            ids = [one for _, feature in looking for one in self.features.ids(feature.concepts or "")]
            selected = selected.where(one_of(field(_RECORD, records.concept), ids), copy=False)
        return selected

    def within(self, records: CdmTable, window: tuple[int, int]) -> exp.Expr:
        """Tell whether a record lies within a window."""
        return between(field(_RECORD, records.day), *(field(_MEMBER, self.offsets[days]) for days in window))

    def sees(self, records: CdmTable, feature: Feature) -> Iterator[exp.Expr]:
        """Yield what a record must be for a feature to look at it."""
        if records.concept is not None:
            yield one_of(field(_RECORD, records.concept), self.features.ids(feature.concepts or ""))
        if feature.window is not None:
            yield self.within(records, feature.window)
        if feature.kind == "latest" and feature.groups:
            yield _there(field(_RECORD, ANSWER))
        elif feature.kind == "latest":
            yield one_of(exp.Coalesce(this=field(_RECORD, UNIT), expressions=[constant(0)]), feature.units)
            yield between(field(_RECORD, NUMBER), number(-LARGEST), number(LARGEST))

    def dated(self, name: str, looking: Sequence[tuple[int, Feature]]) -> exp.Select:
        """The same records, with the last day that each feature of a latest value sees of the person."""
        found: list[exp.Expr] = [field(_RECORD, PERSON_ID)]
        for place, feature in looking:
            if feature.kind != "latest":
                found.append(field(_RECORD, f"hit_{place}"))
                continue
            last = exp.Window(
                this=exp.Max(this=field(_RECORD, f"day_of_{place}")), partition_by=[field(_RECORD, PERSON_ID)]
            )
            found += [field(_RECORD, f"day_of_{place}"), field(_RECORD, f"value_of_{place}")]
            found.append(alias(last, f"last_of_{place}"))
        return listed(found, exp.to_table(f"hits_{name}").as_(_RECORD))

    def counted(self, name: str, looking: Sequence[tuple[int, Feature]]) -> exp.Select:
        """One row for each person who has such records, with what they come to."""
        found: list[exp.Expr] = [field(_RECORD, PERSON_ID)]
        for place, feature in looking:
            hit = field(_RECORD, f"hit_{place}")
            value: exp.Expr
            if feature.kind == "latest":
                on_last = field(_RECORD, f"day_of_{place}").eq(field(_RECORD, f"last_of_{place}"))
                values = case([(on_last, field(_RECORD, f"value_of_{place}"))], None)
                value = exp.Min(this=values) if feature.groups else exp.Max(this=values)
            elif feature.kind == "days":
                value = exp.Count(this=exp.Distinct(expressions=[hit]))
            else:
                value = exp.Count(this=hit)
            found.append(alias(value, f"value_{place}"))
        return listed(found, exp.to_table(name).as_(_RECORD)).group_by(field(_RECORD, PERSON_ID), copy=False)

    def told(self, place: int, feature: Feature) -> exp.Expr:
        """What leaves the database of a feature: a public constant, or NULL where a value is missing."""
        if feature.kind in _CONCEPTS:
            column = field(_MEMBER, _DEMOGRAPHICS[feature.kind])
            return grouped(column, feature.groups, other=constant(OTHER), labels=True)
        if feature.kind in ("age", "year-of-birth"):
            column = field(_MEMBER, "age" if feature.kind == "age" else "year_of_birth")
            return binned(column, feature.bins, whole=True, exact=feature.exact)
        records = self.looked_at_by(feature)
        value = field(f"of_{records}", f"value_{place}")
        return _TOLD[feature.kind](value, feature)

    def looked_at_by(self, feature: Feature) -> str:
        """Return the table of records that a feature looks at."""
        return DEATH.name if feature.kind == "died" else feature.table or ""


_CONCEPTS: Final = ("gender", "race", "ethnicity")


def _there(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value, expression=exp.Not(this=exp.null()))


def _year(value: exp.Expr) -> exp.Expr:
    """Return a year of birth that can be one, so that no sum with it goes beyond what a database can hold."""
    return case([(between(value, constant(FIRST_YEAR), constant(LAST_YEAR)), value.copy())], None)


def _value(feature: Feature) -> exp.Expr:
    """Return the value of a record: a number, or the place of its concept's group, behind all for any other."""
    if not feature.groups:
        return field(_RECORD, NUMBER)
    other = constant(len(feature.groups))
    return grouped(field(_RECORD, ANSWER), feature.groups, other=other, labels=False)


def _tell_any(value: exp.Expr, _: Feature) -> exp.Expr:
    return case([(exp.GT(this=value, expression=constant(0)), constant(YES))], constant(NO))


def _tell_count(value: exp.Expr, feature: Feature) -> exp.Expr:
    return binned(exp.Coalesce(this=value, expressions=[constant(0)]), feature.bins, whole=True, exact=feature.exact)


def _tell_latest(value: exp.Expr, feature: Feature) -> exp.Expr:
    if not feature.groups:
        return binned(value, feature.bins, whole=False, exact=feature.exact)
    labels = [*(label for label, _ in feature.groups), OTHER]
    return case(
        [(value.copy().eq(constant(place)), constant(label)) for place, label in enumerate(labels)],
        None,
    )


_TOLD: Final[Mapping[str, Callable[[exp.Expr, Feature], exp.Expr]]] = {
    "any": _tell_any,
    "died": _tell_any,
    "count": _tell_count,
    "days": _tell_count,
    "latest": _tell_latest,
}
