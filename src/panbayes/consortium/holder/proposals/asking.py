"""A holder asks about its own records: first the price, then, once somebody has agreed to it, the answer.

:func:`offer` looks into the account and at nothing else: what a wish costs whom, whether it was answered before, and
what is left. :func:`take` reads the records and has the answer drawn inside the transaction of its charge
(:mod:`panbayes.consortium.holder.proposing`): what was answered before is given again, free and without a look at the
records. Whatever becomes of a process in between, nothing leaves that was not charged, and nothing is drawn twice.

**Which neighbours.** A dataset that changes is asked under ``add-remove``; a fixed one under whatever its studies were
answered under, else under ``replace``, for losses under two adjacencies do not add up. The unit is the declared one.
Where people have blocks, the people of those that a wish names are asked about, else everybody, and these blocks are
charged (:mod:`panbayes.consortium.holder.dataset`).

Exact counts are read before the charge, and kept in memory alone; what reading them may refuse (a file that is gone, a
column that is not there) is no more than any reading of the table refuses. No size leaves: neither that of the table
nor that of what was not released. So a fixed dataset need not be known again by its records: whatever table lies at its
place is charged to its account, and losses of one person in several tables add up there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from panbayes.consortium.agreement.calendar import calendar_of, period_at
from panbayes.consortium.holder.consent import Consent
from panbayes.consortium.holder.dataset import population
from panbayes.consortium.holder.ledger.clock import utc
from panbayes.consortium.holder.ledger.declaration import Dataset, Named
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.proposal import Proposal
from panbayes.consortium.holder.ledger.summary import Summary
from panbayes.consortium.holder.proposals.wish import Answer, Cells, Edges, Protected, Values, Wish
from panbayes.consortium.holder.proposing import check_proposal, propose
from panbayes.dp.noise import Noise
from panbayes.errors import InputError, LedgerError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.loss import Loss
from panbayes.schema.periods import Periods

__all__ = ["Offer", "offer", "read_answer", "take"]


@dataclass(frozen=True, slots=True)
class Offer:
    """What a wish costs, before anything is computed.

    ``left`` is what the cap leaves, None without a cap, and ``delta_left`` what is left of the dataset's own δ;
    ``stored`` is the answer if it was given before: then it is free.
    """

    wish: Wish
    dataset: Dataset
    protected: Protected
    proposal: Proposal
    left: Loss | None
    delta_left: Fraction
    stored: bytes | None


def offer(ledger: Ledger, wish: Wish) -> Offer:
    """Look up what a wish costs; refuse one that cannot be answered, or for which there is no room."""
    summary = ledger.summary()
    dataset = summary.dataset
    if dataset is None:
        raise InputError(
            "DATASET",
            found=f"{ledger.name} is the account of no declared dataset",
            remedy="declare it: panbayes holder dataset declare",
        )
    protected = Protected(_adjacency(ledger, changing=dataset.changing), dataset.unit)
    wish.event(protected)
    proposal = Proposal(
        f"{_what(wish)} of {wish.column}",
        wish.question(),
        protected.adjacency,
        protected.unit,
        wish.epsilon,
        wish.delta,
    )
    stored = check_proposal(ledger, proposal, blocks=_blocks(wish, summary))
    left = max(dataset.delta - summary.delta, Fraction(0))
    return Offer(wish, dataset, protected, proposal, summary.left, left, stored)


def take(ledger: Ledger, offered: Offer, *, noise: Noise, consent: Consent | None = None) -> Answer:
    """Have a wish answered and charged, if there is ``consent``, or return what was answered before."""
    wish, protected = offered.wish, offered.protected
    if offered.stored is not None:
        return read_answer(wish, offered.stored, argument=ledger.name)
    found = population(ledger, offered.dataset.source, argument="DATASET", chosen=wish.blocks or None)
    counts = wish.read(found.source, protected, argument="DATASET", admit=found.people)

    def answer() -> bytes:
        return json.dumps(wish.draw(counts, protected, noise=noise), separators=(",", ":")).encode()

    reply = propose(ledger, offered.proposal, answer, blocks=found.blocks, consent=consent)
    return read_answer(wish, reply, argument=ledger.name)


def read_answer(wish: Wish, data: bytes, *, argument: str) -> Answer:
    """Read an answer as it is stored; ``argument`` names the ledger in the error."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    match wish, found:
        case Cells(), [*counts] if len(counts) == wish.attribute.size and all(map(_whole, counts)):
            return tuple(counts)
        case Edges(), [*places] if len(places) == len(wish.shares) and all(map(_whole, places)):
            if all(0 <= place < len(wish.attribute.bins) - 2 for place in places):
                return tuple(places)
        case Values(), [*pairs] if all(map(_pair, pairs)):
            return tuple((text, count) for text, count in pairs)
    raise LedgerError(
        argument, found="holds an answer that cannot be read", remedy="run `panbayes holder ledger verify`"
    )


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _whole(value[1])


def _blocks(wish: Wish, summary: Summary) -> Named:
    """Return the blocks whose people will be asked about, as far as they are known before anybody is read."""
    dataset = summary.dataset
    calendar = None if dataset is None or summary.renumbered else dataset.blocks
    if any(calendar is None or calendar_of(block) != calendar for block in wish.blocks):
        there_are = "no" if calendar is None else calendar
        raise InputError(
            "blocks",
            found=f"found {', '.join(wish.blocks)}, and the dataset has {there_are} blocks",
            remedy="give blocks that panbayes holder dataset show names, or none for everybody",
        )
    if calendar is None:
        return None
    return frozenset(wish.blocks or summary.blocks or (period_at(calendar, utc()),))


def _adjacency(ledger: Ledger, *, changing: bool) -> Adjacency:
    with ledger.transaction(write=False) as transaction:
        promised = {adjacency for adjacency, *_ in transaction.promises()}
    return "add-remove" if changing or promised == {"add-remove"} else "replace"


def _what(wish: Wish) -> str:
    """Say what is asked for, as the ledger names it."""
    match wish:
        case Edges():
            return "quantiles"
        case Values():
            return "frequent values"
        case Cells() if wish.attribute.bins or isinstance(wish.attribute.domain, Periods):
            return "bounds"
        case _:
            return "categories"
