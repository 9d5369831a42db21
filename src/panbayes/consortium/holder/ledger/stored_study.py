"""What a ledger knows of a study it was charged by: the study's own text, read back.

A ledger keeps every study in full, under its hash. The text says what the study may spend and what a loss means to it,
so it is believed only if it has that hash.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TypeAlias

from panbayes.consortium.agreement.terms import granted
from panbayes.errors import LedgerError
from panbayes.privacy.loss import Loss

__all__ = ["Promise", "StoredStudy", "read_name", "read_study"]

Promise: TypeAlias = tuple[str, int | None, str | None]
"""What a loss means: the adjacency, how many records a person may have, and the column that says whose they are.

The last two are None where the unit is the record. The column is "" where it is not known: a ledger of the first
version did not write it down, and learns it when it is next used under that schema.
"""


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study that was charged, and what it may spend. ``hash`` is its own, ``schema`` its schema's."""

    hash: str
    name: str
    schema: str
    grant: Loss
    adjacency: str
    max_records: int | None


def read_study(study: str, content: str, *, ledger: str) -> StoredStudy:
    """Read the ``content`` stored under the hash ``study``; refuse one that is not what was stored.

    ``ledger`` names the ledger in the error.
    """
    if hashlib.sha256(content.encode()).hexdigest() != study:
        raise _damaged(ledger, study, "its content has been changed")
    try:
        fields = json.loads(content)
        return StoredStudy(
            hash=study,
            name=str(fields["name"]),
            schema=str(fields["schema"]),
            grant=granted(fields),
            adjacency=fields["adjacency"],
            max_records=fields["max_records"],
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError):
        raise _damaged(ledger, study, "its content is not what panbayes writes") from None


def read_name(content: str, *, ledger: str) -> str:
    """Return the name of a study that was not charged, from its text; ``ledger`` names the ledger in the error."""
    try:
        return str(json.loads(content)["name"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _damaged(ledger, "without privacy", "its content is not what panbayes writes") from None


def _damaged(ledger: str, study: str, found: str) -> LedgerError:
    return LedgerError(ledger, found=f"study {study[:12]}: {found}", remedy="run `panbayes holder ledger verify`")
