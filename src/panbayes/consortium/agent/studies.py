"""The study letters that have arrived: kept as they came, in the holder's state, until an officer decides and after.

``STATE/post/studies/`` (mode 0700) holds a file and its signature (mode 0600) for each letter, named by the study and
by the letter. A letter that comes again is the same file; a new letter about the same study is another, and needs an
approval of its own. Nothing is removed. The number of letters of one analyst and of their bytes is bounded, so that an
analyst who sends without end fills no disk, and keeps nobody else's out.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.study_letters import NotArrivedError, ProposedStudy, read_study_letter
from panbayes.consortium.post.letters import LIMITS, MAX_HEADER, Letter, LetterError, Signed
from panbayes.consortium.post.signatures import MAX_SIGNATURE_BYTES
from panbayes.display import shortened
from panbayes.errors import InputError
from panbayes.files import new_file, writing

__all__ = ["MAX_BYTES", "MAX_LETTERS", "Arrived", "Studies", "read_letter_file"]

MAX_LETTERS: Final = 200
MAX_BYTES: Final = 64 * 2**20
"""What is kept at most, of all letters of one analyst together."""

_NAME: Final = re.compile(r"[0-9a-f]{12}-[0-9a-f]{16}\.study")
_PREFIX: Final = 8
"""Digits of a hash that name a study at least."""

_SHOWN: Final = 300
"""Characters of hashes that are shown where one has to be chosen."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A proposed study and when its letter came."""

    proposed: ProposedStudy
    time: dt.datetime


class Studies:
    """The studies that were proposed to a holder; see the module."""

    def __init__(self, holder: HolderFile) -> None:
        """Use the folder in the holder's state."""
        self._holder = holder
        self._folder = holder.post("studies").path

    def keep(self, letter: Signed) -> ProposedStudy:
        """Keep a letter if it has arrived; raise a :class:`NotArrivedError` if it has not."""
        proposed = read_study_letter(letter, self._holder)
        target = self._folder / f"{proposed.study.hash[:12]}-{letter.digest[:16]}.study"
        if self._read(target) is not None:
            return proposed
        kept = [path for path in self._files() if _analyst(path) in (proposed.analyst.key.fingerprint, None)]
        size = sum(_size(path) for path in kept) + len(letter.data)
        if len(kept) >= MAX_LETTERS or size > MAX_BYTES:
            raise NotArrivedError(
                "unreadable", f"{self._folder} is full: move away letters of studies that nobody waits for"
            )
        with writing(target, argument=f"{self._holder.file}, state"):
            for path, data in ((_signature(target), letter.signature.encode()), (target, letter.data)):
                path.unlink(missing_ok=True)
                with new_file(path) as temporary:
                    temporary.write_bytes(data)
        return proposed

    def all(self) -> list[Arrived]:
        """Return every letter that was kept and still holds, the newest first.

        One that does not, because its analyst is no longer in the holder's file, counts as if it had not come.
        """
        return sorted(self._arrived(self._files()), key=lambda arrived: arrived.time, reverse=True)

    def of(self, study: str) -> list[Arrived]:
        """Return the letters about the study with this hash, the newest first."""
        files = [path for path in self._files() if path.name.startswith(study[:12])]
        found = sorted(self._arrived(files), key=lambda arrived: arrived.time, reverse=True)
        return [arrived for arrived in found if arrived.proposed.study.hash == study]

    def find(self, text: str) -> Arrived:
        """Return the newest letter about the study that is meant: by how its hash begins, by name, or by a file.

        A hash comes first: names are chosen by who asks, and one that looks like another study's hash hides nothing.
        """
        hashes: dict[str, Arrived] = {}
        names: dict[str, Arrived] = {}
        for arrived in self.all():
            study = arrived.proposed.study
            if len(text) >= _PREFIX and study.hash.startswith(text):
                hashes.setdefault(study.hash, arrived)
            if study.name == text:
                names.setdefault(study.hash, arrived)
        found = hashes or names
        if not found and (os.sep in text or text.endswith(".study")):
            proposed = self.keep(read_letter_file(text, argument="STUDY"))
            return next(one for one in self.of(proposed.study.hash) if one.proposed.letter == proposed.letter)
        if not found:
            raise InputError(
                "STUDY",
                found=f'no study that has arrived is "{text}"',
                remedy="give its name or its hash as `panbayes holder pending` shows them",
            )
        if len(found) > 1:
            raise InputError(
                "STUDY",
                found=f'more than one study is "{text}"',
                remedy=f"give the hash of the one that is meant: {shortened(sorted(found), width=_SHOWN)}",
            )
        return next(iter(found.values()))

    def _files(self) -> list[Path]:
        with suppress(OSError):
            return sorted(path for path in self._folder.iterdir() if _NAME.fullmatch(path.name))
        return []

    def _arrived(self, files: list[Path]) -> Iterator[Arrived]:
        for path in files:
            letter = self._read(path)
            if letter is None:
                continue
            with suppress(NotArrivedError, OSError):
                time = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC)
                yield Arrived(read_study_letter(letter, self._holder), time)

    def _read(self, path: Path) -> Signed | None:
        try:
            return Signed(path.read_bytes(), _signature(path).read_text(errors="replace"))
        except OSError:
            return None


def read_letter_file(path: str | Path, *, argument: str) -> Signed:
    """Read a letter and the signature beside it."""
    file = Path(path)
    try:
        if _size(file) > LIMITS["study"] or _size(_signature(file)) > MAX_SIGNATURE_BYTES:
            raise InputError(argument, found=f"{file} is too large for a letter", remedy="give a .study file")
        return Signed(file.read_bytes(), _signature(file).read_text(errors="replace"))
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "unreadable").lower()
        raise InputError(
            argument,
            found=f"{file} or the signature beside it cannot be read ({reason})",
            remedy="give a .study file with its .study.sig beside it",
        ) from None


def _signature(path: Path) -> Path:
    return path.with_name(f"{path.name}.sig")


def _size(path: Path) -> int:
    return path.stat().st_size


def _analyst(path: Path) -> str | None:
    """Return whose letter lies there, by its header; None if it is no letter."""
    try:
        with path.open("rb") as file:
            return Letter.decode(file.read(MAX_HEADER)).header.analyst
    except (OSError, LetterError):
        return None
