"""What carries letters between this holder and its analysts: a folder, or a mailbox.

The agent asks a carrier for what has arrived and hands it what is to leave; it trusts it with neither. A letter may
come late, twice, cut off, exchanged or never, and none of that is an error. A carrier raises one error, a
:class:`CarrierError`: that it cannot be reached, read or written at all. Whoever uses it tries again later.

Where a carrier looks, and how often, depends on what has arrived and on the clock, never on what is computed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from panbayes.consortium.post.folder import MAX_LETTERS, Folder
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.letters import Header, Kind, Letter, LetterError, Signed, stem_of
from panbayes.errors import InputError

__all__ = ["Arrived", "Carrier", "CarrierError", "FolderCarrier"]

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
"""Seconds between two looks into a folder: short at first, then longer."""

_FEW: Final = 100
_BYTES: Final = 2**20
"""Letters that come at once, and when there are enough bytes of them: a flood costs one look for so many, and no memory
to speak of."""

_COMPARED: Final = 2.0
"""Seconds after which letters that need not come again are looked at once more: whether they are what they were."""

_PEEK: Final = 1024
"""Bytes of a letter that tell whom it is addressed to."""

_File: TypeAlias = tuple[int, int, int]
"""What a file is known by while it stays as it is: its number, its time and its size."""


class CarrierError(InputError):
    """Letters can neither be fetched nor handed over now: no network, no folder, no room."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A letter that came: of which ``kind``, to which ``name``, and what its file is called.

    ``name`` is what the analyst calls this holder, which is where answers go; nothing proves it, nor anything else
    here, before the signature of the ``letter`` is checked.
    """

    name: str
    stem: str
    kind: Kind
    letter: Signed

    @property
    def known_by(self) -> str:
        """What tells it from other letters of this carrier."""
        return f"{self.name}/{self.stem}.{self.kind}"


class Carrier(Protocol):
    """Fetches and hands over letters; see the module."""

    def collect(self, have: Collection[str], *, seconds: float) -> Sequence[Arrived]:
        """Return studies and questions for this holder, but those it ``have``; wait up to ``seconds`` for the first.

        ``have`` names letters as :attr:`Arrived.known_by` does: those that need not come again now. Questions that an
        answer of this holder lies beside do not come again either. What has changed since it came is another letter,
        and comes: it may have been there in part. Few letters come at once, studies first: a holder takes up one
        question at a time, and looks anew before long.
        """
        ...

    def deliver(self, name: str, header: Header, letter: Signed) -> None:
        """Hand over an answer or an approval; the same one may be handed over again."""
        ...


class FolderCarrier:
    """A folder as a carrier for the holder with this ``key``.

    The folder may hold letters to many holders. Looked into is every ``to-NAME`` in which some letter is addressed to
    this key; what lies in the others is other people's.
    """

    def __init__(self, folder: Folder, key: PublicKey) -> None:
        """Look into a folder."""
        self._folder = folder
        self._key = key
        self._names: set[str] = set()
        self._others: dict[tuple[str, str], _File] = {}
        self._answered: dict[str, tuple[_File, _File]] = {}
        self._brought: dict[str, tuple[_File | None, _File | None]] = {}
        self._compare_at = 0.0

    def collect(self, have: Collection[str], *, seconds: float) -> Sequence[Arrived]:
        """Return what lies in the folder; see :class:`Carrier`."""
        end, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while True:
            found = list(self._look(have))
            left = end - time.monotonic()
            if found or left <= 0:
                return found
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def deliver(self, name: str, header: Header, letter: Signed) -> None:
        """Put an answer or an approval into ``from-NAME``; its time says the second in which it left, and no more."""
        try:
            self._folder.put("from", name, header, letter)
        except InputError as error:
            raise CarrierError(error.argument, found=error.found, remedy=error.remedy) from None
        second = int(time.time())
        base = self._folder.path / f"from-{name}" / f"{stem_of(header)}.{header.kind}"
        for path in (base, base.with_name(f"{base.name}.sig")):
            with suppress(OSError):
                os.utime(path, (second, second), follow_symlinks=False)

    def _look(self, have: Collection[str]) -> Iterator[Arrived]:
        try:
            os.close(os.open(self._folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        except OSError as error:
            raise CarrierError(
                self._folder.argument,
                found=f"{self._folder.path} cannot be read ({(error.strerror or 'not there').lower()})",
                remedy="give the folder that letters lie in",
            ) from None
        few, bytes_left = 0, _BYTES
        for arrived in self._all(have):
            yield arrived
            few, bytes_left = few + 1, bytes_left - len(arrived.letter.data)
            if few == _FEW or bytes_left <= 0:
                return

    def _all(self, have: Collection[str]) -> Iterator[Arrived]:
        kinds: tuple[Kind, ...] = ("study", "question")
        names = [name for name in self._folder.names("to") if self._is_own(name)]
        compare = time.monotonic() >= self._compare_at
        if compare:
            self._compare_at = time.monotonic() + _COMPARED
        for kind in kinds:
            for name in names:
                yield from self._fetch(name, kind, have, compare=compare)

    def _fetch(self, name: str, kind: Kind, have: Collection[str], *, compare: bool) -> Iterator[Arrived]:
        for stem in self._folder.stems("to", name, kind):
            entry = f"{stem}.{kind}"
            known_by = f"{name}/{entry}"
            if known_by in have and not compare:
                continue
            # A file that was cut off, or another's, and is there whole now is a letter that has just come.
            files = self._file("to", name, entry), self._file("to", name, f"{entry}.sig")
            if known_by in have and self._brought.get(known_by, files) == files:
                continue
            if kind == "question" and self._is_answered(name, stem):
                continue
            letter = self._folder.get("to", name, stem, kind)
            if letter is not None:
                if len(self._brought) >= MAX_LETTERS:
                    self._brought.clear()
                self._brought[known_by] = files
                yield Arrived(name, stem, kind, letter)

    def _is_own(self, name: str) -> bool:
        """Tell whether some letter to ``name`` is addressed to this holder's key; every file is looked at once."""
        if name in self._names:
            return True
        kinds: tuple[Kind, ...] = ("study", "question")
        for kind in kinds:
            for stem in self._folder.stems("to", name, kind):
                entry = f"{stem}.{kind}"
                found = self._file("to", name, entry)
                if found is None or self._others.get((name, entry)) == found:
                    continue
                if self._addressee(name, entry) == self._key.fingerprint:
                    self._names.add(name)
                    return True
                self._others[name, entry] = found
        return False

    def _addressee(self, name: str, entry: str) -> str | None:
        with suppress(OSError, LetterError):
            path = self._folder.path / f"to-{name}" / entry
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return Letter.decode(file.read(_PEEK)).header.holder
        return None

    def _is_answered(self, name: str, stem: str) -> bool:
        """Tell whether an answer of this holder to the question that lies there lies there too."""
        files = self._file("to", name, f"{stem}.question"), self._file("from", name, f"{stem}.answer")
        question, answer = files
        if question is None or answer is None or not self._folder.has("from", name, stem, "answer"):
            return False
        if self._answered.get(f"{name}/{stem}") == files:
            return True
        asked = self._folder.get("to", name, stem, "question")
        replied = self._folder.get("from", name, stem, "answer")
        letter = None if replied is None else replied.open(self._key, "answer")
        if asked is None or letter is None or letter.header.replies_to != asked.digest:
            return False
        self._answered[f"{name}/{stem}"] = question, answer
        return True

    def _file(self, side: str, name: str, entry: str) -> _File | None:
        try:
            found = os.lstat(f"{self._folder.path}/{side}-{name}/{entry}")
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
