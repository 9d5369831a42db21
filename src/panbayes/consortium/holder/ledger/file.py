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
* A ledger has one name. SQLite finds the journal of a transaction that was cut off by the name of the file: under a
  second name, a hard link, what was half-written would be taken for whole, and what is charged there be undone later
  under the first. So a second name is refused, but for what a process has left that was killed while it made the file.
* Triggers refuse to change or delete what has been charged. They guard against slips, not against somebody with an
  editor: that is what the hash chain is for.

A ledger of another version is refused, also by a process that had the ledger open before.
"""

from __future__ import annotations

import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from panbayes.consortium.holder.ledger.layout import APPLICATION, VERSION, lay_out
from panbayes.errors import LedgerError
from panbayes.files import new_file, unfinished_names

__all__ = [
    "BUSY_SECONDS",
    "atomic",
    "connect",
    "connect_memory",
    "connect_reading",
    "create",
    "guarded",
    "no_secret",
    "secret",
]

BUSY_SECONDS: Final = 60.0
"""How long to wait for another process that holds the ledger."""


def create(path: Path) -> bool:
    """Make an empty ledger at ``path``; return False if something is there already."""
    try:
        with new_file(path) as temporary, guarded(path), closing(_open(temporary)) as connection:
            # Nobody else knows the file yet: what counts is that it is on disk before it gets its name.
            connection.execute("PRAGMA journal_mode=OFF")
            with _begun(connection, write=True):
                lay_out(connection, secret)
    except FileExistsError:
        return False
    except OSError as error:
        raise LedgerError(
            str(path),
            found=f"cannot be made ({(error.strerror or 'not writable').lower()})",
            remedy="give a folder that exists, on a local disk, that you may write to",
        ) from None
    return True


def connect(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open a ledger for use, after checking that it is one and that nobody else may read it."""
    _check_file(path)
    with guarded(path), ExitStack() as on_error:
        connection = _open(path, busy_seconds)
        on_error.callback(connection.close)
        _check_version(connection, path)
        mode = connection.execute("PRAGMA journal_mode=TRUNCATE").fetchone()[0]
        if mode != "truncate":
            raise LedgerError(str(path), found=f"keeps its journal by {mode}", remedy="close what else has it open")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")
        connection.execute("PRAGMA foreign_keys=ON")
        on_error.pop_all()
        return connection


def connect_reading(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open a ledger to look at it: the file is not changed, except that a transaction cut off by a crash is undone."""
    _check_file(path)
    with guarded(path), ExitStack() as on_error:
        connection = _open(path, busy_seconds)
        on_error.callback(connection.close)
        _check_version(connection, path)
        connection.execute("PRAGMA query_only=ON")
        on_error.pop_all()
        return connection


def connect_memory() -> sqlite3.Connection:
    """Make a ledger that is gone when it is closed. It is always the same one, so that a simulation can be repeated."""
    connection = _open()
    with _begun(connection, write=True):
        lay_out(connection, no_secret)
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


@contextmanager
def atomic(connection: sqlite3.Connection, path: Path | None, *, write: bool) -> Iterator[None]:
    """Run the block as one transaction: all of it is committed, durably, when the block ends well; else none of it."""
    with guarded(path), _begun(connection, write=write):
        _check_version(connection, path)
        yield


@contextmanager
def guarded(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into one line for the holder."""
    try:
        yield
    except UnicodeDecodeError:
        # Names and texts of a damaged file, and SQLite's messages about them, need not be text.
        raise _damaged(path) from None
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorname", "")
        if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise LedgerError(
                _name(path),
                found="is in use by another process",
                remedy="let that one finish and run this again: what has been answered is free to ask for again",
            ) from None
        raise LedgerError(
            _name(path),
            found=f"cannot be used ({error})",
            remedy="see that the disk has room; if the file is damaged, run `panbayes holder ledger verify`",
        ) from None


def _open(path: Path | str = ":memory:", busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    # check_same_thread: the ledger has its own lock, and a federation asks from several threads.
    return sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
    )


def no_secret() -> bytes:
    """Return 32 bytes that are always the same, for a ledger in memory: what is simulated can be repeated."""
    return bytes(32)


def secret() -> bytes:
    """Draw 32 bytes that nobody can guess."""
    return secrets.token_bytes(32)


@contextmanager
def _begun(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_file(path: Path) -> None:
    try:
        mode, names = path.stat().st_mode, _names(path)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise LedgerError(str(path), found=f"cannot be read ({reason})", remedy="check the path") from None
    if not stat.S_ISREG(mode):
        raise LedgerError(str(path), found="is not a file", remedy="give a ledger file")
    if mode & 0o077:
        raise LedgerError(
            str(path),
            found=f"may be read by others (mode {stat.S_IMODE(mode):04o})",
            remedy=f"run: chmod 600 {path}",
        )
    if names > 1:
        raise LedgerError(
            str(path),
            found="has another name as well, a hard link: what is charged under one could be undone under the other",
            remedy=f"remove the other; `find DIR -samefile {path}` finds it",
        )


def _names(path: Path) -> int:
    """Count the names of a file, without those that it was made under by a process that was killed, or is at it now."""
    if path.stat().st_nlink == 1:
        return 1
    # Looked for before it is counted again: whoever makes the file may be done in between.
    left = [name for name in unfinished_names(path) if _is_same(name, path)]
    return path.stat().st_nlink - len(left)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _check_version(connection: sqlite3.Connection, path: Path | None) -> None:
    """Refuse what is no ledger, and a ledger of another version."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(_name(path), found="is not a ledger, or a damaged one", remedy="give a ledger file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise LedgerError(
            _name(path),
            found=f"is a ledger of version {version}",
            remedy=f"this panbayes uses version {VERSION}: use the panbayes that made the ledger",
        )


def _damaged(path: Path | None) -> LedgerError:
    return LedgerError(_name(path), found="is damaged", remedy="run `panbayes holder ledger verify`")


def _name(path: Path | None) -> str:
    return "ledger" if path is None else str(path)
