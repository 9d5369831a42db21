"""Rows of a ledger's tables, read with their types checked, and the few values that are kept beside them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from types import UnionType
from typing import Any

from panbayes.errors import LedgerError

__all__ = ["Rows"]


class Rows:
    """The tables of a ledger inside BEGIN … COMMIT; ``name`` is the ledger's in messages."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        """Work on a connection."""
        self.connection = connection
        self._name = name

    def recorded(self, key: str) -> str | None:
        """Return the newest "head", the digest of all "notes" or "events", or the sums of the "register", as kept.

        None before the first. That there is a file of "attempts" is kept there too.
        """
        value = self._meta(key)
        return None if value is None else value.decode(errors="replace")

    def _kept(self, key: str) -> str:
        """Return what is always kept beside the tables."""
        found = self.recorded(key)
        if found is None:
            raise self._damaged(f'its digest of "{key}" is missing')
        return found

    def _keep(self, key: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value.encode()))

    def _meta(self, key: str) -> bytes | None:
        row = self._row("SELECT value FROM meta WHERE key = ?", bytes, given=(key,))
        return None if row is None else bytes(row[0])

    def _rows(
        self, statement: str, *types: type | UnionType, given: tuple[str | bytes, ...] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query whose columns have these ``types``."""
        for row in self.connection.execute(statement, given):
            if not all(map(isinstance, row, types)):
                raise self._damaged("something in it is not what panbayes writes")
            yield row

    def _row(
        self, statement: str, *types: type | UnionType, given: tuple[str | bytes, ...] = ()
    ) -> tuple[Any, ...] | None:
        return next(self._rows(statement, *types, given=given), None)

    def _damaged(self, found: str) -> LedgerError:
        return LedgerError(self._name, found=found, remedy="run `panbayes holder ledger verify`")
