"""The analyst's side of the folder: which letter a holder gets next, and which reply of a holder is taken.

Out goes what lies in ``to-NAME``, studies first, then the first question that has no answer yet. In comes an answer or
an approval by NAME's key that replies, by its digest, to a letter which lies in ``to-NAME`` under the same stem and is
addressed to that key. The first reply to a letter stays: one that comes later, which may differ in its bytes because
it was sealed once more, is dropped, so that whoever reads the folder twice reads the same. A reply to a letter that is
no longer there (another lies under its name) makes room for a reply to the one that is.

Whether a body may come in at all is decided by its first bytes: it must say whose reply it is, and to which letter that
lies here, and an answer must be no longer than one to that question can be (:mod:`panbayes.consortium.desk.bounds`).

Nothing is held in memory but what files are known by; letters are read in pieces.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal, TypeAlias

from panbayes.consortium.desk.bounds import AnswerBounds
from panbayes.consortium.post.folder import Folder, opened_folder
from panbayes.consortium.post.letters import LIMITS, Header, Kind, Letter, LetterError, namespace_of, stem_of
from panbayes.consortium.post.requests import LETTER, SIGNATURE, armoured, one_line
from panbayes.consortium.post.signatures import MAX_SIGNATURE_BYTES, verify_digest
from panbayes.files import writing

if TYPE_CHECKING:
    from panbayes.consortium.post.keys import PublicKey

__all__ = ["HEAD", "PIECE", "Admission", "Incoming", "Letterbox", "Outgoing", "Reply", "Taken"]

Reply: TypeAlias = Literal["answer", "approval"]
Taken: TypeAlias = Literal["taken", "there already", "refused"]
Admission: TypeAlias = Literal["admitted", "refused", "too large"]

PIECE: Final = 65_536
"""Bytes that are read or written at a time."""

HEAD: Final = 1024
"""Bytes that a letter's header is within."""

_BELIEVED: Final = 2.0
"""Seconds for which a letter that was replied to is not looked at again when the next one is looked for."""

_REPLIES_TO: Final[dict[Reply, Kind]] = {"answer": "question", "approval": "study"}
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFINISHED: Final = ".upload."

_State: TypeAlias = tuple[int, int, int]
"""What a file is known by while it stays as it is: its number, its time and its size."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found in a file: its header, if it is a letter, and its digests."""

    header: Header | None
    sha256: str
    sha512: bytes


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A letter on its way to a holder: its open ``file``, its size and the headers that it goes out with."""

    file: IO[bytes]
    size: int
    headers: dict[str, str]


@dataclass(slots=True)
class Incoming:
    """A body on its way in: the ``file`` that its pieces go to, under a name that nobody looks at."""

    path: Path
    file: IO[bytes]

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self.file.write(piece)


class Letterbox:
    """The folder of one mailbox."""

    def __init__(self, folder: Folder) -> None:
        """Use a folder; remove what unfinished uploads have left in it."""
        self._folder = folder
        self._bounds = AnswerBounds()
        self._files: dict[Path, tuple[_State, _Found]] = {}
        self._replied: dict[str, tuple[PublicKey, tuple[_State | None, ...], float]] = {}
        for name in folder.names("from"):
            for left in (folder.path / f"from-{name}").glob(f"{_UNFINISHED}*"):
                with suppress(OSError):
                    left.unlink()

    def state(self, name: str) -> _State | None:
        """Return what the letters to a holder are known by while none comes or goes."""
        return _state(self._folder.path / f"to-{name}")

    def next_letter(self, name: str, key: PublicKey, have: Collection[str]) -> Outgoing | None:
        """Open the next letter to a holder that it does not have, to send it; None if there is none."""
        kinds: tuple[Kind, ...] = ("study", "question")
        for kind in kinds:
            for stem in self._folder.stems("to", name, kind):
                if f"{name}/{stem}.{kind}" in have:
                    continue
                if kind == "question" and self._is_replied(name, key, stem, "answer", since=_BELIEVED):
                    continue
                found = self._open(name, stem, kind)
                if found is not None:
                    return found
        return None

    def _open(self, name: str, stem: str, kind: Kind) -> Outgoing | None:
        """Open a letter; None if it is not there with its signature, or cannot be one."""
        base = self._folder.path / f"to-{name}" / f"{stem}.{kind}"
        line = one_line(self._signature(base))
        file = None if armoured(line) is None else _open(base, LIMITS[kind])
        if file is None:
            return None
        return Outgoing(file, os.fstat(file.fileno()).st_size, {LETTER: f"{name}/{stem}.{kind}", SIGNATURE: line})

    @contextmanager
    def incoming(self, name: str) -> Iterator[Incoming]:
        """Yield a place for a body; what is not taken from there is removed."""
        folder = self._folder.path / f"from-{name}"
        name = f"{_UNFINISHED}{secrets.token_hex(8)}.tmp"
        path = folder / name
        with opened_folder(folder) as place:
            handle = os.open(name, _NEW, 0o666, dir_fd=place)
        with os.fdopen(handle, "w+b") as file:
            try:
                yield Incoming(path, file)
            finally:
                with suppress(OSError):
                    path.unlink()

    def admits(self, name: str, key: PublicKey, kind: Reply, head: bytes, size: int) -> Admission:
        """Tell by the first bytes of a reply of this ``size`` whether the others need come."""
        header = self._replying(name, key, kind, head)
        if header is None:
            return "refused"
        most = LIMITS[kind]
        if kind == "answer":
            most = self._bounds.of(self._folder.path / f"to-{name}" / f"{stem_of(header)}.question")
        return "admitted" if size <= most else "too large"

    def take(self, name: str, key: PublicKey, kind: Reply, body: Incoming, signature: str) -> Taken:
        """Keep a reply whose signature is verified, unless it replies to nothing, or another does already."""
        body.file.flush()
        body.file.seek(0)
        header = self._replying(name, key, kind, body.file.read(HEAD))
        if header is None:
            return "refused"
        stem = stem_of(header)
        if self._is_replied(name, key, stem, kind):
            return "there already"
        target = self._folder.path / f"from-{name}" / f"{stem}.{kind}"
        beside = body.path.with_name(f"{body.path.name}.sig")
        with writing(target, argument=self._folder.argument):
            try:
                beside.write_bytes(signature.encode())
                beside.replace(target.with_name(f"{target.name}.sig"))
            finally:
                with suppress(OSError):
                    beside.unlink()
            body.path.replace(target)
        return "taken"

    def _replying(self, name: str, key: PublicKey, kind: Reply, head: bytes) -> Header | None:
        """Return what a reply says about itself, if it replies to a letter that lies here, as that letter says."""
        header = _header(head)
        if header is None or header.kind != kind or header.holder != key.fingerprint:
            return None
        stem = stem_of(header)
        there = self._folder.has("to", name, stem, _REPLIES_TO[kind])
        path = self._folder.path / f"to-{name}" / f"{stem}.{_REPLIES_TO[kind]}"
        letter = self._found(path, _REPLIES_TO[kind]) if there else None
        if letter is None or letter.header is None or letter.sha256 != header.replies_to:
            return None
        asked = letter.header
        same = (asked.kind, asked.holder, asked.study, asked.analyst, asked.round, asked.sequence) == (
            _REPLIES_TO[kind],
            key.fingerprint,
            header.study,
            header.analyst,
            header.round,
            header.sequence,
        )
        return header if same else None

    def _is_replied(self, name: str, key: PublicKey, stem: str, kind: Reply, *, since: float = 0.0) -> bool:
        """Tell whether a reply by this key to the letter that lies there lies there too, or did some seconds ago."""
        now, known = time.monotonic(), self._replied.get(f"{name}/{stem}.{kind}")
        if known is not None and known[0] == key and now - known[2] < since:
            return True
        if not self._folder.has("from", name, stem, kind):
            return False
        letter = self._folder.path / f"to-{name}" / f"{stem}.{_REPLIES_TO[kind]}"
        reply = self._folder.path / f"from-{name}" / f"{stem}.{kind}"
        states = _state(letter), _state(reply), _state(reply.with_name(f"{reply.name}.sig"))
        if known is not None and known[:2] == (key, states):
            self._replied[f"{name}/{stem}.{kind}"] = key, states, now
            return True
        asked, found = self._found(letter, _REPLIES_TO[kind]), self._found(reply, kind)
        if asked is None or found is None or found.header is None:
            return False
        if (found.header.kind, found.header.replies_to) != (kind, asked.sha256):
            return False
        if not verify_digest(key, namespace_of(kind), found.sha512, self._signature(reply)):
            return False
        self._replied[f"{name}/{stem}.{kind}"] = key, states, now
        return True

    def _found(self, path: Path, kind: Kind) -> _Found | None:
        """Return what is in the file of a letter; one that stays as it is is read once."""
        state = _state(path)
        known = self._files.get(path)
        if known is not None and known[0] == state:
            return known[1]
        file = _open(path, LIMITS[kind])
        if file is None or state is None:
            return None
        with file:
            found = _read(file)
        self._files[path] = state, found
        return found

    def _signature(self, base: Path) -> str:
        """Return the signature beside a letter, or nothing."""
        file = _open(base.with_name(f"{base.name}.sig"), MAX_SIGNATURE_BYTES)
        if file is None:
            return ""
        with file:
            return file.read(MAX_SIGNATURE_BYTES).decode(errors="replace")


def _read(file: IO[bytes]) -> _Found:
    head, sha256, sha512 = b"", hashlib.sha256(), hashlib.sha512()
    while piece := file.read(PIECE):
        head = head or piece[:HEAD]
        sha256.update(piece)
        sha512.update(piece)
    return _Found(_header(head), sha256.hexdigest(), sha512.digest())


def _header(head: bytes) -> Header | None:
    try:
        return Letter.decode(head).header
    except LetterError:
        return None


def _open(path: Path, limit: int) -> IO[bytes] | None:
    """Open a plain file of at most so many bytes; None for whatever else is there, or for nothing."""
    try:
        handle = os.open(path, _OPEN)
    except (OSError, ValueError):
        return None
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_size <= limit:
        return os.fdopen(handle, "rb")
    os.close(handle)
    return None


def _state(path: Path) -> _State | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
