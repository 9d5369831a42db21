"""A function of DuckDB that feeds a state: ``SELECT count(feed_visitors(user)) FROM log``.

It takes an id, and after it the fields that the state looks at, in the order of ``setup.fields``. It is NULL for every
row, whatever was in it, so that a result tells nothing about the stream; ``count`` of it is 0. DuckDB calls it for some
thousand rows at a time, from several threads; they take turns. What a call has taken in counts when the query
ends, and on the disk where the state is in a file.

It has side effects, and DuckDB knows: it is called for equal rows and constants again. It is not called for what a
query does not ask for: a column that nobody reads, rows beyond a LIMIT. A query that fails or is stopped has taken in
some of its rows, and one that is run again takes in all of them again: who comes twice counts once, but where visits
are counted every run is a visit.

DuckDB is not loaded by this program: who has a connection has it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sized
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from panbayes.errors import InputError
from panbayes.stream.ids.records import Records
from panbayes.stream.private_stream import PrivateStream
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["FeedFunction"]

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class FeedFunction:
    """A function of a DuckDB connection that feeds a state, until it is closed.

    >>> import duckdb
    >>> from panbayes import DistinctCounter
    >>> with duckdb.connect() as log, DistinctCounter(epsilon=4, expect=10_000) as counter:
    ...     with FeedFunction(log, "feed_visitors", counter) as function:
    ...         log.execute("SELECT count(feed_visitors('visitor-' || range)) FROM range(10_000)").fetchone()
    ...     9_000 < counter.estimate().users < 11_000
    (0,)
    True
    >>> function
    <FeedFunction feed_visitors(id), closed>
    """

    __slots__ = ("_connection", "_fields", "_name", "_open", "_owned", "_state", "_turns")

    def __init__(self, connection: DuckDBPyConnection, name: str, state: PrivateStream | str | Path) -> None:
        """Make the function ``name`` in ``connection``, which feeds ``state``: an estimator, or a state file.

        A file is opened here, for feeding, and let go by :meth:`close`; an estimator stays the caller's.
        """
        import duckdb
        from duckdb.func import ARROW, SPECIAL

        if not _NAME.fullmatch(name):
            raise InputError(
                "name", found=f'found "{name}"', remedy="give small letters, digits and _, such as feed_visitors"
            )
        self._connection, self._name, self._turns = connection, name, threading.Lock()
        self._owned = not isinstance(state, PrivateStream)
        self._state = state if isinstance(state, PrivateStream) else StreamEstimator[Answer].open(state)
        self._fields, self._open = self._state.setup.fields, True
        try:
            connection.create_function(
                name,
                self._take,
                None,
                "BOOLEAN",
                type=ARROW,
                null_handling=SPECIAL,
                side_effects=True,
            )
        except duckdb.Error as error:
            self._open = False
            self._let_go()
            taken = not isinstance(error, duckdb.ConnectionException)
            raise InputError(
                "name",
                found=f"the connection has a function {name} already" if taken else "the connection is closed",
                remedy="close that one first, or give another name" if taken else "give one that is open",
            ) from None

    @property
    def signature(self) -> str:
        """The function and what it takes, such as ``feed_buyers(id, kind, price)``."""
        return f"{self._name}({', '.join(('id', *self._fields))})"

    def _take(self, *columns: Sized) -> pa.BooleanArray:
        """Take some rows in, and say nothing of them."""
        with self._turns:
            if not self._open:
                raise InputError(self._name, found="the function was closed", remedy="make it again")
            if len(columns) != 1 + len(self._fields):
                raise InputError(
                    self._name, found=f"it was given {len(columns)} columns", remedy=f"call {self.signature}"
                )
            ids, *fields = columns
            batch = Records(ids, dict(zip(self._fields, fields, strict=True))) if fields else ids
            self._state.update(batch)
        return pa.nulls(len(ids), pa.bool_())

    def close(self) -> None:
        """Take the function out of the connection, and let a state file go that was opened for it."""
        import duckdb

        with self._turns:
            if not self._open:
                return
            self._open = False
        try:
            self._connection.remove_function(self._name)
        except duckdb.Error:
            # The connection was closed, and its functions with it.
            return
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._owned:
            self._state.close()

    def __enter__(self) -> Self:
        """Return the function itself."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Say what it takes."""
        return f"<FeedFunction {self.signature}{'' if self._open else ', closed'}>"
