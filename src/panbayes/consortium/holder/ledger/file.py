"""The file of a ledger: SQLite, mode 0600, made in one step, durable at every commit.

Why these settings:

* ``journal_mode=TRUNCATE`` with ``synchronous=FULL``: a commit ends by cutting the journal to nothing *and* syncing
  that, so it survives a power cut. (With ``DELETE`` the directory would have to be synced too, which FULL does not
  do; a journal that came back would undo a charge whose reply has left. With ``WAL`` the newest charges would live in
  a second file that a careless copy leaves behind.) SQLite gives the journal the mode of the ledger, 0600.
* ``BEGIN IMMEDIATE``: whoever writes holds the one write lock from the first look at the budget to the commit, across
  processes; others wait, and after :data:`BUSY_SECONDS` they are told so.
* A new ledger is written under another name and linked to its own, so that a ledger is whole or absent; an empty or
  short file is a damaged one and never taken for a new one.
* Triggers refuse to change or delete what has been charged. They guard against slips, not against somebody with an
  editor: that is what the hash chain is for.
"""

from __future__ import annotations

import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from panbayes.errors import LedgerError
from panbayes.files import new_file

__all__ = ["BUSY_SECONDS", "connect", "create", "guarded", "memory"]

BUSY_SECONDS: Final = 60.0
"""How long to wait for another process that holds the ledger."""

APPLICATION: Final = int.from_bytes(b"panb", "big")
VERSION: Final = 1

_TABLES: Final = """
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
_KEPT: Final = ("caps", "studies", "entries")
_TRIGGER: Final = (
    "CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
)


def create(path: Path) -> bool:
    """Make an empty ledger at ``path``; return False if something is there already."""
    try:
        with new_file(path) as temporary, guarded(path):
            connection = sqlite3.connect(temporary, isolation_level=None)
            with closing(connection):
                # Nobody else knows the file yet: what counts is that it is on disk before it gets its name.
                connection.execute("PRAGMA journal_mode=OFF")
                _initialise(connection, lambda: secrets.token_bytes(32))
    except FileExistsError:
        return False
    except OSError as error:
        raise _cannot_be_made(path, error) from None
    return True


def _cannot_be_made(path: Path, error: OSError) -> LedgerError:
    return LedgerError(
        str(path),
        found=f"cannot be made ({(error.strerror or 'not writable').lower()})",
        remedy="give a folder that exists, on a local disk, that you may write to",
    )


def memory() -> sqlite3.Connection:
    """Make a ledger that is gone when it is closed. It is always the same one, so that a simulation can be repeated."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _initialise(connection, lambda: bytes(32))
    return connection


def connect(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open a ledger that exists, after checking that it is one and that nobody else may read it."""
    try:
        found = path.stat()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise LedgerError(str(path), found=f"cannot be read ({reason})", remedy="check the path") from None
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(str(path), found="is not a file", remedy="give a ledger file")
    if found.st_mode & 0o077:
        raise LedgerError(
            str(path),
            found=f"may be read by others (mode {stat.S_IMODE(found.st_mode):04o})",
            remedy=f"run: chmod 600 {path}",
        )
    with guarded(path):
        # check_same_thread: the ledger has its own lock, and a federation asks from several threads.
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            _configure(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def guarded(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into one line for the holder."""
    name = "ledger" if path is None else str(path)
    try:
        yield
    except UnicodeDecodeError:
        # Names and texts of a damaged file, and SQLite's messages about them, need not be text.
        raise LedgerError(name, found="is damaged", remedy="run `panbayes holder ledger verify`") from None
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorname", "")
        if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise LedgerError(
                name,
                found="is in use by another process",
                remedy="let that one finish and run this again: what has been answered is free to ask for again",
            ) from None
        raise LedgerError(
            name,
            found=f"cannot be used ({error})",
            remedy="see that the disk has room; if the file is damaged, run `panbayes holder ledger verify`",
        ) from None


def _initialise(connection: sqlite3.Connection, number: Callable[[], bytes]) -> None:
    connection.execute("BEGIN")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    for table in _KEPT:
        for verb in ("update", "delete"):
            connection.execute(_TRIGGER.format(table=table, verb=verb))
    for key in ("ledger", "key"):
        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, number()))
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={VERSION}")
    connection.execute("COMMIT")


def _configure(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(str(path), found="is not a ledger, or a damaged one", remedy="give a ledger file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise LedgerError(
            str(path), found=f"is a ledger of version {version}", remedy=f"this panbayes knows version {VERSION}"
        )
    mode = connection.execute("PRAGMA journal_mode=TRUNCATE").fetchone()[0]
    if mode != "truncate":
        raise LedgerError(str(path), found=f"keeps its journal by {mode}", remedy="close what else has it open")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA foreign_keys=ON")
