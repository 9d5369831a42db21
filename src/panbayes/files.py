"""Writing files so that nothing is ever half-written, in one place for everybody.

A file is written under a temporary name beside its own, synced, and only then given its name; the folder is synced
after that, so that the name survives a power cut too. :func:`output_file` replaces what was there,
:func:`new_file` never does.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panbayes.errors import InputError

__all__ = ["new_file", "output_file", "sync", "write_bytes", "write_text"]


@contextmanager
def output_file(path: str | Path, *, argument: str = "--output") -> Iterator[Path]:
    """Yield a temporary path; when the block ends well, move it to ``path`` durably, else remove it.

    The temporary file is created at once, so that a folder that is absent or not writable is refused before any
    work is done. ``argument`` names the output in errors.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(argument, found=f"{target} is a directory", remedy="give the name of a file")
    try:
        temporary = _temporary(target, mode=0o666)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(
            argument, found=f"{target} cannot be written ({reason})", remedy="give a file in a folder that exists"
        ) from None
    try:
        yield temporary
        sync(temporary)
        temporary.replace(target)
        sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path of mode 0600; when the block ends well, give it the name ``path`` durably, else remove it.

    Raises :class:`FileExistsError` if something has that name already, and :class:`OSError` as the system does.
    """
    temporary = _temporary(path, mode=0o600)
    try:
        yield temporary
        sync(temporary)
        path.hardlink_to(temporary)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: str | Path, data: bytes, *, argument: str = "--output") -> None:
    """Write a file in one step."""
    with output_file(path, argument=argument) as temporary:
        temporary.write_bytes(data)


def write_text(path: str | Path, text: str, *, argument: str = "--output") -> None:
    """Write a text file in one step."""
    write_bytes(path, text.encode(), argument=argument)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _temporary(target: Path, *, mode: int) -> Path:
    """Create an empty file beside the target, under a name nobody else has; the umask applies to its ``mode``."""
    path = target.with_name(f".{target.name[:40]}.{uuid.uuid4().hex[:12]}.tmp")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return path
