"""Who asks, why, and until when: what people read of a study before they agree to it.

Nothing here changes what is computed. It is part of the agreement all the same: whatever is given belongs to the
content that the study is known by, so that nobody approves one purpose and is shown another.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, fields
from typing import Annotated, Final

from panbayes.errors import InputError
from panbayes.schema.declaration import Key, Kind, build, content
from panbayes.schema.kinds import text
from panbayes.schema.toml_reader import Section, show

__all__ = ["ABOUT", "MOST_CHARACTERS", "UNTOLD", "About"]

MOST_CHARACTERS: Final = 300
"""Of each text: it is to be read, on one line of a screen or a letter."""

_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _day() -> Kind[dt.date]:
    """Take a day, as TOML writes one or as the same text."""
    words = "a date such as 2027-03-01"

    def read(section: Section, key: str) -> dt.date:
        value = section.value(key, expected=words)
        try:
            if isinstance(value, str) and _ISO.fullmatch(value):
                return dt.date.fromisoformat(value)
        except ValueError:
            pass
        if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
            found = value.isoformat() if isinstance(value, dt.datetime) else show(value)
            raise section.error(key, found=f"found {found}", remedy=f"give {words}")
        return value

    return Kind(words, read, dt.date.isoformat, dt.date.isoformat)


def _text(example: str, meaning: str) -> Key:
    return Key(text(f'a text such as "{example}"'), meaning, added=True)


@dataclass(frozen=True, slots=True)
class About:
    """Who asks, why, and until when; each is one visible line, and may be left out.

    >>> About(purpose="who is readmitted, and why", until=dt.date(2027, 3, 1)).given
    {'purpose': 'who is readmitted, and why', 'until': '2027-03-01'}
    """

    purpose: Annotated[
        str | None, _text("to learn who is readmitted, and why", "what the result is to be used for")
    ] = None
    requester: Annotated[str | None, _text("A. Author", "the person who asks")] = None
    institution: Annotated[str | None, _text("University of the North", "where that person works")] = None
    contact: Annotated[str | None, _text("author@north.example", "how that person is reached")] = None
    ethics: Annotated[
        str | None, _text("ethics committee, 2026-114", "the reference of the vote, contract or permit it rests on")
    ] = None
    until: Annotated[
        dt.date | None, Key(_day(), "the last day on which holders are asked; they may end it earlier", added=True)
    ] = None
    region: Annotated[str | None, _text("three cities of the north", "where the people live that it is about")] = None

    def __post_init__(self) -> None:
        """Refuse what people could not read."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if field.name == "until":
                if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
                    raise _error(field.name, f"found {value!r}", "give a date such as 2027-03-01")
            elif not isinstance(value, str) or not value.strip():
                raise _error(field.name, f"found {show(value)}", "give a text, or leave it out")
            elif not value.isprintable():
                raise _error(field.name, "found a line break or another sign that cannot be seen", "give one line")
            elif len(value) > MOST_CHARACTERS:
                raise _error(field.name, f"found {len(value)} characters", f"give at most {MOST_CHARACTERS}")

    @property
    def given(self) -> dict[str, str]:
        """What was given, by key, as texts."""
        return {key: str(value) for key, value in content(self).items()}


def _error(key: str, found: str, remedy: str) -> InputError:
    return InputError(f"about.{key}", found=found, remedy=remedy)


ABOUT: Final = Kind(
    "a table, see below", lambda section, key: build(section.section(key), About), plain=content, table=About
)
"""The table ``[about]`` of a study file."""

UNTOLD: Final = About()
"""Nothing was given."""
