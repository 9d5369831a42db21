"""What a key of a file may take: texts, numbers, exact ratios, choices, lists and tables.

Each function makes a :class:`~panbayes.schema.declaration.Kind`. Its words say what belongs there, to whoever reads
the manual and to whoever got it wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

from panbayes.errors import InputError
from panbayes.schema.declaration import Kind, build, row
from panbayes.schema.toml_reader import Section, show
from panbayes.schema.toml_writer import toml_list, toml_value

__all__ = [
    "choice",
    "either",
    "flag",
    "label",
    "list_of",
    "ratio",
    "scalar",
    "table",
    "tables",
    "text",
    "whole_number",
]

T = TypeVar("T")

_QUOTIENT: Final = re.compile(r"[0-9]{1,100}/0*[1-9][0-9]{0,99}")


def text(words: str) -> Kind[str]:
    """Take a text that is not empty."""
    return Kind(words, lambda section, key: section.text(key, expected=words), toml_value)


def whole_number(words: str = "a whole number") -> Kind[int]:
    """Take a whole number."""
    return Kind(words, lambda section, key: section.typed(key, int, expected=words), toml_value)


def choice(choices: Sequence[str]) -> Kind[Any]:
    """Take one of some texts."""
    words = " or ".join(f'"{one}"' for one in choices)
    return Kind(words, lambda section, key: section.choice(key, choices), toml_value)


def ratio(words: str = 'a number such as 0.5, or a quotient such as "1/3"') -> Kind[Fraction]:
    """Take a number exactly as it is written: 0.1 is one tenth, not the nearest binary number."""

    def read(section: Section, key: str) -> Fraction:
        value = section.value(key, expected=words)
        if isinstance(value, str) and _QUOTIENT.fullmatch(value):
            return Fraction(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise section.error(key, found=f"found {value!r}", remedy="give a number without quotes, such as 0.5")
        if "n" in repr(value):
            raise section.error(key, found=f"found {value!r}", remedy="give a finite number")
        return Fraction(repr(value))

    return Kind(words, read, _ratio_text, str)


def _ratio_text(value: Fraction) -> str:
    """Write a ratio so that it is read back exactly: as a number where that is exact, else as a quotient."""
    number = int(value) if value.denominator == 1 else float(value)
    return repr(number) if Fraction(repr(number)) == value else f'"{value}"'


def scalar(words: str) -> Kind[str | int | float | bool]:
    """Take one text, number or boolean."""

    def read(section: Section, key: str) -> str | int | float | bool:
        value = section.value(key, expected=words)
        if not isinstance(value, str | int | float | bool):
            raise section.error(key, found=f"found {show(value)}", remedy=f"give {words}")
        return value

    return Kind(words, read, toml_value)


def flag() -> Kind[bool | None]:
    """Take true or false."""
    words = "true or false"
    return Kind(words, lambda section, key: section.typed(key, bool, expected=words), toml_value)


def label(key: str) -> Kind[str | None]:
    """Take true (the key is the label), false (there is none) or the label itself."""
    words = "true, false or a label"

    def read(section: Section, key: str) -> str | None:
        value = section.value(key, expected=words)
        if isinstance(value, bool):
            return key if value else None
        if isinstance(value, str) and value.strip():
            return value
        raise section.error(key, found=f"found {value!r}", remedy=f"give {words} in quotes")

    return Kind(words, read, lambda chosen: "true" if chosen == key else toml_value(chosen or False))


def list_of(
    kinds: tuple[type, ...], words: str, *, may_be_empty: bool = False, ordered: bool = True
) -> Kind[tuple[Any, ...]]:
    """Take a list whose items are of these types (a boolean is no number here).

    Where order does not matter, ``ordered`` is false: then hashes do not depend on order or repetition either.
    """

    def read(section: Section, key: str) -> tuple[Any, ...]:
        values = section.typed(key, list, expected=f"a list of {words}")
        for value in values:
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise section.error(key, found=f"found {value!r} in the list", remedy=f"give {words}")
        if not values and not may_be_empty:
            raise section.error(key, found="found an empty list", remedy=f"give {words}")
        return tuple(values)

    return Kind(f"a list of {words}", read, toml_list, list if ordered else lambda values: sorted(set(values)))


def either(*kinds: Kind[Any]) -> Kind[Any]:
    """Take what the first of these kinds takes that takes it."""
    words = ", or ".join(kind.words for kind in kinds)

    def read(section: Section, key: str) -> object:
        for kind in kinds:
            try:
                return kind.read(section, key)
            except InputError:
                continue
        value = section.value(key, expected=words)
        raise section.error(key, found=f"found {show(value)}", remedy=f"give {words}")

    return Kind(words, read, toml_value)


def table(declared: type[T]) -> Kind[T | None]:
    """Take a table ``[key]`` that has the keys of a declared class."""
    return Kind(
        "a table, see below",
        lambda section, key: build(section.section(key), declared),
        plain=lambda value: None if value is None else row(value),
        table=declared,
    )


def tables(declared: type[T]) -> Kind[tuple[T, ...]]:
    """Take an array of tables ``[[key]]`` that have the keys of a declared class."""
    return Kind(
        "tables, see below",
        lambda section, key: tuple(build(part, declared) for part in section.sections(key)),
        plain=lambda values: [row(value) for value in values],
        table=declared,
        many=True,
    )
