"""Holders that can be asked, and nothing else: all that an analyst has of them.

A federation knows its holders by name and reaches each through a function from bytes to bytes: a gate in the same
process, or a mailbox. It puts one query to all of them at the same time, or to each its own, and hands back their
releases, after checking each (:mod:`panbayes.consortium.analyst.reply_checks`). It gives up with

* :class:`~panbayes.errors.HolderRefusedError` (exit code 3) if a holder refused: its name, the code and its
  words;
* :class:`~panbayes.errors.HolderFailedError` (exit code 4) if a holder could not be reached, answered with
  something that is no answer, contradicted an answer it gave before, or simulated its noise.

Where several holders fail in one round, the error is about the first by name; all of them were asked.
Asking again later is free for the holders that answered: the same question has the same id and gets the same bytes.

Heads: every release carries the head of its holder's ledger. :attr:`Federation.heads` keeps them; a holder that later
cannot show a chain with these heads in it has restored or rewritten its ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.reply_checks import GarbageError, check_release
from panbayes.consortium.protocol.codec import MalformedError, decode_reply, encode
from panbayes.consortium.protocol.envelope import Question, Refusal, Release, question
from panbayes.consortium.protocol.queries import Query
from panbayes.consortium.protocol.transport import Ask
from panbayes.errors import HolderError, HolderFailedError, HolderRefusedError, InputError, InternalError

__all__ = ["Federation", "Traffic"]

MAX_THREADS: Final = 32


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
    mixed.
    """

    def __init__(self, study: Study, holders: Mapping[str, Ask], *, simulated: bool = False) -> None:
        """Reach each holder through its function."""
        if not holders:
            raise InputError("holders", found="found none", remedy="give at least one")
        self._study = study
        self._holders = dict(holders)
        self._simulated = simulated
        self._known = {name: _Memory() for name in self._holders}

    @property
    def study(self) -> Study:
        """The study all holders take part in."""
        return self._study

    @property
    def names(self) -> tuple[str, ...]:
        """The holders' names."""
        return tuple(self._holders)

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """Messages and bytes of each holder so far."""
        return {name: known.traffic for name, known in self._known.items()}

    @property
    def heads(self) -> Mapping[str, Mapping[str, str]]:
        """Per holder: the head of its ledger after each release, by the question's id, in the order received."""
        return {name: dict(known.heads) for name, known in self._known.items()}

    def ask(self, query: Query, *, round_number: int) -> dict[str, Release]:
        """Put one query to all holders at once; return every holder's release, by name."""
        return self.ask_each(dict.fromkeys(self._holders, query), round_number=round_number)

    def ask_each(self, queries: Mapping[str, Query], *, round_number: int) -> dict[str, Release]:
        """Put to every holder that is named its own query, to all at once; return their releases, by name."""
        unknown = queries.keys() - self._holders.keys()
        if unknown:
            raise InternalError(f"a query is for {min(unknown)}, which is no holder of this federation")
        letters: dict[int, tuple[Question, bytes]] = {}
        for query in queries.values():
            if id(query) not in letters:
                asked = question(query, study=self._study.hash, round_number=round_number)
                letters[id(query)] = asked, encode(asked)
        with ThreadPoolExecutor(max(1, min(len(queries), MAX_THREADS)), thread_name_prefix="ask") as threads:
            found = list(threads.map(lambda name: self._ask_one(name, *letters[id(queries[name])]), queries))
        failed = [outcome for outcome in found if isinstance(outcome, HolderError)]
        if failed:
            raise min(failed, key=lambda error: error.holder)
        return {
            name: outcome for name, outcome in zip(queries, found, strict=True) if not isinstance(outcome, HolderError)
        }

    def _ask_one(self, name: str, asked: Question, data: bytes) -> Release | HolderError:
        try:
            return self._release(name, asked, self._reach(name, data))
        except HolderError as error:
            return error
        except (MalformedError, GarbageError) as error:
            return HolderFailedError(name, f"answered garbage: {error}")

    def _reach(self, name: str, data: bytes) -> bytes:
        traffic = self._known[name].traffic
        traffic.messages += 1
        traffic.bytes_sent += len(data)
        try:
            reply = self._holders[name](data)
            traffic.bytes_received += len(reply)
        except Exception as error:
            # Whatever a transport raises; its text may come from the other side, so only its class is shown.
            raise HolderFailedError(name, f"did not answer ({type(error).__name__})") from error
        return reply

    def _release(self, name: str, asked: Question, data: bytes) -> Release:
        """Read a reply and check it against the question and against what this holder said before."""
        reply = decode_reply(data)
        if reply.id != asked.id and not (isinstance(reply, Refusal) and not reply.id):
            raise GarbageError("the reply is to another question")
        if isinstance(reply, Refusal):
            raise HolderRefusedError(name, code=reply.code, text=_printable(reply.text))
        if reply.private == self._simulated:
            found = "secure" if reply.private else "simulated"
            raise HolderFailedError(name, f"answered with {found} noise; this run takes the other kind only")
        if (reply.size is None) != (self._study.adjacency == "add-remove"):
            raise GarbageError("the number of its people came where it is private, or did not where it is public")
        check_release(reply, asked.query, self._study.schema.sizes)
        known = self._known[name]
        digest = hashlib.sha256(data).digest()
        if known.replies.setdefault(asked.id, digest) != digest:
            raise GarbageError("the same question was answered differently before: its ledger was restored or lost")
        if known.size not in (None, reply.size):
            raise GarbageError("its number of people changed during the run")
        known.size = reply.size
        known.heads[asked.id] = reply.ledger
        return reply


def _printable(text: str) -> str:
    """Keep a holder's words from playing tricks on a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
