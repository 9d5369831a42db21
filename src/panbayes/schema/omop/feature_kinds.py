"""What the keys of a feature file may take: lists and groups of concepts, days of a calendar, windows of days, ranges.

Whatever can be written in several ways becomes one value on reading, so that a hash depends on what was meant alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

from panbayes.errors import InputError
from panbayes.schema.declaration import Kind
from panbayes.schema.omop.cdm import FIRST_DAY, LAST_DAY
from panbayes.schema.periods import reference_date
from panbayes.schema.toml_reader import Section, show
from panbayes.schema.toml_writer import toml_list, toml_value

__all__ = ["MOST_DAYS", "Groups", "check_concepts", "check_groups", "concepts", "day", "days", "groups", "pair"]

MOST_DAYS: Final = 36_525
"""A hundred years: so far from the index date a window may reach."""

MOST_CONCEPT: Final = 2**31 - 1

Groups: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Labels, each with the concepts that it stands for."""


def check_concepts(found: tuple[int, ...], *, argument: str, zero: bool = False) -> None:
    """Refuse what can be no concept ids; 0, which says that there is no concept, is one only where ``zero`` says so."""
    bad = next((one for one in found if not (0 if zero else 1) <= one <= MOST_CONCEPT), None)
    if bad is not None:
        raise InputError(
            argument,
            found=f"found {bad}",
            remedy=f"give concept ids, from {0 if zero else 1} to {MOST_CONCEPT}"
            + ("" if zero else "; records of concept 0 have none and are never in a set"),
        )


def concepts(words: str = "concept ids, such as [201826, 201254]") -> Kind[tuple[int, ...]]:
    """Take a list of concept ids, whose order says nothing."""

    def read(section: Section, key: str) -> tuple[int, ...]:
        values = section.typed(key, list, expected=words)
        bad = next((value for value in values if isinstance(value, bool) or not isinstance(value, int)), None)
        if bad is not None:
            raise section.error(key, found=f"found {bad!r} in the list", remedy=f"give {words}")
        if not values:
            raise section.error(key, found="found an empty list", remedy=f"give {words}")
        return tuple(sorted(set(values)))

    return Kind(words, read, toml_list, list)


def check_groups(found: Groups) -> None:
    """Refuse a concept in two groups, and groups without a name."""
    every = Counter(concept for _, ids in found for concept in ids)
    if any(times > 1 for times in every.values()):
        twice = every.most_common(1)[0][0]
        raise InputError("groups", found=f"found concept {twice} twice", remedy="give every concept one group")
    if not all(label.strip() for label, _ in found):
        raise InputError("groups", found="found a group without a name", remedy="name every group")


def groups() -> Kind[Groups]:
    """Take a table of labels, each with one concept id or several; their order is that of the codes."""
    words = "labels and their concept ids, such as {female = 8532, male = 8507}"

    def read(section: Section, key: str) -> Groups:
        table = section.section(key)
        found: list[tuple[str, tuple[int, ...]]] = []
        for label in table.names():
            value = table.value(label, expected="a concept id")
            given: list[object] = value if isinstance(value, list) else [value]
            ids = [one for one in given if isinstance(one, int) and not isinstance(one, bool)]
            if not ids or len(ids) < len(given):
                raise table.error(label, found=f"found {show(value)}", remedy="give a concept id, or a list of them")
            found.append((label, tuple(sorted(set(ids)))))
        if not found:
            raise section.error(key, found="found no group", remedy=f"give {words}")
        return tuple(found)

    def write(value: Groups) -> str:
        parts = (f"{toml_value(label)} = {ids[0] if len(ids) == 1 else list(ids)}" for label, ids in value)
        return f"{{{', '.join(parts)}}}"

    return Kind(words, read, write, lambda value: [[label, list(ids)] for label, ids in value])


def day(words: str = 'a date such as "2024-01-01"') -> Kind[str]:
    """Take one day that an index date may be."""

    def read(section: Section, key: str) -> str:
        try:
            return _known_day(section.value(key, expected=words))
        except InputError as error:
            raise section.error(key, found=error.found, remedy=f"give {words}") from None

    return Kind(words, read, toml_value)


def days() -> Kind[tuple[str, str]]:
    """Take the first and the last day of a time."""
    words = 'two dates, such as ["2015-01-01", "2024-12-31"]'

    def read(section: Section, key: str) -> tuple[str, str]:
        values = section.typed(key, list, expected=words)
        try:
            first, last = map(_known_day, values)
        except ValueError:
            raise section.error(key, found=f"found {show(values)}", remedy=f"give {words}") from None
        except InputError as error:
            raise section.error(key, found=error.found, remedy=f"give {words}") from None
        return first, last

    return Kind(words, read, toml_list, list)


def _known_day(value: object) -> str:
    found = reference_date(value)
    if not FIRST_DAY <= found <= LAST_DAY:
        raise InputError("day", found=f"found {found}, beyond {FIRST_DAY} to {LAST_DAY}", remedy="")
    return found


def pair(words: str) -> Kind[tuple[int, int]]:
    """Take two whole numbers."""

    def read(section: Section, key: str) -> tuple[int, int]:
        values = section.typed(key, list, expected=words)
        if len(values) != 2 or any(isinstance(one, bool) or not isinstance(one, int) for one in values):
            raise section.error(key, found=f"found {show(values)}", remedy=f"give {words}")
        return values[0], values[1]

    return Kind(words, read, toml_list)
