"""Which attribute a draft suggests for a column, by what was seen of it; and why it leaves one out."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from typing import Final

import polars as pl

from panbayes.schema.attribute import Attribute
from panbayes.schema.dates import DATE, Shape
from panbayes.schema.domains import Scalar
from panbayes.schema.toml_writer import toml_value
from panbayes.tables.draft_summary import KEPT, SHAPES, ColumnSummary
from panbayes.tables.numbers import as_numbers

__all__ = ["BINS", "FEW", "OPEN", "choose", "person_column"]

FEW: Final = 20
"""Up to so many distinct numbers become categories, more become bins."""

OPEN: Final = 5
"""More texts than that get ``other``: a longer list is hardly ever complete."""

BINS: Final = 20
"""About so many equal-width bins are suggested."""

_ODD: Final = 0.05
"""This share of a column of numbers or dates may be words: they count as missing."""

_WORDS: Final = 5
"""If there are no more words than these, they may be up to half of a column of numbers, such as a dot in each gap."""

_ALIKE: Final = 0.9
"""This share of a column's values must look like codes of a list for the list to be suggested."""

LETTERS: Final = 3
"""Codes of a column whose name says nothing must begin with so many different letters."""

_BIRTH: Final = re.compile(r"(?i)birth|born|(^|[_\W])dob|geburt|geboren|gebdat|naissance|nacimiento|nascita")
_DIAGNOSIS: Final = re.compile(r"(?i)diag|icd|(^|[_\W])dx")
_MEDICINE: Final = re.compile(r"(?i)atc|drug|medic")
_CODES: Final = (
    ("atc-groups", re.compile(r"(?i)[A-Z][0-9]{2}[A-Z]([A-Z]([0-9]{2})?)?"), _MEDICINE),
    ("icd10-chapters", re.compile(r"(?i)[A-Z][0-9][0-9A-Z](\.[0-9A-Z]{1,4}|[0-9]{1,4})?[+*!]?"), _DIAGNOSIS),
    ("icd9-chapters", re.compile(r"(?i)(V[0-9]{2}|E[0-9]{3}|[0-9]{1,3})(\.?[0-9]{1,2})?"), _DIAGNOSIS),
)
_WITH_UNIT: Final = re.compile(
    r"[<>≤≥~]?\s*[+-]?[0-9]+([.,][0-9]+)?\s*(%|[^\W\d_][^\d\s]{0,9})|[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?"
)
_PERSON: Final = re.compile(
    r"(?i)(^|[_\W])(pat(ient(en)?)?|person|subject|pid|mrn|nhs|member|participant|client|proband|pseudonym)"
    r"([_\W]?(id|nr|no|num|number|nummer|key|code))?$|(patient|person|subject|member|participant)[_\W]?(id|nr|no|number|key)"
    r"|^(id|u?subjid)$"
)


def person_column(seen: ColumnSummary) -> bool:
    """Tell whether a column seems to say whom a record belongs to: by its name, and because its values come again."""
    return _PERSON.search(seen.name) is not None and seen.repeats and len(seen.values) > FEW


def choose(seen: ColumnSummary, *, other: bool, decimal_comma: bool, today: dt.date) -> tuple[Attribute | None, str]:
    """Propose an attribute and a remark about it, which may be empty; or None and why the column is left out."""
    missing = seen.missing > 0
    if seen.present == 0:
        return None, "every value is missing"
    if (name := _list_of(seen)) is not None:
        attribute, remark = (
            Attribute(seen.name, mapping=name),
            f'values look like codes of the list "{name}": are they?',
        )
        other = True
    elif seen.dates >= (1 - _ODD) * seen.present or (seen.dates and len(seen.values) > FEW and _alike(seen, DATE)):
        attribute, remark = _dates(seen, today)
        missing |= seen.dates < seen.present
    elif (why := _other_dates(seen)) is not None:
        return None, why
    elif _numbers_and_words(seen, decimal_comma=decimal_comma):
        attribute, remark = _bins(seen, words=_words(seen, decimal_comma=decimal_comma))
        missing |= seen.numbers < seen.present
    elif seen.many:
        return None, _units(seen) or f"{KEPT} distinct texts or more: an identifier or free text?"
    else:
        attribute, remark = _categories(seen, decimal_comma=decimal_comma)
        other |= not attribute.numeric and len(seen.values) > OPEN
    # Where values are not listed one by one, there are always some that cannot be read.
    missing |= not attribute.categories
    labels = (_free_label("other", seen) if other else None, _free_label("missing", seen) if missing else None)
    return replace(attribute, other=labels[0], missing=labels[1], drafted=True), remark


def _free_label(label: str, seen: ColumnSummary) -> str:
    """Avoid a label that is also a value."""
    return f"({label})" if label in seen.labels_taken else label


def _list_of(seen: ColumnSummary) -> str | None:
    """Name the public list that most values look like codes of."""
    if len(seen.values) <= FEW:
        return None
    for name, pattern, column in _CODES:
        alike = sum(pattern.fullmatch(text) is not None for text in seen.values)
        # An id such as p123 looks like a code too, but its letter hardly changes.
        letters = {text[:1].upper() for text in seen.values if text[:1].isalpha()}
        if alike >= _ALIKE * len(seen.values) and (column.search(seen.name) or len(letters) >= LETTERS):
            return name
    return None


def _other_dates(seen: ColumnSummary) -> str | None:
    """Say how dates are written that are not as ISO 8601 has them."""
    few = len(seen.values) <= FEW
    ways = [*seen.formats] or [form for form, shape in SHAPES.items() if not few and _alike(seen, shape)]
    if ways:
        shown = " or ".join(f'"{form}"' for form in ways)
        unsure = ", only you can know which" if len(ways) > 1 else ""
        return f"dates, but not ISO 8601: declare a period, or age_at and bins, and format = {shown}{unsure}"
    if not few and _alike(seen, DATE, *SHAPES.values()):
        return "dates that are written in several ways: write them in one, best as 2024-12-31"
    return None


def _alike(seen: ColumnSummary, *ways: Shape) -> bool:
    """Tell whether most values are dates that are written in one of some ways."""
    dates = sum(any(way.read(text) is not None for way in ways) for text in seen.values)
    return dates >= _ALIKE * len(seen.values)


def _words(seen: ColumnSummary, *, decimal_comma: bool) -> list[str]:
    """Return the values that are no numbers, as far as they are known."""
    texts = pl.Series(sorted(seen.values), dtype=pl.String)
    return texts.filter(as_numbers(texts, decimal_comma=decimal_comma).is_null()).to_list()


def _numbers_and_words(seen: ColumnSummary, *, decimal_comma: bool) -> bool:
    """Tell whether a column holds many numbers, and words in some of the gaps."""
    words = len(_words(seen, decimal_comma=decimal_comma))
    least = 0.5 if words <= _WORDS else 1 - _ODD
    return seen.number_like and len(seen.values) - words > FEW and seen.numbers >= least * seen.present


def _units(seen: ColumnSummary) -> str:
    """Say that most values are numbers with something around them, if they are."""
    found = sorted(text for text in seen.values if _WITH_UNIT.fullmatch(text))
    if len(seen.values) <= FEW or len(found) < _ALIKE * len(seen.values):
        return ""
    return f"numbers with a unit, such as {toml_value(found[0])}? Write the number alone, and it gets bins"


def _dates(seen: ColumnSummary, today: dt.date) -> tuple[Attribute, str]:
    rest = "; some values are no dates, and count as missing" if seen.dates < seen.present else ""
    if _BIRTH.search(seen.name):
        at = today.replace(month=1, day=1).isoformat()
        ages = Attribute(seen.name, age_at=at, bins=tuple(range(0, 121, 10)))
        return ages, f"ages, if these are dates of birth{rest}"
    days = (seen.last - seen.first).days
    period = "day" if days < 62 else "month" if days < 5 * 366 else "quarter" if days < 15 * 366 else "year"
    between = (seen.first.isoformat(), seen.last.isoformat())
    return Attribute(seen.name, period=period, between=between), f"between the extremes of the data{rest}"


def _bins(seen: ColumnSummary, *, words: list[str]) -> tuple[Attribute, str]:
    attribute = Attribute(seen.name, bins=_equal_bins(seen.low, seen.high, whole=seen.whole))
    remark = "many numbers, cut into equal bins between the extremes of the data"
    if not seen.repeats:
        remark += "; all different: an identifier? Then remove it"
    if seen.numbers < seen.present:
        such = f", such as {toml_value(words[0][:20])}" if words else ""
        remark += f"; some values are no numbers{such}, and count as missing"
    return attribute, remark


def _categories(seen: ColumnSummary, *, decimal_comma: bool) -> tuple[Attribute, str]:
    texts = sorted(seen.values)
    remark = "one value only: it carries no information, consider removing it" if len(texts) == 1 else ""
    if seen.boolean:
        return Attribute(seen.name, categories=(False, True)), remark
    categories: tuple[Scalar, ...] = tuple(texts)
    if seen.number_like and seen.numbers == seen.present:
        numbers = sorted(set(as_numbers(pl.Series(texts), decimal_comma=decimal_comma).to_list()))
        if len(numbers) > FEW:
            return _bins(seen, words=[])
        categories = tuple(int(number) if number.is_integer() else number for number in numbers)
    return Attribute(seen.name, categories=categories), remark or _units(seen)


def _equal_bins(low: float, high: float, *, whole: bool) -> tuple[int | float, ...]:
    """Cut [low, high] into about twenty bins of one round width.

    >>> _equal_bins(3, 997, whole=True)[:4]
    (0, 50, 100, 150)
    """
    rough = Decimal((high - low) / BINS)
    magnitude = Decimal(1).scaleb(rough.adjusted())
    width = next(step * magnitude for step in map(Decimal, ("1", "2", "2.5", "5", "10")) if step * magnitude >= rough)
    if whole:
        width = width.to_integral_value(ROUND_CEILING)
    first, last = math.floor(Decimal(low) / width), math.ceil(Decimal(high) / width)
    edges = [k * width for k in range(first, max(last, first + 1) + 1)]
    return tuple(int(edge) if whole else float(edge) for edge in edges)
