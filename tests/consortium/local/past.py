"""A source that keeps its past, for tests: tables in memory, by name and version, under addresses ``past://name``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.tables.sources import dispatch
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.source import Opened, Source, WholeFrame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Version(WholeFrame):
    pinned: Address = field(default_factory=lambda: Address("past"))


class Past:
    """Tables that are written version by version; old ones can be thrown away."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """Let every reader of tables know the scheme ``past``."""
        self.versions: dict[int, pl.DataFrame] = {}
        source = Source("past", self._open, schemes=("past",))
        known = dispatch.sources()
        patch.setattr(dispatch, "sources", lambda: (*known, source))

    def write(self, frame: pl.DataFrame) -> None:
        """Write the next version."""
        self.versions[max(self.versions, default=0) + 1] = frame

    @contextmanager
    def _open(self, given: Address, /, *, argument: str) -> Iterator[Opened]:
        number = int(given.option("version") or max(self.versions))
        if number not in self.versions:
            raise InputError(argument, found=f"has no version {number} any more", remedy="give another")
        yield _Version(self.versions[number], pinned=given.having(version=str(number)))
