"""Writing files so that nothing is ever half-written, in one place for everybody.

A file is written under a temporary name beside its own, synced, and only then given its name; the folder is synced
after that, so that the name survives a power cut too. :func:`output_file` replaces what was there,
:func:`new_file` never does.

A file that is replaced keeps its permissions; one that is new gets those of the umask, or 0600 from :func:`new_file`.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panbayes.errors import InputError

__all__ = ["new_file", "output_file", "sync", "sync_folder", "write_bytes", "write_text", "writing"]


@contextmanager
def output_file(path: str | Path, *, argument: str = "--output") -> Iterator[Path]:
    """Yield a temporary path; when the block ends well, move it to ``path`` durably, else remove it.

    The temporary file is created at once, so that a folder that is absent or not writable is refused before any
    work is done. Who writes to it does so in a block of :func:`writing`. ``argument`` names the output in errors.
    """
    target = Path(path)
    with writing(target, argument=argument, remedy="give a file in a folder that exists"):
        if target.exists() and not target.is_file():
            # A device, such as /dev/null, must not be replaced by a file either.
            found = "a directory" if target.is_dir() else "not a file"
            raise InputError(argument, found=f"{target} is {found}", remedy="give the name of a file")
        temporary = _temporary(target, mode=0o666)
    try:
        if target.exists():
            # Before anything is written: what only its owner could read stays so at every moment.
            temporary.chmod(target.stat().st_mode & 0o777 | 0o600)
        yield temporary
        with writing(target, argument=argument):
            sync(temporary)
            temporary.replace(target)
            sync_folder(target.parent)
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
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_bytes(path: str | Path, data: bytes, *, argument: str = "--output") -> None:
    """Write a file in one step."""
    with output_file(path, argument=argument) as temporary, writing(Path(path), argument=argument):
        temporary.write_bytes(data)


def write_text(path: str | Path, text: str, *, argument: str = "--output") -> None:
    """Write a text file in one step."""
    write_bytes(path, text.encode(), argument=argument)


def sync(path: Path) -> None:
    """Wait until a file is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, where the file system can do that (network shares may not)."""
    try:
        sync(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


@contextmanager
def writing(
    target: Path, *, argument: str = "--output", remedy: str = "make room, or give another folder"
) -> Iterator[None]:
    """Turn what the system refuses while something is written into an error about ``target``."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(argument, found=f"{target} cannot be written ({reason})", remedy=remedy) from None


def _temporary(target: Path, *, mode: int) -> Path:
    """Create an empty file beside the target, under a name nobody else has; the umask applies to its ``mode``."""
    path = target.with_name(f".{target.name[:40]}.{uuid.uuid4().hex[:12]}.tmp")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return path
