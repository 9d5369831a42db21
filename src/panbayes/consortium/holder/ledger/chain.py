"""The hash chain of a ledger: what each entry commits to, and the head that goes out with every release.

::

    head[0] = SHA-256("panbayes ledger 1", ledger)                      ledger: 32 random bytes drawn when it was made
    head[i] = SHA-256("panbayes entry 1", i, study, question, loss, reply, head[i-1])

``study`` and ``question`` are the public hashes, ``loss`` the exact ε with its privacy class, ``reply`` the digest of
the reply. The reply itself carries head[i], which must be known before it can be written; so ``reply`` is the SHA-256
of the release's bytes *with head[i-1] in the place of head[i]* (:func:`reply_digest`), and the stored bytes are the
same release with head[i] filled in. Nothing of the answer, the size or the stamp is left out of the commitment.

An analyst who kept the heads of its releases can ask the holder for the entries (`panbayes holder ledger show --json`),
recompute the chain, and see that every head it holds is there. A ledger that was cut short or restored from a backup no
longer contains the heads given out since, and cannot be made to.

Heads depend on public facts, on releases already paid for and on the random number of the ledger, never on records.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import msgspec

from panbayes.consortium.protocol.codec import encode
from panbayes.consortium.protocol.envelope import Release
from panbayes.privacy.loss import Loss

__all__ = ["Entry", "first_head", "loss_text", "next_head", "reply_digest"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge: number ``sequence``, for this ``question`` of this ``study``, and the digest of the reply."""

    sequence: int
    study: str
    question: str
    kind: str
    loss: Loss
    reply: str
    head: str


def loss_text(loss: Loss) -> str:
    """Write a loss as the one text that is stored and hashed.

    >>> from fractions import Fraction
    >>> from panbayes.privacy.classes.pure import Pure
    >>> loss_text(Pure(Fraction(1, 3)))
    '{"class":"pure","epsilon":"1/3"}'
    """
    return json.dumps(loss.json(), separators=(",", ":"), sort_keys=True)


def _hash(*parts: str | int) -> str:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()


def first_head(ledger: bytes) -> str:
    """Return the head of an empty ledger, from its random number."""
    return _hash("panbayes ledger 1", ledger.hex())


def reply_digest(release: Release, *, previous: str) -> str:
    """Hash a release with the ``previous`` head in the place of its own."""
    return hashlib.sha256(encode(msgspec.structs.replace(release, ledger=previous))).hexdigest()


def next_head(*, sequence: int, study: str, question: str, loss: Loss, reply: str, previous: str) -> str:
    """Return the head after one more entry."""
    return _hash("panbayes entry 1", sequence, study, question, loss_text(loss), reply, previous)
