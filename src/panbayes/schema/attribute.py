"""Attributes and their public domains: which values a column may hold, and the code of each.

An attribute has one of these domains:

* ``categories``: texts, numbers or booleans;
* ``bins`` of numbers (k+1 edges make k bins ``[a, b)``, the last one closed), or of ages at the date ``age_at``, where
  the column holds dates of birth;
* a ``period`` of a calendar (:mod:`panbayes.schema.periods`), where it holds dates;
* the groups of a public ``mapping`` of codes (:mod:`panbayes.schema.code_map`).

It may declare two further values:

* ``other``: where a value outside the schema goes. Without it, such a value falls into the last category or group, or
  into the end bin or period on its side.
* ``missing``: where a missing value goes, and what is no number or date where one belongs. Without it, a missing value
  becomes the constant ``impute``; without that too it counts as a value outside the schema.

So every value of every file has a code, and encoding never fails in a way that depends on the data. Code order:
categories, bins, periods or groups, then ``other``, then ``missing``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Final

from panbayes.errors import InputError, nearest
from panbayes.schema import domain_kinds, kinds
from panbayes.schema.code_map import CodeMap
from panbayes.schema.declaration import Key
from panbayes.schema.domains import Bins, Categories, Domain, Scalar, label_text
from panbayes.schema.periods import PERIODS, Ages, Periods, reference_date
from panbayes.schema.public_list import public_lists

__all__ = ["MAX_SIZE", "Attribute"]

MAX_SIZE: Final = 65_536
"""The largest domain of one attribute (codes are 8 or 16 bits)."""

SHOWN: Final = 8
"""So many values of a domain are shown at a prompt."""

_DOMAINS: Final = ("categories", "bins", "period", "mapping")


@dataclass(frozen=True)
class Attribute:
    """One attribute: its name and its public domain.

    >>> age = Attribute("age", bins=(0, 40, 65, 120), missing="missing")
    >>> age.size, age.labels
    (4, ('[0, 40)', '[40, 65)', '[65, 120]', 'missing'))
    >>> age.code_of("70"), age.code_of("[0, 40)")
    (2, 0)
    """

    name: Annotated[str, Key(kinds.text("the name of the column"), "the name of the column")]
    categories: Annotated[
        tuple[Scalar, ...],
        Key(
            kinds.list_of((str, int, float, bool), "texts, numbers or booleans"),
            "the values it may have; either these, or `bins`, a `period` or a `mapping`",
        ),
    ] = ()
    bins: Annotated[
        tuple[int | float, ...],
        Key(
            domain_kinds.edges(),
            "edges of intervals that include their lower edge, the last one also its upper; where all are written as "
            "whole numbers (15, not 15.0), whole numbers are drawn",
        ),
    ] = ()
    other: Annotated[
        str | None,
        Key(
            kinds.label("other"),
            "a further value for whatever lies outside the schema; without it that falls into the last category or "
            "group, or into the end bin or period on its side",
        ),
    ] = None
    missing: Annotated[
        str | None,
        Key(
            kinds.label("missing"),
            "a further value for whatever is missing, and for what is no number or date where one belongs",
        ),
    ] = None
    impute: Annotated[
        Scalar | None,
        Key(
            kinds.scalar("one value inside the schema"),
            "the value that a missing one gets, instead of `missing`; without either it counts as outside the schema",
        ),
    ] = None
    drafted: Annotated[
        bool | None,
        Key(
            kinds.flag(),
            "that the values were read off private data: a draft's mark; remove the line when you have put in their "
            "place what is publicly known",
            shared=False,
            added=True,
        ),
    ] = field(default=None, compare=False)
    period: Annotated[
        str | None,
        Key(kinds.choice(PERIODS), "that the values are dates, which are put together by this period", added=True),
    ] = None
    between: Annotated[
        tuple[str, ...],
        Key(
            domain_kinds.bounds(),
            "the first and the last period; dates beyond lie outside the schema. Weekdays and hours have none",
            added=True,
        ),
    ] = ()
    age_at: Annotated[
        str | None,
        Key(
            domain_kinds.day(),
            "that the values are dates of birth, and `bins` are completed years at this date",
            added=True,
        ),
    ] = None
    format: Annotated[
        str | None,
        Key(
            kinds.text('a format such as "%d.%m.%Y"'),
            "how dates are written, beside ISO 8601; what is no date is missing",
            added=True,
        ),
    ] = None
    mapping: Annotated[
        CodeMap | str | None,
        Key(
            domain_kinds.mapping(),
            "public groups that the values, which are codes, are put together into",
            added=True,
        ),
    ] = None

    proposed: Annotated[
        str | None,
        Key(
            kinds.text("what it cost"),
            "that the values were proposed privately from records, and what that cost, as `panbayes schema bounds` and "
            "`panbayes schema categories` write it: they are released, and need no public source",
            shared=False,
            added=True,
        ),
    ] = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Check everything that could make a code ambiguous; lists are taken as the tuples they stand for."""
        for key in ("categories", "bins", "between"):
            if isinstance(getattr(self, key), str):
                raise self._error(key, "found a text", "give a list of values")
            object.__setattr__(self, key, tuple(getattr(self, key)))
        if not self.name.strip():
            raise InputError("name", found="found an empty name", remedy="give the name of the column")
        self._check_keys()
        try:
            self._settle()
        except InputError as error:
            raise self._error(error.argument, error.found, error.remedy) from None
        (key,) = self._declared
        if self.size > MAX_SIZE:
            raise self._error(key, f"found {self.size} values", f"at most {MAX_SIZE} are allowed")
        if len(set(self.labels)) != self.size:
            twice = Counter(self.labels).most_common(1)[0][0]
            raise self._error(key, f'found the value "{twice}" twice', "give every value one name")
        if self.impute is not None:
            if self.missing is not None:
                raise self._error("impute", "found both missing and impute", "give one of the two")
            if self.domain.inside(self.impute) is None:
                raise self._error("impute", f"found {self.impute!r}", "give a value inside the schema")

    def _error(self, key: str, found: str, remedy: str) -> InputError:
        return InputError(f'attribute "{self.name}", {key}', found=found, remedy=remedy)

    @property
    def _declared(self) -> tuple[str, ...]:
        """The keys that say what the domain is."""
        return tuple(key for key in _DOMAINS if getattr(self, key))

    def _check_keys(self) -> None:
        """Check that keys say one domain, and no key says nothing."""
        declared = self._declared
        if not declared:
            raise InputError(
                f'attribute "{self.name}"',
                found="found neither categories nor bins",
                remedy="give categories, bins, a period or a mapping",
            )
        if len(declared) > 1:
            raise self._error(declared[0], f"found both {declared[0]} and {declared[1]}", "give one of the two")
        if self.age_at is not None and not self.bins:
            raise self._error("age_at", "found no bins", "give bins in years")
        if self.between and not self.period:
            raise self._error("between", "found no period", "give a period, or remove the bounds")
        if self.format is not None and not self.period and self.age_at is None:
            raise self._error(
                "format", "found neither a period nor age_at", "give one of the two, or remove the format"
            )

    def _settle(self) -> None:
        """Put what can be written in several ways into one, and build the domain."""
        if isinstance(self.mapping, str):
            known = public_lists()
            if self.mapping not in known:
                raise InputError("mapping", found=f'found "{self.mapping}"', remedy=nearest(self.mapping, known))
            object.__setattr__(self, "mapping", known[self.mapping].groups)
        if self.age_at is not None:
            object.__setattr__(self, "age_at", reference_date(self.age_at))
        if self.between:
            object.__setattr__(self, "between", tuple(map(str, self.between)))
        if isinstance(self.domain, Periods):
            object.__setattr__(self, "between", self.domain.bounds)

    @cached_property
    def domain(self) -> Domain:
        """The values that have a code of their own, beside ``other`` and ``missing``."""
        if isinstance(self.mapping, CodeMap):
            return self.mapping
        if self.period is not None:
            return Periods(self.period, self.between, self.format)
        if self.age_at is not None:
            return Ages(self.age_at, self.bins, self.format)
        return Bins(self.bins) if self.bins else Categories(self.categories)

    @property
    def numeric(self) -> bool:
        """Whether values are compared as numbers: bins, or categories that are all numbers."""
        return isinstance(self.domain, Bins) or (isinstance(self.domain, Categories) and self.domain.numeric)

    @property
    def ordered(self) -> bool:
        """Whether values that are beside each other are like each other: numbers, and periods."""
        return self.domain.ordered

    @property
    def numbers(self) -> tuple[float, ...]:
        """The number that each category or bin stands for, a bin's middle; nothing if values are not numeric.

        >>> Attribute("age", bins=(0, 40, 120), missing="missing").numbers
        (20.0, 80.0)
        """
        return self.domain.numbers

    @property
    def boolean(self) -> bool:
        """Whether the categories are false and true, which texts may spell in any case."""
        return isinstance(self.domain, Categories) and self.domain.boolean

    @property
    def regular(self) -> int:
        """The number of categories, bins, periods or groups, without ``other`` and ``missing``."""
        return len(self.domain.labels)

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.regular + (self.other is not None) + (self.missing is not None)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The text each code is known by, in code order."""
        return (*self.domain.labels, *(label for label in (self.other, self.missing) if label is not None))

    @property
    def other_code(self) -> int | None:
        """The code of ``other``, if declared."""
        return self.regular if self.other is not None else None

    @property
    def missing_code(self) -> int:
        """The code a missing value gets: ``missing``, else ``impute``'s, else that of an outside value."""
        if self.missing is not None:
            return self.size - 1
        inside = None if self.impute is None else self.domain.inside(self.impute)
        return self.outside_code if inside is None else inside

    @property
    def outside_code(self) -> int:
        """The code of a value outside the schema that lies on neither side of the bins."""
        return self.regular if self.other is not None else self.regular - 1

    def code_of(self, value: Scalar) -> int | None:
        """Return the code of a label, or of a value inside the schema; None if there is none.

        For questions that people ask (evidence, targets): unlike encoding, nothing falls into ``other``.
        """
        text = label_text(value)
        if text in self.labels:
            return self.labels.index(text)
        return self.domain.inside(value)

    def index(self, value: Scalar, *, argument: str = "value") -> int:
        """Return the code of a label or of a value inside the schema, or complain about ``argument``."""
        code = self.code_of(value)
        if code is None:
            text = label_text(value)
            raise InputError(
                argument, found=f'"{text}" is not a value of "{self.name}"', remedy=nearest(text, self.labels)
            )
        return code

    def __repr__(self) -> str:
        """Show the declaration, with a few of its values."""
        (key,) = self._declared
        values = self.bins or self.categories or self.domain.labels
        shown = ", ".join(map(repr, values[:SHOWN])) + ("," if len(values) == 1 else "")
        shown += f", … {len(values) - SHOWN} more" if len(values) > SHOWN else ""
        further = {
            "between": self.between or None,
            "age_at": self.age_at,
            "format": self.format,
            "other": self.other,
            "missing": self.missing,
            "impute": self.impute,
        }
        parts = [repr(self.name), f"{key}={self.period!r}" if key == "period" else f"{key}=({shown})"]
        parts += [f"{key}={value!r}" for key, value in further.items() if value is not None]
        return f"Attribute({', '.join(parts)})"
