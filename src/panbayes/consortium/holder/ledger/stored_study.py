"""What a ledger knows of a study it was charged by: the study's own text, read back.

A ledger keeps every study in full, under its hash. The text says what the study may spend and what a loss means to it,
so it is believed only if it has that hash. A proposal (:mod:`panbayes.consortium.holder.ledger.proposal`) is kept in
the same way, as a study of one question.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from panbayes.consortium.agreement.terms import granted
from panbayes.consortium.holder.ledger.proposal import read_proposal
from panbayes.errors import LedgerError
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Unit

__all__ = ["Promise", "StoredStudy", "promise_of", "read_name", "read_study"]

Promise: TypeAlias = tuple[str, int | None, str | None]
"""What a loss means: the adjacency, how many records a person may have, and the column that says whose they are.

The last two are None where the unit is the record.
"""


def promise_of(adjacency: str, unit: Unit | None) -> Promise:
    """Return what a loss means under an adjacency and a privacy unit."""
    return adjacency, *((None, None) if unit is None else (unit.max_records, unit.column))


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study that was charged, and what it may spend. ``hash`` is its own, ``schema`` its schema's.

    A proposal has no schema, but says itself which column its ``unit`` has, and has a ``delta`` of its own.
    """

    hash: str
    name: str
    schema: str
    grant: Loss
    adjacency: str
    max_records: int | None
    unit: str | None = None
    delta: Fraction = Fraction(0)
    proposal: bool = False


def read_study(study: str, content: str, *, ledger: str) -> StoredStudy:
    """Read the ``content`` stored under the hash ``study``; refuse one that is not what was stored.

    ``ledger`` names the ledger in the error.
    """
    if hashlib.sha256(content.encode()).hexdigest() != study:
        raise _damaged(ledger, study, "its content has been changed")
    try:
        fields = json.loads(content)
        if "proposal" in fields:
            return _read_proposal(study, content)
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


def _read_proposal(study: str, content: str) -> StoredStudy:
    found = read_proposal(content)
    if found is None:
        raise ValueError("no proposal")
    unit = found.unit
    return StoredStudy(
        hash=study,
        name=found.name,
        schema="",
        grant=found.grant,
        adjacency=found.adjacency,
        max_records=None if unit is None else unit.max_records,
        unit=None if unit is None else unit.column,
        delta=found.delta,
        proposal=True,
    )


def read_name(content: str, *, ledger: str) -> str:
    """Return the name of a study that was not charged, from its text; ``ledger`` names the ledger in the error."""
    try:
        return str(json.loads(content)["name"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _damaged(ledger, "without privacy", "its content is not what panbayes writes") from None


def _damaged(ledger: str, study: str, found: str) -> LedgerError:
    return LedgerError(ledger, found=f"study {study[:12]}: {found}", remedy="run `panbayes holder ledger verify`")
