"""The versions of a ledger's file: what each one added, from an empty file to the newest.

A ledger carries its version in SQLite's ``user_version``. :data:`MIGRATIONS` is the whole history: the step at index n
turns a ledger of version n into one of version n + 1, and the first turns an empty file into version 1. A new ledger
takes every step, an old one those it has not taken, so both end with the same tables. To change the format is to append
one step; the steps before it never change.

A step runs inside one transaction, with foreign keys off, so that it may rebuild a table. It finds the triggers of
:func:`append_only` in place: to change what has been charged it must drop them and put them back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Final, TypeAlias

from panbayes.consortium.holder.ledger.events import FIRST_DIGEST
from panbayes.consortium.holder.ledger.notes import Note, notes_digest

__all__ = [
    "APPLICATION",
    "MARK_VERSION",
    "MIGRATIONS",
    "Draw",
    "Layout",
    "Migration",
    "append_only",
    "layout_of",
    "migrate",
    "newest",
    "newest_layout",
    "version_of",
]

Draw: TypeAlias = Callable[[], bytes]
"""A source of 32 bytes: secret ones for a ledger on disk."""

Migration: TypeAlias = Callable[[sqlite3.Connection, Draw], None]
"""A step from one version to the next."""

Layout: TypeAlias = dict[tuple[str, str], str | None]
"""The tables, indices and triggers of a ledger: kind and name, and the statement that made each."""

APPLICATION: Final = int.from_bytes(b"panb", "big")
"""What SQLite's ``application_id`` says in every ledger."""

MARK_VERSION: Final = 4
"""The version of ledgers that first made marks as they are made today."""

_VERSION_1: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE caps (position INTEGER PRIMARY KEY, after INTEGER NOT NULL, loss TEXT);
CREATE TABLE bindings (schema TEXT PRIMARY KEY, digest BLOB NOT NULL);
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
    replied BLOB NOT NULL
);
CREATE INDEX spending ON entries (study, kind, loss);
"""


def append_only(connection: sqlite3.Connection, table: str) -> None:
    """Let triggers refuse to change or delete what is in a table."""
    for verb in ("update", "delete"):
        connection.execute(
            f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        )


def _to_version_1(connection: sqlite3.Connection, draw: Draw) -> None:
    for statement in _VERSION_1.split(";"):
        connection.execute(statement)
    for table in ("caps", "studies", "entries"):
        append_only(connection, table)
    for key in ("ledger", "key"):
        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, draw()))
    connection.execute(f"PRAGMA application_id={APPLICATION}")


_VERSION_2: Final = """
CREATE TABLE notes (position INTEGER PRIMARY KEY, after INTEGER NOT NULL, what TEXT NOT NULL, content TEXT);
INSERT INTO notes SELECT position, after, 'cap', loss FROM caps ORDER BY position;
DROP TABLE caps;
ALTER TABLE entries ADD COLUMN secret BLOB;
ALTER TABLE entries ADD COLUMN notes TEXT;
CREATE TABLE units (schema TEXT PRIMARY KEY, unit TEXT);
CREATE TABLE marks (schema TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (schema, digest))
"""


def _to_version_2(connection: sqlite3.Connection, _draw: Draw) -> None:
    """Salt what is charged from now on, and put caps among the notes.

    Entries of version 1 keep their heads, which have gone out, and have no secret. Bindings of version 1 stay too, and
    find their records; the marks beside them are written when the ledger is next used.
    """
    for statement in _VERSION_2.split(";"):
        connection.execute(statement)
    append_only(connection, "notes")
    rows = connection.execute("SELECT after, what, content FROM notes ORDER BY position")
    digest = notes_digest(Note(*row) for row in rows)
    connection.execute("INSERT INTO meta VALUES ('notes', ?)", (digest.encode(),))


def _to_version_3(_connection: sqlite3.Connection, _draw: Draw) -> None:
    """Change no table: from here on notes may say that answers failed.

    It is a version of its own, so that a panbayes that does not know these notes leaves a paused study alone.
    """


def _to_version_4(connection: sqlite3.Connection, _draw: Draw) -> None:
    """Say of every mark by which version it was made; those there are were made by version 2.

    Marks of today are written beside them when the ledger is next used.
    """
    connection.execute("ALTER TABLE marks ADD COLUMN version INTEGER NOT NULL DEFAULT 2")


_VERSION_5: Final = """
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
ALTER TABLE entries ADD COLUMN events TEXT
"""


def _to_version_5(connection: sqlite3.Connection, _draw: Draw) -> None:
    """Write down what happens from now on, and count strangers; entries before it commit to no events."""
    for statement in _VERSION_5.split(";"):
        connection.execute(statement)
    append_only(connection, "events")
    connection.execute("INSERT INTO meta VALUES ('events', ?)", (FIRST_DIGEST.encode(),))


_VERSION_6: Final = """
CREATE TABLE register (person BLOB PRIMARY KEY, block TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pinned (study TEXT PRIMARY KEY, digest BLOB NOT NULL)
"""


def _to_version_6(connection: sqlite3.Connection, _draw: Draw) -> None:
    """Make room for a declared dataset; a ledger that has none is one of a fixed table, found by its marks as before.

    What is declared, its blocks and what studies see of it are notes; charges may be for proposals beside studies.
    """
    for statement in _VERSION_6.split(";"):
        connection.execute(statement)
    for table in ("register", "pinned"):
        append_only(connection, table)


MIGRATIONS: tuple[Migration, ...] = (
    _to_version_1,
    _to_version_2,
    _to_version_3,
    _to_version_4,
    _to_version_5,
    _to_version_6,
)
"""Every step there has ever been, in order."""


def newest() -> int:
    """Return the version that this panbayes writes."""
    return len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a ledger; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, draw: Draw) -> None:
    """Take the steps that a ledger has not taken yet. The caller holds the transaction."""
    for step in MIGRATIONS[version_of(connection) :]:
        step(connection, draw)
    connection.execute(f"PRAGMA user_version={newest()}")


def layout_of(connection: sqlite3.Connection) -> Layout:
    """Return what a ledger's file is made of."""
    return {
        (str(kind), str(name)): statement
        for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_master")
    }


def newest_layout() -> Layout:
    """Return what a ledger of the newest version is made of."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, lambda: bytes(32))
        return layout_of(connection)
