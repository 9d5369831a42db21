"""Asking for the holder itself: a proposal is charged, drawn, stored and committed in one transaction, as at the gate.

The steps are those of :mod:`panbayes.consortium.holder.gate`, with the holder in the place of the asker: take the
ledger for writing, give the same bytes again if it was asked before, charge, draw, store, commit, and only then return.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from panbayes.consortium.holder.budget import RefusedError, Wanted, check_budget
from panbayes.consortium.holder.consent import Consent, is_given
from panbayes.consortium.holder.ledger.attempts import Attempt
from panbayes.consortium.holder.ledger.chain import Charge
from panbayes.consortium.holder.ledger.declaration import Named, Pin
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.proposal import KIND, Proposal
from panbayes.consortium.holder.ledger.stored_study import promise_of
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.errors import InputError

__all__ = ["check_proposal", "propose"]


def propose(
    ledger: Ledger,
    proposal: Proposal,
    answer: Callable[[], bytes],
    *,
    blocks: Named = None,
    consent: Consent | None = None,
) -> bytes:
    """Return the answer to a proposal: what was stored for it, free, or else what ``answer`` draws, charged first.

    ``answer`` is called once there is room, with secure noise, and must cost no more than the proposal says; what it
    returns is stored as it is. ``blocks`` are those whose people it sees, as
    :func:`panbayes.consortium.holder.dataset.population` gives them together with whom to let in: records that were not
    read through that are not charged for. ``consent`` is that of the holder's officers, where those decide about the
    account: it is asked for inside the transaction of the charge. Raises an ``InputError`` where there is no room, or
    no consent.
    """
    if not ledger.durable:
        raise ValueError("what is proposed is private, and charged to a ledger on disk")
    attempt = Attempt.now(study=proposal.hash, name=proposal.name, question=proposal.hash, kind=KIND)

    def charged(transaction: Transaction) -> bytes:
        if not is_given(consent, transaction, proposal.hash):
            raise InputError(
                f'proposal "{proposal.name}"',
                found="is not approved by as many officers as must",
                remedy="let officers sign it, with --key FILE or --statement FILE",
            )
        pin = _check(transaction, proposal, blocks)
        transaction.begin(attempt)
        reply = answer()
        if pin is not None:
            transaction.dataset.write_pin(pin, None)
        digest = hashlib.sha256(reply).hexdigest()
        entry = transaction.next_entry(Charge(proposal.hash, proposal.hash, KIND, proposal.grant, digest))
        transaction.record(entry, study=proposal, asked=proposal.asked, replied=reply)
        return reply

    reply, _ = ledger.settle(attempt, before=lambda transaction: _stored(transaction, proposal), answer=charged)
    return reply


def check_proposal(ledger: Ledger, proposal: Proposal, *, blocks: Named = None) -> bytes | None:
    """Return what was stored for a proposal, None if it is yet to be charged; refuse one for which there is no room.

    It looks, and spends nothing: a price can be shown before it is paid.
    """
    with ledger.transaction(write=False) as transaction:
        found = _stored(transaction, proposal)
        if found is None:
            _check(transaction, proposal, blocks)
        return found


def _stored(transaction: Transaction, proposal: Proposal) -> bytes | None:
    stored = transaction.stored(proposal.hash)
    return None if stored is None else stored[1]


def _check(transaction: Transaction, proposal: Proposal, blocks: Named) -> Pin | None:
    """Return what is to be pinned, if the dataset changes; refuse where there is no room."""
    dataset = transaction.dataset.declared()
    if dataset is None:
        raise InputError(
            "dataset",
            found="none is declared, and a proposal is charged to one",
            remedy="declare it: panbayes holder dataset declare",
        )
    promise = promise_of(proposal.adjacency, proposal.unit)
    try:
        check_budget(
            transaction, Wanted(proposal.hash, proposal.grant, promise, blocks, proposal.delta), proposal.grant
        )
    except RefusedError as refused:
        raise InputError(
            f'proposal "{proposal.name}"',
            found=f"is refused ({refused.code}): {refused.text}",
            remedy="see what is spent with panbayes holder ledger show",
        ) from None
    if not dataset.changing:
        return None
    pin = Pin(proposal.hash, blocks)
    transaction.dataset.check_pin(pin, None)
    return pin
