"""What a ledger's file is made of: its tables, and the triggers that refuse to change what has been charged.

A ledger carries :data:`APPLICATION` and :data:`VERSION` in SQLite's ``application_id`` and ``user_version``. There is
one version; a ledger of another one is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Final, TypeAlias

from panbayes.consortium.holder.ledger.events import FIRST_DIGEST
from panbayes.consortium.holder.ledger.notes import notes_digest

__all__ = ["APPLICATION", "VERSION", "Draw", "Layout", "expected_layout", "lay_out", "layout_of"]

Draw: TypeAlias = Callable[[], bytes]
"""A source of 32 bytes: secret ones for a ledger on disk."""

Layout: TypeAlias = dict[tuple[str, str], str | None]
"""The tables, indices and triggers of a ledger: kind and name, and the statement that made each."""

APPLICATION: Final = int.from_bytes(b"panb", "big")
VERSION: Final = 1

_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE notes (position INTEGER PRIMARY KEY, after INTEGER NOT NULL, what TEXT NOT NULL, content TEXT);
CREATE TABLE marks (schema TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (schema, digest));
CREATE TABLE units (schema TEXT PRIMARY KEY, unit TEXT);
CREATE TABLE studies (hash TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES studies,
    question TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    loss TEXT NOT NULL,
    reply TEXT NOT NULL,
    head TEXT NOT NULL,
    asked BLOB NOT NULL,
    replied BLOB NOT NULL,
    secret BLOB NOT NULL,
    notes TEXT NOT NULL,
    events TEXT NOT NULL
);
CREATE INDEX spending ON entries (study, kind, loss);
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    what TEXT NOT NULL,
    study TEXT NOT NULL,
    asker TEXT NOT NULL,
    question TEXT NOT NULL,
    detail TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX happenings ON events (study, what, time);
CREATE TABLE strangers (day TEXT NOT NULL, what TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (day, what));
CREATE TABLE register (person BLOB PRIMARY KEY, block TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pinned (study TEXT PRIMARY KEY, digest BLOB NOT NULL)
"""

_APPEND_ONLY: Final = ("notes", "studies", "entries", "events", "register", "pinned")


def lay_out(connection: sqlite3.Connection, draw: Draw) -> None:
    """Make an empty file a ledger without entries. The caller holds the transaction."""
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    for table in _APPEND_ONLY:
        for verb in ("update", "delete"):
            connection.execute(
                f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
            )
    begun = {
        "ledger": draw(),
        "key": draw(),
        "notes": notes_digest(()).encode(),
        "events": FIRST_DIGEST.encode(),
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", begun.items())
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={VERSION}")


def layout_of(connection: sqlite3.Connection) -> Layout:
    """Return what a ledger's file is made of."""
    return {
        (str(kind), str(name)): statement
        for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_master")
    }


def expected_layout() -> Layout:
    """Return what the file of every ledger is made of."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        lay_out(connection, lambda: bytes(32))
        return layout_of(connection)
