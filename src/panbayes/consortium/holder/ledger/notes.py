"""What the holder itself writes into its ledger, beside the charges: in order, for good.

============== ================================== ============================================================
what           content                            means
============== ================================== ============================================================
``cap``        the loss, or nothing               from here on all studies together may spend this; no cap
``closed``     the study's hash                   the study gets no further answers, its rest is free again
``looked``     the study's text                   everything was looked at without privacy (``non-private``)
``failed``     the attempt                        an answer was begun and not given; the third pauses the study
``resumed``    the study's hash                   the holder has looked at what failed; the count begins anew
``dataset``    what is declared                   the ledger is the account of this dataset; the newest holds
``block``      the period                         people who are first seen from here on belong to this block
``pinned``     the study, its blocks, the address what the study sees of a dataset that changes, for good
``renumbered`` nothing                            ids changed: no block opens any more, and every study is everybody's
``officers``   keys, how many must sign           these decide about the account from here on, say those who did before
============== ================================== ============================================================

Every note says after which entry it was written. The commitment of an entry covers all notes before it, so that a cap
that was edited or removed by hand shows in the chain; those since the newest entry are held by a digest beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from panbayes.consortium.holder.ledger.chain import sha256

__all__ = ["WHATS", "Note", "What", "next_digest", "notes_digest"]

What: TypeAlias = Literal[
    "cap", "closed", "looked", "failed", "resumed", "dataset", "block", "pinned", "renumbered", "officers"
]

WHATS: Final[tuple[What, ...]] = get_args(What)


@dataclass(frozen=True, slots=True)
class Note:
    """A note that was written after entry number ``after``."""

    after: int
    what: str
    content: str | None


def notes_digest(notes: Iterable[Note]) -> str:
    """Hash notes, each with all before it.

    >>> notes_digest([Note(0, "cap", None)]) == notes_digest([])
    False
    """
    digest = sha256("panbayes notes 1")
    for note in notes:
        digest = next_digest(note, digest)
    return digest


def next_digest(note: Note, previous: str) -> str:
    """Return the digest after one more note."""
    return sha256(note.after, note.what, note.content, previous)
