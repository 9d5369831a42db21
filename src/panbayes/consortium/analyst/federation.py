"""Holders that can be asked, and nothing else: all that an analyst has of them.

A federation knows its holders by name and reaches each through a function from bytes to bytes: a gate in the same
process, or a mailbox. It puts one query to all of them at the same time, or to each its own, and hands back their
releases, after checking each (:mod:`panbayes.consortium.analyst.reply_checks`). It gives up with

* :class:`~panbayes.errors.HolderRefusedError` (exit code 3) if a holder refused: its name, the code and its
  words;
* :class:`~panbayes.errors.HolderFailedError` (exit code 4) if a holder could not be reached, answered with
  something that is no answer, contradicted an answer it gave before, or simulated its noise;
* :class:`~panbayes.errors.HolderOutError` (exit code 4) if the only answer that a holder will ever give, for it is
  signed, cannot be used;
* :class:`~panbayes.errors.HolderWaitingError` (exit code 6) if some have not answered yet, and nothing worse happened.

Where several holders refuse or fail in one round, the error is about the first by name; all of them were asked.
Asking again later is free for the holders that answered: the same question has the same id and gets the same bytes.

Who is missing: the study says whether a round waits for its holders, stops the run after some hours, or continues
without those that have given no answer by then, if enough are left. How long that has been, and who took part before,
is told by a :class:`~panbayes.consortium.analyst.course.Course`; it is settled, on disk, before releases are handed
back. A holder that is left out once is never asked again in the run, and what it answers later is not looked at. One
that refused or answered garbage is left out in the same way once its time is over: until then people can mend it, and
after that one holder without room under its cap must not hold up all others. One whose signed answer cannot be used
can mend nothing: where the study goes on without those that are missing, and enough are left, it is missing at once.

Heads: every release carries the head of its holder's ledger. :attr:`Federation.heads` keeps them; a holder that later
cannot show a chain with these heads in it has restored or rewritten its ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.attendance import Asked, Attendance
from panbayes.consortium.analyst.course import Course, ShortCourse
from panbayes.consortium.analyst.reply_checks import GarbageError, NoiseError, check_reply
from panbayes.consortium.protocol.codec import MalformedError, decode_reply, encode
from panbayes.consortium.protocol.envelope import Question, Refusal, Release, question
from panbayes.consortium.protocol.queries import Query
from panbayes.consortium.protocol.transport import Ask
from panbayes.errors import (
    HolderError,
    HolderFailedError,
    HolderOutError,
    HolderRefusedError,
    HolderWaitingError,
    InputError,
    InternalError,
)

__all__ = ["Federation", "Traffic"]

MAX_THREADS: Final = 1024
"""Holders that are asked at the same time: whoever is waited for has a thread, and no holder waits for another's."""


@dataclass(slots=True)
class Traffic:
    """What went to and came from one holder."""

    messages: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


@dataclass(slots=True)
class _Memory:
    """What is remembered of one holder, to notice when it contradicts itself."""

    traffic: Traffic = field(default_factory=Traffic)
    size: int | None = None
    replies: dict[str, bytes] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)


class Federation:
    """The holders of one ``study``, by name; see the module.

    Releases with simulated noise are refused unless ``simulated`` is set, and then secure ones are: the two are never
    mixed. The ``course`` knows who took part in what; without one the run is to end in this process.
    """

    def __init__(
        self, study: Study, holders: Mapping[str, Ask], *, simulated: bool = False, course: Course | None = None
    ) -> None:
        """Reach each holder through its function."""
        if not holders:
            raise InputError("holders", found="found none", remedy="give at least one")
        if study.quorum is not None and study.quorum > len(holders):
            raise InputError(
                f"{study.source}, quorum",
                found=f"is {study.quorum}, and there are {len(holders)} holders",
                remedy="give as many holders, or agree on a study with a smaller quorum",
            )
        self._study = study
        self._holders = dict(holders)
        self._simulated = simulated
        self._course: Course = ShortCourse() if course is None else course
        self._place = 0
        self._asked: dict[str, list[Asked]] = {name: [] for name in self._holders}
        self._known = {name: _Memory() for name in self._holders}

    @property
    def study(self) -> Study:
        """The study all holders take part in."""
        return self._study

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the holders that take part: fewer when some were left out."""
        return tuple(name for name, asked in self._asked.items() if all(one.answered for one in asked))

    @property
    def attendance(self) -> Attendance:
        """What each holder was asked in this run so far, also those that were left out."""
        return {name: tuple(asked) for name, asked in self._asked.items()}

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """Messages and bytes of each holder so far."""
        return {name: known.traffic for name, known in self._known.items()}

    @property
    def heads(self) -> Mapping[str, Mapping[str, str]]:
        """Per holder that answered: the head of its ledger after each release, by the question's id, as received."""
        return {name: dict(known.heads) for name, known in self._known.items() if known.heads}

    def ask(self, query: Query, *, round_number: int) -> dict[str, Release]:
        """Put one query to all holders at once; return the release of every one that takes part, by name."""
        return self.ask_each(dict.fromkeys(self.names, query), round_number=round_number)

    def ask_each(self, queries: Mapping[str, Query], *, round_number: int) -> dict[str, Release]:
        """Put to every holder that is named its own query, to all at once; return the releases there are, by name."""
        unknown = queries.keys() - set(self.names)
        if unknown:
            raise InternalError(f"a query is for {min(unknown)}, which is no holder of this federation, or left it")
        if not queries:
            return {}
        settled = self._course.settled(self._place)
        found = self._outcomes(self._among(queries, settled), round_number)
        failed = {name: outcome for name, outcome in found.items() if isinstance(outcome, HolderError)}
        if failed and (settled is not None or not self._goes_on_without(failed)):
            raise _worst(self._that_matter(failed) or failed)
        releases = {name: outcome for name, outcome in found.items() if not isinstance(outcome, HolderError)}
        if settled is None:
            self._course.settle(self._place, tuple(releases))
        for name, query in queries.items():
            why = "" if name in releases else self._course.unusable(name, self._question(query, round_number).id)
            self._asked[name].append(Asked(round_number, query, name in releases, why))
        self._place += 1
        return releases

    def _among(self, queries: Mapping[str, Query], settled: Sequence[str] | None) -> dict[str, Query]:
        """Return the queries for those that take part in an asking that is settled; else all."""
        if settled is None:
            return dict(queries)
        strange = set(settled) - queries.keys()
        if strange:
            raise InputError(
                "holders",
                found=f"{min(strange)} took part in this run before, and is not asked now",
                remedy="give the same holders as before, or begin a new run",
            )
        return {name: query for name, query in queries.items() if name in settled}

    def _outcomes(self, queries: Mapping[str, Query], round_number: int) -> dict[str, Release | HolderError]:
        """Ask all at the same time."""
        letters: dict[int, tuple[Question, bytes]] = {}
        for query in queries.values():
            if id(query) not in letters:
                asked = self._question(query, round_number)
                letters[id(query)] = asked, encode(asked)
        with ThreadPoolExecutor(max(1, min(len(queries), MAX_THREADS)), thread_name_prefix="ask") as threads:
            found = threads.map(lambda name: self._ask_one(name, *letters[id(queries[name])]), queries)
            return dict(zip(queries, found, strict=True))

    def _question(self, query: Query, round_number: int) -> Question:
        return question(query, study=self._study.hash, round_number=round_number)

    def _that_matter(self, failed: Mapping[str, HolderError]) -> Mapping[str, HolderError]:
        """Return what is to be told of: not who is out, where the run will go on without."""
        others = {name: error for name, error in failed.items() if not isinstance(error, HolderOutError)}
        return others if self._can_do_without(len(failed) - len(others)) else failed

    def _can_do_without(self, number: int) -> bool:
        """Tell whether the study may go on without so many of those that take part now."""
        return self._study.missing == "continue" and len(self.names) - number >= (self._study.quorum or 1)

    def _goes_on_without(self, failed: Mapping[str, HolderError]) -> bool:
        """Tell whether the study lets the run go on without those that ``failed``, and their time is over."""
        study = self._study
        if not self._that_matter(failed):
            return True
        if study.missing == "wait" or not self._course.overdue(self._place):
            return False
        if study.missing == "stop":
            silent = sorted(name for name, error in failed.items() if isinstance(error, HolderWaitingError))
            if len(silent) < len(failed):
                return False
            others = f"; nor has {', '.join(silent[1:])}" if silent[1:] else ""
            raise HolderFailedError(
                silent[0], f"has not answered within {study.hours}, and the study stops then{others}"
            )
        return self._can_do_without(len(failed))

    def _ask_one(self, name: str, asked: Question, data: bytes) -> Release | HolderError:
        try:
            return self._release(name, asked, self._reach(name, data))
        except HolderError as error:
            return error
        except NoiseError as error:
            return HolderFailedError(name, f"answered with {error}")
        except (MalformedError, GarbageError) as error:
            return HolderFailedError(name, f"answered garbage: {error}")

    def _reach(self, name: str, data: bytes) -> bytes:
        traffic = self._known[name].traffic
        traffic.messages += 1
        traffic.bytes_sent += len(data)
        try:
            reply = self._holders[name](data)
            traffic.bytes_received += len(reply)
        except HolderWaitingError:
            raise HolderWaitingError(name) from None
        except HolderOutError:
            raise
        except InputError:
            raise  # Something on this side is wrong, such as a full disk: no holder is left out for it.
        except Exception as error:
            # Whatever a transport raises; its text may come from the other side, so only its class is shown.
            raise HolderFailedError(name, f"did not answer ({type(error).__name__})") from error
        return reply

    def _release(self, name: str, asked: Question, data: bytes) -> Release:
        """Read a reply and check it against the question and against what this holder said before."""
        reply, known = decode_reply(data), self._known[name]
        check_reply(reply, asked, self._study, simulated=self._simulated, size=known.size)
        if isinstance(reply, Refusal):
            raise HolderRefusedError(name, code=reply.code, text=reply.text)
        digest = hashlib.sha256(data).digest()
        if known.replies.setdefault(asked.id, digest) != digest:
            raise GarbageError("the same question was answered differently before: its ledger was restored or lost")
        known.size = reply.size
        known.heads[asked.id] = reply.ledger
        return reply


def _worst(failed: Mapping[str, HolderError]) -> HolderError:
    """Return what is to be said: the first refusal or failure by name, or else who is waited for."""
    told = [error for error in failed.values() if not isinstance(error, HolderWaitingError)]
    return min(told, key=lambda error: error.holder) if told else HolderWaitingError(*failed)
