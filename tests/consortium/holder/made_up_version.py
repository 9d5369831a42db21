"""A made-up version of the ledger beyond the newest, to try the machinery of versions on.

It rebuilds the table of studies, which the entries refer to, adds a column to the entries and writes more than SQLite
keeps in its cache, so that half a migration reaches the file before the commit.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from panbayes.consortium.holder.ledger import versions
from panbayes.consortium.holder.ledger.versions import Draw, Migration, append_only

STATEMENTS = (
    "PRAGMA cache_size=10",
    "CREATE TABLE new_studies (hash TEXT PRIMARY KEY, content TEXT NOT NULL, closed INTEGER NOT NULL DEFAULT 0)",
    "INSERT INTO new_studies (hash, content) SELECT hash, content FROM studies ORDER BY rowid",
    "DROP TABLE studies",
    "ALTER TABLE new_studies RENAME TO studies",
    "ALTER TABLE entries ADD COLUMN more BLOB",
    "DROP TRIGGER entries_update",
    "UPDATE entries SET more = zeroblob(20000)",
    "DROP TRIGGER entries_delete",
)


def to_made_up(connection: sqlite3.Connection, draw: Draw, *, kill_at: int | None = None) -> None:
    """Take the step; die just before the statement ``kill_at``."""
    for number, statement in enumerate(STATEMENTS):
        if number == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        connection.execute(statement)
    for table in ("studies", "entries"):
        append_only(connection, table)
    connection.execute("INSERT INTO meta (key, value) VALUES ('drawn', ?)", (draw(),))
    if kill_at == len(STATEMENTS):
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def known(*more: Migration) -> Iterator[None]:
    """Let this process know further versions than there are, each by the step that leads to it."""
    before = versions.MIGRATIONS
    vars(versions)["MIGRATIONS"] = (*before, *more)
    try:
        yield
    finally:
        vars(versions)["MIGRATIONS"] = before
