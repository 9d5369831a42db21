"""What the keys of a domain may take: edges or how to reckon them, bounds and days of a calendar, a mapping of codes.

Whatever can be written in several ways becomes one value on reading, so that a hash depends on what was meant alone.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from typing import Any, Final

from panbayes.errors import InputError
from panbayes.schema.code_map import CodeMap
from panbayes.schema.declaration import Kind
from panbayes.schema.domains import is_number
from panbayes.schema.map_files import read_map
from panbayes.schema.periods import reference_date
from panbayes.schema.public_list import public_lists
from panbayes.schema.toml_reader import Section, show
from panbayes.schema.toml_writer import toml_list, toml_value

__all__ = ["bounds", "day", "edges", "mapping"]

MAX_BINS: Final = 65_536
_BINS: Final = (
    "a list of ascending numbers, one more than there are bins, or {from, to, width}, or {from, to, parts} for parts "
    "of one width, or {from, to, mean, sd, parts} for parts as likely as each other under a normal law"
)
_WAYS: Final = (("from", "to", "width"), ("from", "to", "parts"), ("from", "to", "mean", "sd", "parts"))


def edges() -> Kind[tuple[int | float, ...]]:
    """Take edges of bins, or how to reckon them from what is publicly known."""

    def read(section: Section, key: str) -> tuple[int | float, ...]:
        value = section.value(key, expected=_BINS)
        try:
            return _edges(value)
        except InputError as error:
            raise section.error(key, found=error.found, remedy=error.remedy) from None

    return Kind(_BINS, read, toml_list, list)


def _edges(value: object) -> tuple[int | float, ...]:
    if isinstance(value, list):
        bad = next((item for item in value if not is_number(item)), None)
        if bad is not None:
            raise InputError(
                "bins",
                found=f"found {bad!r} in the list",
                remedy="give ascending numbers, one more than there are bins",
            )
        if not value:
            raise InputError("bins", found="found an empty list", remedy=f"give {_BINS}")
        return tuple(value)
    if not isinstance(value, dict):
        raise InputError("bins", found=f"found {show(value)}", remedy=f"give {_BINS}")
    way = next((way for way in _WAYS if set(way) == set(value)), None)
    if way is None or not all(is_number(number) and abs(number) < 2**53 for number in value.values()):
        raise InputError("bins", found=f"found {show(value)}", remedy=f"give {_BINS}")
    numbers = {name: Fraction(repr(number)) for name, number in value.items()}
    low, high = numbers["from"], numbers["to"]
    if not low < high:
        raise InputError("bins", found="found a from that is not below to", remedy="give the lower end first")
    parts = numbers["parts"] if "width" not in numbers else (high - low) / max(numbers["width"], Fraction(1, 2**60))
    if parts.denominator != 1 or not 1 <= parts <= MAX_BINS:
        raise InputError(
            "bins",
            found=f"found {show(value)}, which makes no whole number of bins",
            remedy=f"give a width that goes into the range, 1 to {MAX_BINS:,} times",
        )
    if "mean" in numbers:
        return _quantiles(low, high, float(numbers["mean"]), float(numbers["sd"]), int(parts))
    cuts = [low + (high - low) * k / parts for k in range(int(parts) + 1)]
    if any(isinstance(number, float) for number in value.values()) or any(cut.denominator != 1 for cut in cuts):
        return tuple(map(float, cuts))
    return tuple(map(int, cuts))


def _quantiles(low: Fraction, high: Fraction, mean: float, sd: float, parts: int) -> tuple[float, ...]:
    """Cut where a normal law has its quantiles, to a hundredth of its spread, so that every computer cuts alike."""
    if not sd > 0:
        raise InputError("bins", found="found an sd that is not above 0", remedy="give a standard deviation above 0")
    law = NormalDist(mean, sd)
    digits = 2 - int(f"{sd:e}".partition("e")[2])
    found = (float(low), *(round(law.inv_cdf(k / parts), digits) for k in range(1, parts)), float(high))
    if any(b <= a for a, b in pairwise(found)):
        raise InputError(
            "bins", found="found quantiles that leave the range, or meet", remedy="give a wider range or fewer parts"
        )
    return found


def bounds() -> Kind[tuple[str, ...]]:
    """Take the first and the last period of a calendar."""
    words = 'two dates, such as ["2020-01", "2024-12"]'

    def read(section: Section, key: str) -> tuple[str, ...]:
        values = section.typed(key, list, expected=words)
        if len(values) != 2 or not all(isinstance(value, str | int | dt.date) for value in values):
            raise section.error(key, found=f"found {show(values)}", remedy=f"give {words}")
        return tuple(map(str, values))

    return Kind(words, read, toml_list, list)


def day() -> Kind[str]:
    """Take one date."""
    words = 'a date such as "2026-01-01"'

    def read(section: Section, key: str) -> str:
        value = section.value(key, expected=words)
        try:
            return reference_date(value)
        except InputError as error:
            raise section.error(key, found=error.found, remedy=f"give {words}") from None

    return Kind(words, read, toml_value)


def mapping() -> Kind[Any]:
    """Take the name of a public list, that of a file beside the schema, or the rows themselves."""
    words = (
        "the name of a list of panbayes, that of a CSV or TOML file beside the schema file, or a list of rows such as "
        '{prefix = "250", group = "diabetes"}'
    )

    def read(section: Section, key: str) -> CodeMap:
        value = section.value(key, expected=words)
        try:
            if isinstance(value, str):
                return _named(value, section)
            if isinstance(value, list):
                return CodeMap.of(value)
        except InputError as error:
            raise section.error(key, found=error.found, remedy=error.remedy) from None
        raise section.error(key, found=f"found {show(value)}", remedy=f"give {words}")

    def write(value: CodeMap) -> str:
        name = next((name for name, known in public_lists().items() if known.groups == value), None)
        return toml_value(name) if name is not None else f"[\n{''.join(map(_row_line, value.table))}]"

    return Kind(words, read, write, lambda value: value.table)


def _row_line(row: dict[str, str]) -> str:
    return f"  {{{', '.join(f'{key} = {toml_value(text)}' for key, text in row.items())}}},\n"


def _named(name: str, section: Section) -> CodeMap:
    if name in public_lists():
        return public_lists()[name].groups
    if not name.lower().endswith((".csv", ".toml")):
        raise InputError(
            "mapping",
            found=f'found "{name}"',
            remedy=f"give one of {', '.join(public_lists())}, or the name of a CSV or TOML file beside the schema file",
        )
    if section.document.folder is None:
        raise InputError(
            "mapping", found=f'found the file "{name}"', remedy="only a schema that is a file itself can name one"
        )
    if "/" in name or "\\" in name or "\0" in name:
        raise InputError(
            "mapping", found=f'found "{name}"', remedy="put the file beside the schema file, give its name"
        )
    return read_map(section.document.folder / name)
