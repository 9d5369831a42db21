"""The file of a service: which states it feeds, from where, how often it beats, and where releases are shown.

Every key is declared once, for reading and for the manual. Paths are relative to the file. No secret stands in it:
a token lies in a file of its own, passwords of brokers in the environment or in the brokers' own files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Declaration, Key, Kind, build
from panbayes.schema.toml_reader import Section
from panbayes.service.address import Address, read_address
from panbayes.service.source import Declared, source_kinds

__all__ = ["SERVICE_FILE", "Page", "ServiceFile", "State"]

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LEAST_BEAT, _MOST_BEAT = Fraction(1, 10), 20
"""Seconds. The system brings pages to the disk by itself after 30, and their time would show when they were written."""


def _sources() -> Kind[tuple[Declared, ...]]:
    """Take an array of tables ``[[sources]]``; the key ``kind`` of each says which other keys it has."""

    def read(section: Section, key: str) -> tuple[Declared, ...]:
        found: list[Declared] = []
        for part in section.sections(key):
            kind = source_kinds()[part.choice("kind", list(source_kinds()))]
            found.append(build(part, kind.declared))
        return tuple(found)

    return Kind("tables, each with a kind and the keys of that kind", read)


def _address() -> Kind[Address]:
    words = 'an address such as "127.0.0.1:8081"'

    def read(section: Section, key: str) -> Address:
        try:
            return read_address(section.text(key, expected=words), argument=key)
        except InputError as error:
            raise section.error(key, found=error.found, remedy=error.remedy) from None

    return Kind(words, read)


@dataclass(frozen=True, slots=True)
class State:
    """A state that is fed."""

    name: Annotated[str, Key(kinds.text('a name such as "visitors"'), "what it is called, where releases are shown")]
    file: Annotated[
        str, Key(kinds.text('a path such as "visitors.state"'), "the state, made by `panbayes stream open`")
    ]
    title: Annotated[
        str | None,
        Key(kinds.text('a text such as "Visitors of our site"'), "what its figure is a figure of", default="its name"),
    ] = None

    def __post_init__(self) -> None:
        """Check the name, which becomes part of addresses and of file names."""
        if not _NAME.fullmatch(self.name):
            raise InputError(
                "name", found=f'found "{self.name}"', remedy="give small letters, digits, - and _, a letter first"
            )
        check_path(self.file, argument="file")


@dataclass(frozen=True, slots=True)
class Page:
    """Where published releases are shown, to anybody who can reach the address."""

    listen: Annotated[Address, Key(_address(), "where the page, /metrics and /releases are served")]


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """What the file of a service says; ``file`` is its path."""

    states: Annotated[tuple[State, ...], Key(kinds.tables(State), "one for each state that is fed")]
    sources: Annotated[tuple[Declared, ...], Key(_sources(), "one for each place that ids come from")]
    releases: Annotated[
        str, Key(kinds.text('a folder such as "releases"'), "where every release is written down, one file for each")
    ] = "releases"
    beat: Annotated[
        Fraction | None,
        Key(
            kinds.ratio("seconds, such as 1.0"),
            "how often states are brought to the disk and what came in is acknowledged, whether anything came or not",
            default="1 second for each MB of the states, from 1 to 20",
        ),
    ] = None
    page: Annotated[Page | None, Key(kinds.table(Page), "where releases are shown", default="nowhere")] = None
    repeats: Annotated[
        bool,
        Key(
            kinds.flag(),
            "whether states that count visits may be fed by sources that deliver a line again after a crash, which "
            "counts it twice",
        ),
    ] = False
    file: str = "service.toml"

    def __post_init__(self) -> None:
        """Check what spans keys."""
        names = [state.name for state in self.states]
        if not names:
            raise InputError("states", found="found none", remedy="name at least one state")
        if not self.sources:
            raise InputError("sources", found="found none", remedy='give one, such as one of kind "http"')
        for name in names:
            if names.count(name) > 1:
                raise InputError("states", found=f'found "{name}" twice', remedy="give every state a name of its own")
        for source in self.sources:
            for name in source.states:
                if name not in names:
                    raise InputError(
                        "sources", found=f'one feeds "{name}"', remedy=f"name states of this file: {', '.join(names)}"
                    )
        if self.beat is not None and not _LEAST_BEAT <= self.beat <= _MOST_BEAT:
            raise InputError(
                "beat",
                found=f"found {float(self.beat):g}",
                remedy=f"give {float(_LEAST_BEAT):g} to {_MOST_BEAT} seconds",
            )
        check_path(self.releases, argument="releases")

    @property
    def folder(self) -> Path:
        """Where the file lies."""
        return Path(self.file).parent

    def beat_for(self, megabytes: float) -> float:
        """The seconds between two beats, if all states together have so many megabytes."""
        return float(self.beat) if self.beat is not None else min(max(1.0, megabytes), float(_MOST_BEAT))


SERVICE_FILE: Final = Declaration(
    "Services",
    1,
    ServiceFile,
    about="What `panbayes stream serve` does is said in a file. Paths are relative to it, and it holds no secret.",
    example="""\
version = 1

[[states]]
name = "visitors"
file = "visitors.state"
title = "Visitors of our site"

[[sources]]
kind = "http"
listen = "127.0.0.1:8080"

[page]
listen = "127.0.0.1:8081"
""",
    origin="file",
)
