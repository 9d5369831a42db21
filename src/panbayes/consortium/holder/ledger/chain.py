"""The hash chain of a ledger: what each entry commits to, and the head that goes out with every release.

::

    head[0]       = SHA-256("panbayes ledger", ledger)            ledger: 32 random bytes drawn when it was made
    commitment[i] = SHA-256("panbayes commitment", secret, study, question, loss, reply, notes, events)
    head[i]       = SHA-256("panbayes entry", i, commitment[i], head[i-1])

``secret`` are 32 random bytes drawn for this entry alone. ``study`` and ``question`` are the public hashes, ``loss``
the exact ε with its privacy class, ``reply`` the digest of the reply, ``notes`` the digest of what the holder itself
had written down before (:mod:`panbayes.consortium.holder.ledger.notes`): its caps, the studies it closed; ``events``
the digest of all that had happened before (:mod:`panbayes.consortium.holder.ledger.events`). The reply
carries head[i], which must be known before it can be written; so ``reply`` is the SHA-256 of the release's bytes *with
head[i-1] in the place of head[i]* (:func:`reply_digest`), and the stored bytes are the same release with head[i] filled
in. Nothing of the answer, the size or the stamp is left out of the commitment.

**Heads say nothing.** Whoever has heads before and after an entry could otherwise try every possible reply of another
study until the hash fits. The secret never leaves the ledger, so a commitment, and with it a head, looks random to
everybody else: it tells neither what others asked, nor what they were told, nor even that they asked. The holder can
open one entry to an auditor (`panbayes holder ledger open`): its secret and all that its commitment hashes.

An analyst who kept the heads of its releases can ask the holder for commitments and heads
(`panbayes holder ledger show --json`), recompute the chain, and see that every head it holds is there. A ledger that
was cut short or restored from a backup no longer contains the heads given out since, and cannot be made to.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import msgspec

from panbayes.consortium.protocol.codec import encode
from panbayes.consortium.protocol.envelope import Release
from panbayes.privacy.loss import Loss

__all__ = [
    "Charge",
    "Entry",
    "commitment",
    "first_head",
    "loss_text",
    "next_head",
    "reply_digest",
    "sha256",
]


@dataclass(frozen=True, slots=True)
class Charge:
    """What an entry says: for which ``question`` of which ``study``, at which loss, with the digest of the reply."""

    study: str
    question: str
    kind: str
    loss: Loss
    reply: str


@dataclass(frozen=True, slots=True)
class Entry(Charge):
    """Charge number ``sequence``, and the ``head`` of the chain after it.

    ``secret`` is what hides the commitment, ``notes`` the digest of what the holder had written down before, and
    ``events`` that of what had happened before.
    """

    sequence: int
    head: str
    secret: bytes = field(repr=False)
    notes: str
    events: str

    @property
    def commitment(self) -> str:
        """What the head is computed from beside its place."""
        return commitment(self, secret=self.secret, notes=self.notes, events=self.events)

    def expected_head(self, previous: str) -> str:
        """Compute the head anew, from the one before."""
        return next_head(self.commitment, sequence=self.sequence, previous=previous)


def loss_text(loss: Loss) -> str:
    """Write a loss as the one text that is stored and hashed.

    >>> from fractions import Fraction
    >>> from panbayes.privacy.classes.pure import Pure
    >>> loss_text(Pure(Fraction(1, 3)))
    '{"class":"pure","epsilon":"1/3"}'
    """
    return json.dumps(loss.json(), separators=(",", ":"), sort_keys=True)


def sha256(*parts: str | int | None) -> str:
    """Hash a list of texts and numbers; no two lists have the same bytes."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()


def first_head(ledger: bytes) -> str:
    """Return the head of an empty ledger, from its random number."""
    return sha256("panbayes ledger", ledger.hex())


def reply_digest(release: Release, *, previous: str) -> str:
    """Hash a release with the ``previous`` head in the place of its own."""
    return hashlib.sha256(encode(msgspec.structs.replace(release, ledger=previous))).hexdigest()


def commitment(charge: Charge, *, secret: bytes, notes: str, events: str) -> str:
    """Commit to a charge, hidden by its ``secret``."""
    said = (charge.study, charge.question, loss_text(charge.loss), charge.reply)
    return sha256("panbayes commitment", secret.hex(), *said, notes, events)


def next_head(committed: str, *, sequence: int, previous: str) -> str:
    """Return the head after one more entry, from its commitment."""
    return sha256("panbayes entry", sequence, committed, previous)
