"""Who is learned about, and each person's index date: the day that windows of days are reckoned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, get_args

from panbayes.errors import InputError
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.schema.omop.cdm import FIRST_DAY, LAST_DAY, RECORDS
from panbayes.schema.omop.feature_kinds import MOST_DAYS, day, days, pair

__all__ = ["MOST_AGE", "Cohort", "Index"]

Index: TypeAlias = Literal["first", "first-ever", "date"]

MOST_AGE: Final = 150


@dataclass(frozen=True, slots=True)
class Cohort:
    """Who belongs to the cohort, by each person's own records alone.

    The index date is

    * ``first``: the day of the first record of ``concepts`` in ``table`` that lies within ``between``;
    * ``first-ever``: the day of the first such record of all; somebody whose first record lies beyond ``between`` is
      not in the cohort;
    * ``date``: the public ``date`` for everybody; where ``concepts`` are given, those are in the cohort who have such
      a record on that day or before.

    A record before 1900 or after 2099 does not count: that is how unknown days are written. Who has no index date is
    not in the cohort. The rest is asked of the index date: that one observation period reaches from ``prior_days``
    before it to ``follow_up_days`` after it, that the age is within ``age``, and with ``alive`` that no death is
    recorded before it.
    """

    index: Annotated[
        Index,
        Key(
            kinds.choice(get_args(Index)),
            "the day that windows are reckoned from: that of a person's first record of `concepts` in `table` within "
            "`between`; that of the first of all, which must lie within `between`; or the public `date`",
        ),
    ]
    table: Annotated[str | None, Key(kinds.choice(tuple(RECORDS)), "the table of the records that make the cohort")] = (
        None
    )
    concepts: Annotated[
        str | None,
        Key(
            kinds.text("the name of a concept set"),
            "the concept set of the records that make the cohort; with `date` such a record on that day or before, "
            "or nothing for everybody who is observed",
        ),
    ] = None
    date: Annotated[str | None, Key(day(), 'everybody\'s index date, where `index = "date"`')] = None
    between: Annotated[
        tuple[str, str],
        Key(days(), "the first and the last day that an index date may be"),
    ] = (FIRST_DAY, LAST_DAY)
    age: Annotated[
        tuple[int, int] | None,
        Key(
            pair("two ages, such as [18, 120]"),
            "the least and the greatest age: the year of the index date less the year of birth",
            default="any age",
        ),
    ] = None
    prior_days: Annotated[
        int,
        Key(kinds.whole_number("days, such as 365"), "so many days before the index date must have been observed"),
    ] = 0
    follow_up_days: Annotated[
        int,
        Key(
            kinds.whole_number("days, such as 30"),
            "so many days after the index date must have been observed; who dies within them is then left out, as a "
            "rule, because an observation period ends with death",
        ),
    ] = 0
    alive: Annotated[
        bool, Key(kinds.flag(), "whether those are left out whose death is recorded before the index date")
    ] = False

    def __post_init__(self) -> None:
        """Check what belongs together."""
        fixed = self.index == "date"
        if fixed != (self.date is not None):
            raise InputError(
                "cohort.date",
                found="is missing" if fixed else f'is given beside index = "{self.index}"',
                remedy='add date = "2024-01-01"' if fixed else 'leave it out, or give index = "date"',
            )
        if (self.table is None) != (self.concepts is None) or (self.concepts is None and not fixed):
            key = "concepts" if self.concepts is None else "table"
            raise InputError(f"cohort.{key}", found="is missing", remedy="give both table and concepts")
        if fixed and self.between != (FIRST_DAY, LAST_DAY):
            raise InputError("cohort.between", found='is given beside index = "date"', remedy="leave it out")
        if self.between[0] > self.between[1]:
            raise InputError(
                "cohort.between",
                found=f"found {self.between[0]} to {self.between[1]}",
                remedy="give the earlier day first",
            )
        if self.age is not None and not 0 <= self.age[0] <= self.age[1] <= MOST_AGE:
            raise InputError(
                "cohort.age",
                found=f"found {list(self.age)}",
                remedy=f"give two ages of 0 to {MOST_AGE}, the lower first",
            )
        for key in ("prior_days", "follow_up_days"):
            if not 0 <= getattr(self, key) <= MOST_DAYS:
                raise InputError(
                    f"cohort.{key}", found=f"found {getattr(self, key)}", remedy=f"give 0 to {MOST_DAYS} days"
                )
