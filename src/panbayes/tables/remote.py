"""Records that are counted where they lie: in a database that lets no record out, or on other machines.

A :class:`RemoteTable` answers with counts alone, the very numbers that a table in memory would give, so it serves every
study. Its source says by :attr:`~panbayes.tables.sources.source.Source.remote` which addresses are counted there, and
what it opens is a :class:`CountsThere`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.counter import Facts
from panbayes.tables.counting.block_counts import Counted, GroupsOfValues
from panbayes.tables.counting.count_tables import DEFAULT_CELL_LIMIT
from panbayes.tables.sources.dispatch import FrameKind, check_columns, counted_there, open_source
from panbayes.tables.sources.file import name_of

__all__ = ["CountsThere", "RemoteTable", "remote_table"]


class RemoteTable(ABC):
    """A :class:`~panbayes.tables.counter.Counter` of records that are elsewhere, as long as its source is open."""

    kind: Final[FrameKind] = "polars"
    """The library in which frames are given back."""

    origin: Final = None
    """How values fit is not looked at from here."""

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""

    @abstractmethod
    def count(
        self,
        tables: Sequence[tuple[int, ...]],
        groupings: Sequence[GroupsOfValues] | None = None,
        *,
        cell_limit: int = DEFAULT_CELL_LIMIT,
    ) -> Counted:
        """Return tables end to end, as every counter does."""

    @abstractmethod
    def parities(self, sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]) -> NDArray[np.int64]:
        """Return the parity of every set of groupings into two."""

    @abstractmethod
    def marks(self) -> tuple[bytes, ...]:
        """Return what the records are known by (:mod:`panbayes.tables.marks`), as if they had been read here.

        Nothing where that cannot be told: then only a declared dataset can be answered from.
        """


@runtime_checkable
class CountsThere(Protocol):
    """An open table whose records stay where they are."""

    def counting(self, schema: Schema, columns: Mapping[str, str], /) -> RemoteTable:
        """Return what counts its records under ``schema``; ``columns`` gives the column of every name in it.

        Where the schema names a privacy unit, each person's first records are counted, as
        :mod:`panbayes.tables.units` says, in an order that depends on each person's own records alone.
        """


def remote_table(
    source: object, schema: Schema, *, argument: str, may_be_empty: bool, stack: ExitStack
) -> RemoteTable | None:
    """Open a source that is counted where it lies, until the stack ends; None if it is one to be read."""
    if not counted_there(source, argument=argument):
        return None
    argument = name_of(source, argument)
    opened = stack.enter_context(open_source(source, argument=argument))
    names = [*schema.names, *([schema.unit.column] if schema.unit else [])]
    check_columns(opened, names, argument=argument)
    if not isinstance(opened.opened, CountsThere):
        raise InputError(argument, found="cannot be counted where it lies", remedy="have its records read instead")
    found = opened.opened.counting(schema, {name: opened.place(name) for name in names})
    if found.facts.records == 0 and not may_be_empty:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    return found
