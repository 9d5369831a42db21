"""Holders that can be asked, and nothing else: what a strategy sees of them.

A holder may drop out of a run: then an asking has fewer releases than queries, possibly none where one holder was asked
in its turn, and ``names`` is shorter from then on. Who asks all of them by ``ask`` and adds up what came back need not
care; who keeps something by name, or sets later counts against earlier ones, must.

Whatever a strategy draws at random (ties, pooled samples) derives from the study's hash and the releases
(:func:`digest`), so that a run that is resumed asks the same questions and gets the same network: to the bit on the
same machine, nearly on another kind of processor (:mod:`panbayes.consortium.analyst.strategies.adaptive` says how).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Protocol, TypeVar

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.attendance import Attendance
from panbayes.consortium.protocol.answers import Answer
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Query
from panbayes.errors import InternalError

__all__ = ["Holders", "answer_of", "digest"]

AnswerType = TypeVar("AnswerType", bound=Answer)


class Holders(Protocol):
    """Holders that can be asked; see :class:`panbayes.consortium.analyst.federation.Federation`."""

    @property
    def study(self) -> Study:
        """The study they take part in."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those that take part; they become fewer when one drops out."""

    @property
    def attendance(self) -> Attendance:
        """What each was asked so far, also those that dropped out."""

    def ask(self, query: Query, *, round_number: int) -> Mapping[str, Release]:
        """Put one query to all of them, and return the releases of those that answered, by name."""

    def ask_each(self, queries: Mapping[str, Query], *, round_number: int) -> Mapping[str, Release]:
        """Put to every holder that is named its own query, all at the same time; return the releases of those that did.

        A query for a holder that dropped out is an error.
        """


def answer_of(release: Release, kind: type[AnswerType]) -> AnswerType:
    """Return the answer of a release, which the federation has checked to be of the kind asked for."""
    if not isinstance(release.answer, kind):
        raise InternalError(f"a release of another kind than asked for passed the federation: {kind.__name__}")
    return release.answer


def digest(*parts: str) -> str:
    """Hash public texts into the only randomness a strategy uses."""
    return hashlib.sha256("\0".join(("panbayes analyst 1", *parts)).encode()).hexdigest()
