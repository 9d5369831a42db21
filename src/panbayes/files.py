"""Writing files so that nothing is ever half-written, in one place for everybody.

A file is written under a temporary name beside its own, synced, and only then given its name; the folder is synced
after that, so that the name survives a power cut too. :func:`output_file` replaces what was there,
:func:`new_file` never does. :func:`nameless_file` is for what must not lie about under any name before it is whole.

What may be replaced is a regular file that nobody depends on (:func:`check_output`). Links are refused rather than
followed: to replace one would cut it, and to follow it would write where somebody else pointed.

A file that is replaced keeps its permissions and its group; one that is new gets those of the umask, or 0600 where it
holds what its owner alone may read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from panbayes.errors import InputError

__all__ = [
    "check_output",
    "check_path",
    "nameless_file",
    "new_file",
    "output_file",
    "remove_unfinished",
    "sync",
    "sync_folder",
    "unfinished_names",
    "write_bytes",
    "write_text",
    "writing",
]

_LEDGER: Final = ".ledger"
_BESIDE: Final = re.compile(r"(.*)-(?:journal|wal|shm|attempt|codes-[0-9a-f]{16})", re.DOTALL)
_CABINET, _LOCK = "ledgers", "lock"
_KEPT_BEGINNINGS: Final = {
    b"SQLite format 3\0": "a ledger or another database",
    b"panbayes stream\n": "the state of a stream",
    b"-----BEGIN OPENS": "a private key",
}
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ROOM: Final = "make room, or give another folder"

_UNFINISHED: set[Path] = set()


@contextmanager
def output_file(
    path: str | Path, *, argument: str = "--output", inputs: Iterable[object] = (), private: bool = False
) -> Iterator[Path]:
    """Yield a temporary path; when the block ends well, move it to ``path`` durably, else remove it.

    The temporary file is created at once, so that a folder that is absent or not writable is refused before any
    work is done. ``argument`` names the output in errors; ``inputs`` are files that it must not replace; a new file
    that is ``private`` can be read by its owner alone.
    """
    target, inputs = Path(path), tuple(inputs)
    check_output(target, argument=argument, inputs=inputs)
    with _unfinished(target) as temporary:
        with writing(target, argument=argument, remedy="give a file in a folder that exists"):
            _create(temporary, mode=0o600 if private else 0o666)
            # Before anything is written: what only its owner could read stays so at every moment.
            _keep_permissions(target, temporary)
        with writing(target, argument=argument, only=_NO_ROOM):
            yield temporary
        with writing(target, argument=argument):
            sync(temporary)
            check_output(target, argument=argument, inputs=inputs)
            temporary.replace(target)
            sync_folder(target.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path of mode 0600; when the block ends well, give it the name ``path`` durably, else remove it.

    Raises :class:`FileExistsError` if something has that name already, and :class:`OSError` as the system does.
    """
    with _unfinished(path) as temporary:
        _create(temporary, mode=0o600)
        yield temporary
        sync(temporary)
        path.hardlink_to(temporary)
    sync_folder(path.parent)


@contextmanager
def nameless_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file of mode 0600 that has no name yet; when the block ends well, give it the name ``path`` durably.

    Whoever is killed while it is written leaves nothing. Where the file system knows only files with names, it has a
    temporary one, and those that were left of ``path`` are removed first: nobody else may be writing the same.
    Raises what :func:`new_file` does.
    """
    for left in unfinished_names(path):
        left.unlink(missing_ok=True)
    handle = _open_nameless(path.parent)
    if handle is None:
        with new_file(path) as temporary, temporary.open("wb") as file:
            yield file
        return
    with os.fdopen(handle, "wb") as file:
        yield file
        file.flush()
        os.fsync(handle)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            # Only with a folder of the source, which its path makes no use of, is the link in it followed.
            os.link(_number_of(handle), path, src_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)
    sync_folder(path.parent)


def write_bytes(
    path: str | Path, data: bytes, *, argument: str = "--output", inputs: Iterable[object] = (), private: bool = False
) -> None:
    """Write a file in one step; the options are those of :func:`output_file`."""
    with output_file(path, argument=argument, inputs=inputs, private=private) as temporary:
        temporary.write_bytes(data)


def write_text(
    path: str | Path, text: str, *, argument: str = "--output", inputs: Iterable[object] = (), private: bool = False
) -> None:
    """Write a text file in one step; the options are those of :func:`output_file`."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # Names of files can be any bytes.
        raise InputError(
            argument, found="would hold a name that is not UTF-8", remedy="rename the file, or give another name"
        ) from None
    write_bytes(path, data, argument=argument, inputs=inputs, private=private)


def check_output(path: str | Path, *, argument: str = "--output", inputs: Iterable[object] = ()) -> None:
    """Refuse to replace what is no regular file, what is kept for good, and what is read.

    Kept are ledgers, by their name or their first bytes, what lies beside them, other databases, and states of
    streams; a name that a ledger or something beside it would have is refused also where nothing has it yet. Read are
    the ``inputs``: one that is a path to the very same file, also by another name or through a link, is not replaced.
    """
    target = check_path(path, argument=argument)
    try:
        named = _kept_name(target)
        if named:
            raise InputError(argument, found=f"{target} is the name of {named}", remedy="give another file")
        found = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return  # Nothing to lose; whether the folder is there shows when the file is made.
    except OSError as error:
        raise _refused(target, error, argument=argument, remedy="give another file") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(argument, found=f"{target} is a directory", remedy="give the name of a file")
    if stat.S_ISLNK(found.st_mode):
        raise InputError(argument, found=f"{target} is a link", remedy="give the file that it leads to, or another")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(argument, found=f"{target} is not a regular file", remedy="give the name of a file")
    if any(_is_same(found, given) for given in inputs):
        raise InputError(argument, found=f"{target} is also read by this command", remedy="give another file")
    kept = _kept(target, argument=argument)
    if kept:
        raise InputError(argument, found=f"{target} is {kept}", remedy="give another file")


def check_path(path: str | Path, *, argument: str | None = None) -> Path:
    """Return a path; refuse one with a NUL, which the system would call a wrong value of no argument."""
    if "\0" in str(path):
        named = repr(str(path)) if argument is None else argument
        raise InputError(named, found="holds a NUL, which no path can", remedy="check the path")
    return Path(path)


def remove_unfinished() -> None:
    """Remove whatever is being written, for a process that was asked to stop and ends without cleaning up."""
    for path in tuple(_UNFINISHED):
        for left in (path, path.with_name(f"{path.name}-journal")):
            with suppress(OSError):
                left.unlink()


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


def _is_same(found: os.stat_result, given: object) -> bool:
    """Tell whether something given is a path that leads to the file found."""
    if not isinstance(given, str | Path):
        return False
    try:
        return os.path.samestat(found, Path(given).stat())
    except (OSError, ValueError):
        return False


def _kept(target: Path, *, argument: str) -> str | None:
    try:
        handle = os.open(target, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise _refused(target, error, argument=argument, remedy="give another file") from None
    try:
        return _KEPT_BEGINNINGS.get(os.read(handle, 16))
    finally:
        os.close(handle)


def _kept_name(target: Path) -> str | None:
    """Return what is kept by such a name.

    A ledger goes by its name alone where it can: to open and close one would release the locks of this process.
    """
    beside = _BESIDE.fullmatch(target.name)
    if target.name.endswith(_LEDGER):
        return "a ledger"
    if beside and (beside[1].endswith(_LEDGER) or target.with_name(beside[1]).is_file()):
        return f"what is kept beside {beside[1]}"
    if target.name == _LOCK and Path(os.path.realpath(target.parent)).name == _CABINET:
        return "the lock of the ledgers beside it"
    return None


def _keep_permissions(target: Path, temporary: Path) -> None:
    """Give a temporary file the permissions and the group of what it will replace."""
    try:
        found = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    mode = stat.S_IMODE(found.st_mode) & 0o777 | 0o600
    if found.st_gid != temporary.stat().st_gid:
        try:
            os.chown(temporary, -1, found.st_gid)
        except OSError:
            mode &= 0o707  # Another group than before reads nothing.
    temporary.chmod(mode)


@contextmanager
def writing(
    target: Path, *, argument: str = "--output", remedy: str = _ROOM, only: tuple[int, ...] = ()
) -> Iterator[None]:
    """Turn what the system refuses while something is written, or ``only`` some of that, into an error about it."""
    try:
        yield
    except OSError as error:
        if only and _number(error) not in only:
            raise
        raise _refused(target, error, argument=argument, remedy=remedy) from None


def _refused(target: Path, error: OSError, *, argument: str, remedy: str) -> InputError:
    number = _number(error)
    told = error.strerror or ("not writable" if number is None else os.strerror(number))
    return InputError(argument, found=f"{target} cannot be written ({told.lower()})", remedy=remedy)


def _number(error: OSError) -> int | None:
    """Return the system's number of an error; polars gives it in the text alone."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    return int(told[1]) if error.errno is None and told else error.errno


def unfinished_names(path: Path) -> list[Path]:
    """Return what a process that was killed has left beside ``path``: files under names that it was written by."""
    left = re.compile(rf"{re.escape(_beginning(path))}\.[0-9a-f]{{12}}\.tmp")
    return [found for found in path.parent.iterdir() if left.fullmatch(found.name)]


def _beginning(target: Path) -> str:
    """Return how temporary names of a file begin: long names are cut, and told apart by their hash."""
    name = target.name
    return f".{name}" if len(name) <= 40 else f".{name[:31]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """Yield a name beside the target that nobody else has; whatever has it in the end is removed."""
    path = target.with_name(f"{_beginning(target)}.{uuid.uuid4().hex[:12]}.tmp")
    _UNFINISHED.add(path)
    try:
        yield path
    except BaseException:
        with suppress(OSError):  # What went wrong before is to be told, not that this went wrong too.
            path.unlink()
        raise
    else:
        path.unlink(missing_ok=True)
    finally:
        _UNFINISHED.discard(path)


def _create(path: Path, *, mode: int) -> None:
    """Create an empty file; the umask applies to its ``mode``."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))


def _open_nameless(folder: Path) -> int | None:
    """Open a file without a name in a folder, None where none can be opened there or given a name later."""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except (AttributeError, OSError):  # Whatever else is wrong with the folder shows when a file with a name is made.
        return None
    if not _number_of(handle).exists():
        os.close(handle)
        return None
    return handle


def _number_of(handle: int) -> Path:
    """Return the path by which an open file can be reached without a name."""
    return Path(f"/proc/self/fd/{handle}")
