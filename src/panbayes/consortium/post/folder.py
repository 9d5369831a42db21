"""The folder that letters lie in: a USB stick, a share, a synchronised drive, or what a mailbox serves.

::

    DIR/to-north/1f0c2a77b3d1-000007.question        from the analyst to north
    DIR/to-north/1f0c2a77b3d1-000007.question.sig
    DIR/from-north/1f0c2a77b3d1-000007.answer        from north to the analyst
    DIR/from-north/1f0c2a77b3d1-000007.answer.sig

Nobody trusts it: it may lose, delay, cut off, exchange or bring back files, and hold whatever others put there. So a
letter *has arrived* when it and its signature are there and belong together, and until then it has not; nothing that
lies in a folder is an error. A letter is written under another name and renamed, its signature first. Nothing waits for
the disk: a letter that is lost can be written again, and is the same.

Only plain files with these names are looked at, never links, and none larger than its kind allows. Nor is anything
written through a link: whoever else may write to the folder could point it anywhere.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from panbayes.consortium.post.letters import LIMITS, Header, Kind, Signed, stem_of
from panbayes.consortium.post.signatures import MAX_SIGNATURE_BYTES
from panbayes.errors import InputError
from panbayes.files import check_path, writing

__all__ = ["MAX_LETTERS", "NAME", "Folder", "Side", "check_name", "opened_folder"]

Side: TypeAlias = Literal["to", "from"]

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""What holders may be called between institutions: what every file system and every roster can hold."""

MAX_LETTERS: Final = 100_000
"""Letters of one kind that are looked at in one folder; what a flood puts behind them is not."""

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STEM: Final = re.compile(r"[0-9a-f]{12}-[0-9]{6,9}")


def check_name(name: str, *, argument: str) -> str:
    """Return a holder's name, or refuse one that a folder or a roster could not hold."""
    if not NAME.fullmatch(name) or name.endswith("."):
        raise InputError(
            argument,
            found=f'found the name "{name}"',
            remedy="give up to 40 letters, digits, dots, hyphens and underscores, such as north",
        )
    return name


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of letters at ``path``; ``argument`` names it in errors about writing."""

    path: Path
    argument: str = "--post"

    @classmethod
    def at(cls, path: str | Path, *, argument: str = "--post", make: bool = False) -> Folder:
        """Return the folder at ``path``, which must be there unless it may be made."""
        found = check_path(path, argument=argument)
        if make:
            with writing(found, argument=argument, remedy="give a folder that you may write to"):
                found.mkdir(parents=True, exist_ok=True)
        if not found.is_dir():
            raise InputError(argument, found=f"{found} is no folder", remedy="give the folder that letters lie in")
        return cls(found, argument)

    def put(self, side: Side, name: str, header: Header, letter: Signed) -> None:
        """Write a letter ``to`` or ``from`` a holder, whole or not at all."""
        folder = self.path / f"{side}-{name}"
        target = folder / f"{stem_of(header)}.{header.kind}"
        with writing(target, argument=self.argument), opened_folder(folder) as place:
            _write(place, f"{target.name}.sig", letter.signature.encode())
            _write(place, target.name, letter.data)

    def get(self, side: Side, name: str, stem: str, kind: Kind) -> Signed | None:
        """Return a letter and its signature; None if one of them is not there."""
        base = self.path / f"{side}-{name}" / f"{stem}.{kind}"
        signature = _read(base.with_name(f"{base.name}.sig"), MAX_SIGNATURE_BYTES)
        data = None if signature is None else _read(base, LIMITS[kind])
        return None if data is None or signature is None else Signed(data, signature.decode(errors="replace"))

    def has(self, side: Side, name: str, stem: str, kind: Kind) -> bool:
        """Tell whether a letter and its signature are there, unread."""
        base = self.path / f"{side}-{name}" / f"{stem}.{kind}"
        return base.is_file() and base.with_name(f"{base.name}.sig").is_file()

    def names(self, side: Side) -> list[str]:
        """Return the holders that have a folder on this side."""
        found = (entry.removeprefix(f"{side}-") for entry in _entries(self.path) if entry.startswith(f"{side}-"))
        return sorted(
            name for name in found if NAME.fullmatch(name) and not (self.path / f"{side}-{name}").is_symlink()
        )

    def stems(self, side: Side, name: str, kind: Kind) -> list[str]:
        """Return the stems of the letters of one kind, in order of study and sequence."""
        ending = f".{kind}"
        found = [
            entry.removesuffix(ending) for entry in _entries(self.path / f"{side}-{name}") if entry.endswith(ending)
        ]
        return sorted(stem for stem in found if _STEM.fullmatch(stem))[:MAX_LETTERS]


def _entries(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in entries]
    return []


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """Make a folder if there is none and yield a handle on it; a link is refused, also one that comes meanwhile."""
    with suppress(FileExistsError):
        path.mkdir()
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _write(place: int, name: str, data: bytes) -> None:
    temporary = f".{name}.{secrets.token_hex(8)}.tmp"  # A name that nobody else can have put something under.
    try:
        with os.fdopen(os.open(temporary, _NEW, 0o666, dir_fd=place), "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place)
        raise


def _read(path: Path, limit: int) -> bytes | None:
    """Read a plain file of at most so many bytes; None for whatever else is there, or for nothing."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file, suppress(OSError):
        data = file.read(limit + 1)
        return data if len(data) <= limit else None
    return None
