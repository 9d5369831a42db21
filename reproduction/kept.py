"""What a run that is not finished has kept: the rows of every finished cell, in a file that only grows.

The first line says what run it is; every other line is one cell with its rows. A line is on the disk before the next
cell counts as done, so that a run can be killed at any moment: what is left of a line that was cut short is removed,
and the cell is computed again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from panbayes.errors import InputError
from panbayes.files import check_output, writing
from reproduction.results import Row, Value

__all__ = ["Kept", "keeping"]


class Kept:
    """The cells that are done, by their keys."""

    def __init__(self, file: BinaryIO, path: Path, run: Mapping[str, Value]) -> None:
        """Read a file that is open and locked; begin it if it is empty."""
        self._file, self._path = file, path
        self.done: dict[str, list[Row]] = {}
        whole = 0
        for number, line in enumerate(file):
            entry = _entry(line)
            if entry is None:
                break
            if number == 0 and entry != {"run": dict(run)}:
                raise InputError(
                    "--output",
                    found=f"{path} was begun by another run",
                    remedy="give another folder, or remove the file",
                )
            if number:
                self.done[str(entry["cell"])] = entry["rows"]
            whole += len(line)
        with writing(path):
            file.truncate(whole)
            file.seek(whole)
        if not whole:
            self._append({"run": dict(run)})

    def add(self, key: str, rows: Sequence[Row]) -> None:
        """Keep the rows of a cell."""
        self._append({"cell": key, "rows": [dict(row) for row in rows]})
        self.done[key] = list(rows)

    def _append(self, entry: object) -> None:
        with writing(self._path):
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return what a line says; nothing if it was cut short."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


@contextmanager
def keeping(path: Path, run: Mapping[str, Value]) -> Iterator[Kept]:
    """Open what a run has kept, or begin it, for this process alone."""
    check_output(path)
    with writing(path, remedy="give a folder that can be written"):
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    with os.fdopen(number, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                "--output",
                found=f"{path} is being written by another run",
                remedy="wait for it, or give another folder",
            ) from None
        yield Kept(file, path, run)
