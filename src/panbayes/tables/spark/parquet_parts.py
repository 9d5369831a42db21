"""Parquet files that Spark's workers read themselves: which row groups are one task, and what pins the files.

Spark only says which worker reads what. The files are those that were there when the table was opened. Each is known
by its size and a digest of its last bytes, where Parquet keeps its footer; a worker that finds another file under the
name does not read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.sources.folder import Part, parts_of
from panbayes.tables.sources.parquet import group_batches, read_footer
from panbayes.tables.sources.pattern import is_pattern

__all__ = ["CHANGED", "Piece", "Pieces", "find_pieces"]

CHANGED: Final = "panbayes: a file has changed"
"""What a worker raises that finds another file."""

PART_RECORDS: Final = 2**20
"""About so many records are one task."""

_TAIL: Final = 2**16


@dataclass(frozen=True, slots=True)
class Piece:
    """Some row groups of a file, and what the folders it lies in say of its records."""

    path: str
    seal: tuple[int, bytes]
    texts: frozenset[str]
    inside: frozenset[str]
    values: tuple[tuple[str, str | None], ...]
    groups: tuple[int, ...]
    records: int

    def batches(self, names: Sequence[str], *, argument: str) -> Iterator[Batch]:
        """Read the records."""
        path = Path(self.path)
        if _seal(path) != self.seal:
            raise RuntimeError(CHANGED)
        own = [name for name in names if name in self.inside]
        given = dict(self.values)
        # A column is read where none of the file's is asked for, to know how many records there are.
        for batch in group_batches(path, own or sorted(self.inside)[:1], self.texts, [*self.groups], argument=argument):
            columns = {
                name: batch.columns[name] if name in own else _constant(given[name], batch.records) for name in names
            }
            yield Batch(columns, batch.records)


def _constant(value: str | None, records: int) -> Column:
    return Column(pl.Series([value], dtype=pl.String), np.zeros(records, dtype=np.int32))


def _seal(path: Path) -> tuple[int, bytes]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL, 0))
            return size, hashlib.blake2b(file.read(), digest_size=16).digest()
    except OSError:
        raise RuntimeError(CHANGED) from None


@dataclass(frozen=True, slots=True)
class Pieces:
    """All of a table: its columns, and its pieces in tasks."""

    columns: tuple[str, ...]
    tasks: tuple[tuple[Piece, ...], ...]


def find_pieces(path: Path, *, argument: str) -> Pieces:
    """Find the files of a path, a folder or a pattern, and divide their row groups into tasks."""
    several = path.is_dir() or is_pattern(path)
    parts = parts_of(path, [".parquet"], argument=argument) if several else [Part(path, {})]
    found: list[Piece] = []
    columns: tuple[str, ...] = ()
    for part in parts:
        if part.path.suffix.lower() != ".parquet" or not part.path.is_file():
            raise InputError(argument, found="is no Parquet file that can be read", remedy="give path=…/*.parquet")
        footer = read_footer(part.path, argument=argument)
        more = tuple(name for name in part.values if name not in footer.columns)
        columns = columns or (*footer.columns, *more)
        if {*footer.columns, *more} != set(columns):
            raise InputError(
                argument,
                found="has files with other columns than the first of them",
                remedy="give every file the same columns",
            )
        values = tuple((name, part.values[name]) for name in more)
        seal, inside = _seal(part.path), frozenset(footer.columns)
        for groups in _grouped(footer.groups):
            records = sum(footer.groups[group] for group in groups)
            found.append(Piece(str(part.path), seal, footer.texts, inside, values, groups, records))
    return Pieces(columns, tuple(_tasks(found)))


def _grouped(groups: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Put row groups that follow each other together, until they are a task."""
    begun: list[int] = []
    for group, records in enumerate(groups):
        if begun and sum(groups[other] for other in begun) + records > PART_RECORDS:
            yield tuple(begun)
            begun = []
        begun.append(group)
    if begun:
        yield tuple(begun)


def _tasks(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    begun: list[Piece] = []
    for piece in pieces:
        if begun and sum(one.records for one in begun) + piece.records > PART_RECORDS:
            yield tuple(begun)
            begun = []
        begun.append(piece)
    if begun:
        yield tuple(begun)
