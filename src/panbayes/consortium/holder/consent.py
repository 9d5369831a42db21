"""Whether a study may be answered now: what its holder's officers have signed, and what was decided since.

A gate with a :class:`Consent` asks it inside the transaction of the charge, before it looks for a former answer and
before anything else, and again before it tells a refusal. What was decided by then, in whichever process, holds; what
is decided later waits for the transaction to end and holds from the next question on.

:class:`OfficersConsent` reads the decisions in the ledger's own events, and trusts none of them that should be signed:
every signature is verified anew, over the statement that *this* holder expects. The study is answered if and only if

========================================================= ==================================================
rule                                                      so that
========================================================= ==================================================
the study is the one that the consent is about            no other study is answered by it
today is not after ``until``                              it ends by itself
the study is not stopped: no ``stopped`` event, or a      a stop holds until somebody resumes the study,
``resumed`` one after the last of them                    and no new approval undoes it
of the ``approved`` events after the last ``declined``    a decline voids what was signed before; officers
one (of all, if there is none), those of ``required``     who sign anew are counted anew, and each once,
or more different officers count                          however often and under whatever comment
an approval counts if its key is one of ``officers``,     nobody else approves, nothing else is approved,
its statement is the expected one, letter by letter, and  and who can write to the ledger cannot make up
its signature verifies over it with that key              an officer's word
the expected statement says after how many declines       what was signed before a decline is not shown
                                                          again after it
the ``officers`` are of those who decide about the        who writes a holder's file with officers of their own
account, and no fewer must sign                           cannot spend an account that others decide about
========================================================= ==================================================

A ``stopped``, ``declined`` or ``resumed`` event needs no signature: the first two only take away, and the last gives
back what was signed.
"""

from __future__ import annotations

import binascii
import datetime as dt
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from panbayes.consortium.holder.ledger.decisions import standing, statement_after
from panbayes.consortium.holder.ledger.events import Event
from panbayes.consortium.holder.ledger.officers import Officers, in_force
from panbayes.consortium.holder.ledger.transaction import Transaction

__all__ = ["Consent", "NoConsentError", "OfficersConsent", "Verify", "is_given"]

Verify: TypeAlias = Callable[[str, bytes, str], bool]
"""Tells whether a signature, armoured, over some bytes is that of a key, a line as OpenSSH writes it."""


class NoConsentError(Exception):
    """A study may not be answered now. For the holder's eyes: to the asker it is `unavailable` like everything else."""


class Consent(Protocol):
    """Who says whether a study may be answered."""

    def given(self, transaction: Transaction, study: str) -> bool:
        """Tell whether the study with this hash may be answered, from what this ``transaction`` sees."""


def is_given(consent: Consent | None, transaction: Transaction, study: str) -> bool:
    """Tell whether a study may be answered from an account; with no ``consent`` at hand, if nobody decides about it."""
    return not transaction.officers() if consent is None else consent.given(transaction, study)


@dataclass(frozen=True, slots=True)
class OfficersConsent:
    """The consent of ``required`` of a holder's ``officers`` (lines of keys) to a ``study`` (its hash); see the module.

    ``statement`` is what each of them has to have signed, before any decline, which ``verify`` tells. ``until`` is the
    last day on which the study is answered, None if it does not end; ``today`` says which day it is.
    """

    study: str
    officers: tuple[str, ...]
    required: int
    statement: str
    verify: Verify
    until: dt.date | None = None
    today: Callable[[], dt.date] = dt.date.today

    def __post_init__(self) -> None:
        """Refuse what could never be given, or without anybody."""
        known = {_key(line) for line in self.officers}
        if None in known or not 1 <= self.required <= len(known):
            raise ValueError("a study needs the consent of at least one officer, and of no more than have keys")

    def given(self, transaction: Transaction, study: str) -> bool:
        """Tell whether the study may be answered now."""
        deciding = in_force(transaction.officers(), account=transaction.first(), verify=self.verify)
        if deciding is not None and not deciding.covers(Officers.of(self.officers, self.required)):
            return False
        return study == self.study and self.follows_from(transaction.events.decisions(study))

    def follows_from(self, history: Iterable[Event]) -> bool:
        """Tell whether consent is given after what was decided about the study, in order."""
        if self.until is not None and self.today() > self.until:
            return False
        stands = standing(history)
        if stands.stopped:
            return False
        agreeing: set[bytes | None] = set()
        known = {_key(line) for line in self.officers}
        expected = statement_after(stands.declines, self.statement)
        for approval in stands.approvals:
            said = approval.said or {}
            line, signature = str(said.get("key", "")), str(said.get("signature", ""))
            officer = _key(line)
            if officer not in known - agreeing or said.get("statement") != expected:
                continue
            if self.verify(line, expected.encode(), signature):
                agreeing.add(officer)
        return len(agreeing) >= self.required


def _key(line: str) -> bytes | None:
    """Return the bytes of a key, which are the same under whatever comment; None if the line is none."""
    kind, _, rest = line.partition(" ")
    try:
        found = b64decode(rest.split(" ")[0], validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if kind and found else None
