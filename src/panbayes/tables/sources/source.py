"""What a source of tables is. Each module of this folder that defines a :class:`Source` is one.

To add a kind is to add a file here; :mod:`panbayes.tables.sources.dispatch` finds it, and so does the suite that every
source must pass. Sources promise that no value can change how another is read, and that an error about a file or frame
names ``argument``, never a value, a line number or a count of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import polars as pl

from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import Batch, frame_batches

__all__ = [
    "Opened",
    "Opener",
    "Pinnable",
    "Source",
    "UnderSchema",
    "Unordered",
    "WholeFrame",
    "Writer",
    "check_distinct",
    "later",
    "pushed_down",
    "whole",
]


class Opened(Protocol):
    """A table that is open for reading. Its columns are public, its records are not."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column, in order, none of them twice."""

    @property
    def decimal_comma(self) -> bool:
        """Whether a number may be written with a comma, as 25,3."""

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield all records in order, with the named columns, which are there."""


@runtime_checkable
class UnderSchema(Protocol):
    """A table that can be read with one schema in mind: a database that does the encoding itself.

    Its values then need not be those of the table, if each has the same code under the schema, and is outside or
    missing where that is: a column comes as a dictionary of few such values, and places in it. Where the schema names
    a privacy unit, its column comes with the values of the table, by which people are known again, and records come in
    an order that depends on each person's own records alone.
    """

    def under(self, schema: Schema, columns: Mapping[str, str], /) -> Opened:
        """Return the table as it is read under ``schema``; ``columns`` gives the column of every name in it."""


@runtime_checkable
class Unordered(Protocol):
    """A table whose records have no order of their own: it is rewritten now and then, and then they come otherwise.

    A person's first records are then the first by the columns ``order_by``, and by their codes where these agree
    (:mod:`panbayes.tables.ranks`).
    """

    @property
    def order_by(self) -> tuple[str, ...]:
        """The columns that the holder names, by the names that the source has for them."""


@runtime_checkable
class Pinnable(Protocol):
    """A table that keeps its past: what is open can be opened again as it is now, whatever happens to it."""

    @property
    def pinned(self) -> Address:
        """The address of the table as it is now."""


class Opener(Protocol):
    """Opens a file or data frame."""

    def __call__(self, given: Any, /, *, argument: str) -> AbstractContextManager[Opened]:
        """Open it until the block ends; an error names ``argument``."""


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

    A kind of file takes paths that end in one of ``suffixes``, or files that begin with (one of) ``magic``; ``open``
    gets a :class:`~panbayes.tables.sources.file.File`, and ``write`` writes such a file. A kind of data frame ``takes``
    objects; ``open`` gets the object, and ``convert`` makes such a frame. Whatever cannot be written is None.
    A ``packed`` kind is read compressed as well. A kind of database takes addresses of its ``schemes``; ``open`` gets
    an :class:`~panbayes.tables.sources.address.Address`. ``remote`` tells which of what a source takes is counted where
    it lies (:mod:`panbayes.tables.remote`).
    """

    name: str
    open: Opener
    suffixes: tuple[str, ...] = ()
    magic: bytes | tuple[bytes, ...] = b""
    write: Writer | None = None
    takes: Callable[[object], bool] = _nothing
    convert: Callable[[pl.DataFrame], object] | None = None
    packed: bool = False
    schemes: tuple[str, ...] = ()
    remote: Callable[[Any], bool] = _nothing


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WholeFrame:
    """A table that lies in memory as a data frame."""

    frame: pl.DataFrame
    decimal_comma: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column."""
        return tuple(self.frame.columns)

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records in pieces."""
        return frame_batches(self.frame, names)


class Reader(Protocol):
    """Reads a file or data frame whole."""

    def __call__(self, given: Any, /, *, argument: str) -> pl.DataFrame:
        """Return every column."""


def check_distinct(columns: Sequence[str], *, argument: str) -> None:
    """Refuse two columns of one name."""
    name, times = Counter(columns).most_common(1)[0] if columns else ("", 0)
    if times > 1:
        raise InputError(argument, found=f'has two columns "{name}"', remedy="give every column a name of its own")


def whole(read: Reader) -> Opener:
    """Open a table by reading it whole."""

    @contextmanager
    def opener(given: Any, /, *, argument: str) -> Iterator[Opened]:
        yield WholeFrame(read(given, argument=argument))

    return opener


def later(module: str) -> Opener:
    """Open a table by ``open_table`` of a module that is loaded when it is needed."""

    def opener(given: Any, /, *, argument: str) -> AbstractContextManager[Opened]:
        opened: AbstractContextManager[Opened] = import_module(module).open_table(given, argument=argument)
        return opened

    return opener


def pushed_down(address: Address) -> bool:
    """Tell whether an address says that its table is counted where it lies."""
    return address.option("pushdown") == "true"
