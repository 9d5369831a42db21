"""What a source of tables is. Each module of this folder that defines a :class:`Source` is one.

To add a kind is to add a file here; :mod:`panbayes.tables.sources.dispatch` finds it, and so does the suite that every
source must pass. Sources promise that no value can change how another is read, and that an error about a file or frame
names ``argument``, never a value, a line number or a count of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

__all__ = ["Reader", "Source", "Writer"]


class Reader(Protocol):
    """Reads a file or data frame."""

    def __call__(self, given: Any, names: Sequence[str] | None, /, *, argument: str) -> pl.DataFrame:
        """Return the columns of ``names`` that are there (with None, all of them); more columns do no harm."""


class Writer(Protocol):
    """Writes a file."""

    def __call__(self, frame: pl.DataFrame, path: Path, suffix: str, /) -> None:
        """Write ``path`` as a file whose name ends in ``suffix`` would be."""


def _nothing(given: object) -> bool:
    """Take no object."""
    return given is not given


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of file or of data frame, known to people as ``name``.

    A kind of file takes paths that end in one of ``suffixes``, or files that begin with ``magic``; ``read`` gets the
    path, and ``write`` writes such a file. A kind of data frame ``takes`` objects; ``read`` gets the object, and
    ``convert`` makes such a frame. Whatever cannot be written is None.
    """

    name: str
    read: Reader
    suffixes: tuple[str, ...] = ()
    magic: bytes = b""
    write: Writer | None = None
    takes: Callable[[object], bool] = _nothing
    convert: Callable[[pl.DataFrame], object] | None = None
