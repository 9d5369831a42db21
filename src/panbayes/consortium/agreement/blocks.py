"""Whose records a study is about, where holders divide people by when they were first seen: all, or some periods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from panbayes.consortium.agreement.calendar import calendar_of
from panbayes.errors import InputError
from panbayes.schema.declaration import Kind
from panbayes.schema.toml_reader import Section
from panbayes.schema.toml_writer import toml_list, toml_value

__all__ = ["BLOCKS", "Blocks", "read_blocks"]

Blocks: TypeAlias = Literal["all"] | tuple[str, ...]

_WORDS: Final = '"all", or a list of periods such as ["2026-Q3", "2026-Q4"]'


def read_blocks(given: object, *, argument: str) -> Blocks:
    """Return blocks as a study has them, each once and in order; ``argument`` names them in the error.

    >>> read_blocks(["2026-11", "2026-10", "2026-11"], argument="blocks"), read_blocks("all", argument="blocks")
    (('2026-10', '2026-11'), 'all')
    """
    if given == "all":
        return "all"
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    found = sorted({str(one) for one in given}) if listed and isinstance(given, Sequence) else []
    calendars = {calendar_of(one) for one in found}
    if len(calendars) != 1 or None in calendars:
        raise InputError(argument, found=f"found {given!r}"[:100], remedy=f"give {_WORDS}, all of one calendar")
    return tuple(found)


def _read(section: Section, key: str) -> Blocks:
    value = section.value(key, expected=_WORDS)
    try:
        return read_blocks(value, argument=key)
    except InputError as error:
        raise section.error(key, found=error.found, remedy=error.remedy) from None


BLOCKS: Final[Kind[Blocks]] = Kind(
    _WORDS,
    _read,
    lambda blocks: toml_value(blocks) if blocks == "all" else toml_list(blocks),
    lambda blocks: blocks if blocks == "all" else list(blocks),
)
