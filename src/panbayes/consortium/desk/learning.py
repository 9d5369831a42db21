"""Learning by letters: the analyst's half between institutions, from the roster to the network.

The study is proposed to every holder (:mod:`panbayes.consortium.desk.proposing`), then the study's strategy asks as it
would in one process, through a federation whose holders are reached by letters
(:mod:`panbayes.consortium.desk.asking`). Nothing is ever in memory alone: who ends the command and runs it again goes
on where it was, and gets the network that a run without interruption would have given.

The network is the one that the same answers give in one process; it carries receipts
(:mod:`panbayes.consortium.desk.receipts`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.attendance import Attendance
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import check_number, learn_from
from panbayes.consortium.desk.asking import Correspondence, Tell
from panbayes.consortium.desk.journal import Journal, journal_folder
from panbayes.consortium.desk.proposing import SentStudy, propose
from panbayes.consortium.desk.receipts import receipts_of
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Query
from panbayes.errors import HolderOutError, HolderWaitingError, PanbayesError

__all__ = ["AwaitedError", "learn_by_letters"]

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 1.0
"""Seconds between two looks into the folder: short at first, then longer."""

QUIET: Final = 2.0
"""Seconds before it is told who is waited for."""


class AwaitedError(HolderWaitingError):
    """Some holders have not answered yet; ``standing`` says what is known of them: words, and whom they are about.

    ``out`` are those that are not waited for any more, and why.
    """

    def __init__(
        self, standing: Mapping[str, list[str]], *, out: Mapping[str, str] | None = None, ended: date | None = None
    ) -> None:
        """Name all of them first; after the day on which the study ``ended`` it is of no use to wait."""
        names = sorted(name for found in standing.values() for name in found)
        super().__init__(*names)
        self.standing, self.out = dict(standing), dict(out or {})
        left = "".join(
            f"; {name} is left out, for the answer that it signed cannot be used: {why}"
            for name, why in sorted(self.out.items())
        )
        words = "; ".join(f"{what}: {', '.join(found)}" for what, found in standing.items())
        remedy = "run the same command again later"
        if ended is not None:
            remedy = f"the study ended on {ended}, and holders answer nothing after that: propose one with a later end"
        PanbayesError.__init__(self, f"waiting for {', '.join(names)} ({words}){left}; {remedy}")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A federation whose askings wait until they are answered, or the study says that they have waited enough."""

    federation: Federation
    letters: Mapping[str, Correspondence]
    journal: Journal
    told: Callable[[Collection[str]], None]

    @property
    def study(self) -> Study:
        """The study that all take part in."""
        return self.federation.study

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those that take part."""
        return self.federation.names

    @property
    def attendance(self) -> Attendance:
        """What each was asked so far."""
        return self.federation.attendance

    def ask(self, query: Query, *, round_number: int) -> Mapping[str, Release]:
        """Put one query to all of them."""
        return self.ask_each(dict.fromkeys(self.names, query), round_number=round_number)

    def ask_each(self, queries: Mapping[str, Query], *, round_number: int) -> Mapping[str, Release]:
        """Put to every holder that is named its own query, again and again until the asking is settled."""
        while True:
            try:
                return self.federation.ask_each(queries, round_number=round_number)
            except HolderWaitingError as error:
                self._wait(error.holders)

    def _wait(self, names: Collection[str]) -> None:
        """Wait until all of them have answered or their time is over; if it is over already, until one has."""
        left, late, pause, waited = set(names), self.journal.due, _FIRST_PAUSE, 0.0
        while left and (late or not self.journal.due):
            time.sleep(pause)
            waited += pause
            if waited - pause < QUIET <= waited:
                self.told(left)
            pause = min(1.25 * pause, _LONGEST_PAUSE)
            answered = {name for name in left if self._has_answered(name)}
            left -= answered
            if late and answered:
                return

    def _has_answered(self, name: str) -> bool:
        """Look whether a holder has answered; what cannot be used is an answer too."""
        try:
            return self.letters[name].look() is not None
        except HolderOutError:
            return True


def learn_by_letters(
    study: Study,
    holders: Mapping[str, PublicKey],
    *,
    key: PrivateKey,
    folder: Folder,
    state: str | Path | None = None,
    wait: bool = False,
    simulated: bool = False,
    tell: Tell,
) -> Network:
    """Learn a network from ``holders`` that are reached through a ``folder``; go on where the last run ended.

    Raises an :class:`AwaitedError` while answers are missing, unless it is to ``wait`` for them, and a
    :class:`~panbayes.errors.HolderOutError` if the run cannot go on without a holder that signed what is no answer.
    ``tell`` is told, a line each, which files were not taken and who is waited for.
    """
    check_number(study, len(holders))
    with Journal(journal_folder(state, study.hash), patience=study.patience) as journal:
        proposed = propose(study, holders, key=key, folder=folder, journal=journal, simulated=simulated)
        letters = {
            name: Correspondence(study, key, name, holder, folder, journal, tell, simulated)
            for name, holder in proposed.holders.items()
        }
        federation = Federation(study, letters, simulated=simulated, course=journal)

        def told(names: Collection[str]) -> None:
            tell(f"waiting for {', '.join(sorted(names))}")

        try:
            network = learn_from(_Waiting(federation, letters, journal, told) if wait else federation)
        except HolderWaitingError as error:
            until = study.about.until
            ended = until if until is not None and date.today() > until else None
            out = {name: one.out.why for name, one in letters.items() if one.out is not None}
            raise AwaitedError(_standing(proposed, letters, error.holders), out=out, ended=ended) from None
        answers = {name: one.answers for name, one in letters.items()}
        heads = federation.heads
        receipts = receipts_of(study, key.public, proposed.holders, answers, heads)
    newest = {f"ledger head of {name}": list(found.values())[-1] for name, found in heads.items() if found}
    return replace(network, about={**network.about, **({} if simulated else newest)}, receipts=receipts)


def _standing(
    proposed: SentStudy, letters: Mapping[str, Correspondence], names: Collection[str]
) -> dict[str, list[str]]:
    """Say what is known of those that are waited for."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        if letters[name].ignored:
            words = "a file lies there that is no answer of theirs"
        elif letters[name].answers or proposed.approved(name):
            words = "approved, not answered yet"
        else:
            words = "not approved yet"
        found.setdefault(words, []).append(name)
    return found
