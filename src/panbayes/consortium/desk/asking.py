"""Asking by letter: how a holder is reached through a folder.

A question becomes a letter to one holder, numbered 1, 2, 3, … per study and holder, and lies in the folder until an
answer lies there too. The answer is taken if it is signed by the holder's enrolled key, says the same study, analyst,
holder, round and number, replies to this very letter, is no larger than its answer can be, and can be an
answer to what was asked (:mod:`panbayes.consortium.analyst.reply_checks`).

What is not signed so *has not arrived*: whoever may write into a folder may put anything there, and must not end a run
by it. It is said once which file was not taken, and why. What *is* signed so, and cannot be an answer all the same, is
the holder's one answer to this question: the holder is **out** for the rest of the study, and nothing that it signs
later is looked at (:class:`~panbayes.errors.HolderOutError`). For were a second answer taken, a holder could choose
between two that it has seen; and an honest one has no second: its ledger repeats the first.

What was taken is in the journal before it is used, and is not looked for again. A refusal is taken too, and told; who
runs the command again asks the same under the next number. Numbers that the folder has seen with another question,
which a lost journal has forgotten, are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.reply_checks import GarbageError, NoiseError, check_reply
from panbayes.consortium.desk.bounds import answer_bound
from panbayes.consortium.desk.journal import Answer, Journal
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.letters import Header, Letter, LetterError, Signed, stem_of
from panbayes.consortium.post.sealing import open_sealed
from panbayes.consortium.protocol.codec import MalformedError, decode_question, decode_reply
from panbayes.consortium.protocol.envelope import Question, Refusal
from panbayes.errors import HolderOutError, HolderWaitingError, InputError

__all__ = ["Correspondence", "Tell"]

Tell: TypeAlias = Callable[[str], None]
"""Who is told, in one line."""

_Mark: TypeAlias = tuple[tuple[int, int, int], ...]
"""What two files are known by while they stay as they are: their numbers, times and sizes."""

_SAME: Final = {
    "study": "it is about another study",
    "analyst": "it is for another analyst",
    "holder": "it says that another holder wrote it",
    "round": "it is of another round",
    "sequence": "it has another number",
    "replies_to": "it replies to another letter",
}
"""What the header of an answer must say as the question does, and what is wrong if it does not."""


class _UnfitError(Exception):
    """What lies in the folder is not the answer that is waited for."""


class _UnusableError(_UnfitError):
    """It is the answer that is waited for, by its signature and header, and what is in it is none."""


@dataclass(slots=True)
class _Open:
    """A question that has not been answered: what was asked, by which letter, and whose answer was last ignored."""

    asked: Question
    header: Header
    letter: Signed
    ignored: _Mark | None = None


@dataclass(slots=True)
class Correspondence:
    """The letters to and from one holder, known as ``name`` by its ``holder`` key.

    Calling it with the bytes of a question returns those of the reply, or raises a
    :class:`~panbayes.errors.HolderWaitingError`: nothing here waits. A holder that is out raises a
    :class:`~panbayes.errors.HolderOutError`, whatever is asked.
    """

    study: Study
    key: PrivateKey
    name: str
    holder: PublicKey
    folder: Folder
    journal: Journal
    tell: Tell
    simulated: bool = False
    _answers: dict[str, tuple[Answer, bytes]] = field(default_factory=dict)
    _size: int | None = None
    _last: int = 0
    _open: _Open | None = None
    _refusal: tuple[str, bytes] = ("", b"")

    def __post_init__(self) -> None:
        """Remember what was taken before."""
        for answer in self.journal.answers(self.name):
            self._last = answer.sequence
            if not answer.refused:
                self._answers[answer.question] = answer, b""

    @property
    def answers(self) -> dict[str, Answer]:
        """The releases that were taken, by the question's id."""
        return {question: answer for question, (answer, _) in self._answers.items()}

    @property
    def ignored(self) -> bool:
        """Whether something lies where an answer is waited for, and was not taken."""
        return self._open is not None and self._open.ignored is not None

    def __call__(self, data: bytes) -> bytes:
        """Return the reply to a question if it has been taken, or can be now; put the question there if it is not."""
        asked = decode_question(data)
        if asked.id in self._answers:
            return self._taken_before(asked, data)
        out = self.out
        if out is not None:
            raise out
        if asked.id == self._refusal[0]:
            return self._refusal[1]  # Asked again in this run, it is told again.
        if self._open is None or self._open.asked.id != asked.id:
            self._open = self._number(asked, data)
        reply = self.look()
        if reply is None:
            raise HolderWaitingError(self.name)
        return reply

    @property
    def out(self) -> HolderOutError | None:
        """Why the holder is out, if it is."""
        found = self.journal.out(self.name)
        return None if found is None else HolderOutError(self.name, round_number=found[0], why=found[1])

    def look(self) -> bytes | None:
        """Look once whether the open question is answered; return the reply if it is, None if it is not.

        Raises a :class:`~panbayes.errors.HolderOutError` if it is answered by what cannot be used.
        """
        if self._open is None:
            return None
        stem = stem_of(self._open.header)
        if not self.folder.has("to", self.name, stem, "question"):
            self.folder.put("to", self.name, self._open.header, self._open.letter)
        mark = _mark(self._path(stem))
        if mark is None or mark == self._open.ignored:
            return None
        try:
            most = answer_bound(self._open.asked.query, self.study.schema.sizes)
            if mark[0][2] > most:
                raise _UnfitError(f"it is larger than an answer to this question can be, {most:,} bytes")
            return self._take(self._open, self.folder.get("from", self.name, stem, "answer"))
        except _UnfitError as error:
            self.tell(f"ignored {self._path(stem)}, which is no answer of {self.name}: {error}")
            self._open.ignored = mark
            return None

    def _path(self, stem: str) -> Path:
        return self.folder.path / f"from-{self.name}" / f"{stem}.answer"

    def _header(self, asked: Question, number: int) -> Header:
        own, its = self.key.public.fingerprint, self.holder.fingerprint
        return Header("question", self.study.hash, own, its, asked.round, number)

    def _number(self, asked: Question, data: bytes) -> _Open:
        """Make the letter of a question, under the first number that is free or has this question, and put it there."""
        number = self._last + 1
        while True:
            header = self._header(asked, number)
            letter = Letter(header, data).signed_by(self.key)
            there = self.folder.get("to", self.name, stem_of(header), "question")
            if there == letter:
                break
            before = None if there is None else there.open(self.key.public, "question")
            if before is None or replace(before.header, round=asked.round) != header:
                self.folder.put("to", self.name, header, letter)
                break
            number += 1
        return _Open(asked, header, letter)

    def _take(self, question: _Open, found: Signed | None) -> bytes:
        """Take an answer: check it, keep it, and only then return the reply in it."""
        if found is None:
            raise _UnfitError("it is no plain file, or cannot be read")
        asked = question.asked
        try:
            body, refused, size = self._opened(asked, question.header, question.letter.digest, found)
        except _UnusableError as error:
            answer = Answer(question.header.sequence, asked.round, asked.id, False, found)
            self.journal.take_unusable(self.name, answer, str(error))
            self._last, self._open = answer.sequence, None
            raise HolderOutError(self.name, round_number=asked.round, why=str(error)) from None
        answer = Answer(question.header.sequence, asked.round, asked.id, refused, found)
        self.journal.take(self.name, answer)
        self._last, self._open = answer.sequence, None
        if refused:
            self._refusal = asked.id, body
        else:
            self._answers[asked.id] = answer, body
            self._size = size
        return body

    def _opened(self, asked: Question, header: Header, digest: str, found: Signed) -> tuple[bytes, bool, int | None]:
        """Return the reply in a letter, whether it is a refusal, and the number of people that it says."""
        letter = found.open(self.holder, "answer")
        if letter is None:
            raise _UnfitError("it is not signed as an answer by the holder's key")
        wanted = replace(header, kind="answer", replies_to=digest)
        for name, complaint in _SAME.items():
            if getattr(letter.header, name) != getattr(wanted, name):
                raise _UnfitError(complaint)
        try:
            body = letter.body
            if letter.header.sealed:
                body = open_sealed(body, self.key, header=letter.header.encode())
            reply = decode_reply(body)
            check_reply(reply, asked, self.study, simulated=self.simulated, size=self._size)
        except NoiseError as error:
            remedy = "begin anew without --simulated" if self.simulated else "rehearse with a study of another name"
            raise _UnusableError(f"{error} ({remedy})") from None
        except (LetterError, MalformedError, GarbageError) as error:
            raise _UnusableError(str(error)) from None
        return body, isinstance(reply, Refusal), None if isinstance(reply, Refusal) else reply.size

    def _taken_before(self, asked: Question, data: bytes) -> bytes:
        """Return the reply that the journal holds, after checking it as if it had come now."""
        answer, body = self._answers[asked.id]
        if not body:
            header = self._header(asked, answer.sequence)
            letter = Signed(Letter(header, data).encode(), "")
            try:
                body, _, self._size = self._opened(asked, header, letter.digest, answer.letter)
            except _UnfitError as error:
                raise InputError(
                    "STUDY",
                    found=f"the journal holds an answer of {self.name} that is none: {error}",
                    remedy="move the journal away: answers that lie in the folder are found again",
                ) from None
            self._answers[asked.id] = answer, body
        return body


def _mark(path: Path) -> _Mark | None:
    """Return what a letter and its signature are known by; None if one of them is not there."""
    try:
        found = [one.lstat() for one in (path, path.with_name(f"{path.name}.sig"))]
    except OSError:
        return None
    return tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in found)
