"""Officers' consent to what a holder asks its own records: it spends the same account as studies, and needs the same.

Nobody writes a letter about a private proposal (:mod:`panbayes.consortium.holder.proposals`): who runs the holder's
machine asks, and nobody else is told. Officers sign a statement with the hash of all that is asked and what it costs.
Their signatures are events of the ledger, as those under studies are, and are verified anew inside the transaction of
the charge.
"""

from __future__ import annotations

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import check_signature, signed_by
from panbayes.consortium.agent.sections import Person
from panbayes.consortium.holder.consent import OfficersConsent
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.proposal import Proposal
from panbayes.consortium.post.signatures import verify_approval
from panbayes.files import write_text

__all__ = ["approve_own", "consent_to_own", "officers_for_own", "own_statement"]


def own_statement(holder: HolderFile, asked: Proposal) -> str:
    """Return the text that every officer signs."""
    unit = "none" if asked.unit is None else f"{asked.unit.column}, at most {asked.unit.max_records}"
    lines = (
        "panbayes approval of a proposal 1",
        f"proposal: {asked.hash}",
        f"name: {asked.name}",
        f"may spend: {asked.grant}",
        f"and of δ: {asked.delta}",
        f"protects: {asked.adjacency}, unit {unit}",
        f"holder: {holder.public.fingerprint}",
    )
    return "\n".join((*(" ".join(line.split()) for line in lines), ""))


def consent_to_own(holder: HolderFile, asked: Proposal) -> OfficersConsent:
    """Return what has to be given before the holder's own question is answered."""
    return OfficersConsent(
        study=asked.hash,
        officers=tuple(officer.key.line for officer in holder.officers),
        required=holder.approvals,
        statement=own_statement(holder, asked),
        verify=verify_approval,
    )


def officers_for_own(holder: HolderFile, asked: Proposal, ledger: Ledger) -> tuple[Person, ...]:
    """Return the officers who have signed."""
    with ledger.transaction(write=False) as transaction:
        return signed_by(holder, consent_to_own(holder, asked), transaction.events.decisions(asked.hash))


def approve_own(holder: HolderFile, asked: Proposal, ledger: Ledger, signature: str, *, argument: str) -> Person:
    """Write an officer's signature down, once, and return who it is; ``argument`` names the signature in errors."""
    statement = own_statement(holder, asked)
    key, officer = check_signature(
        holder, statement, signature, argument=argument, remedy="sign the statement that --statement FILE writes now"
    )
    with ledger.transaction() as transaction:
        before = signed_by(holder, consent_to_own(holder, asked), transaction.events.decisions(asked.hash))
        if officer not in before:
            said = {"key": key.line, "statement": statement, "signature": signature}
            transaction.events.write("approved", said, study=asked.hash, asker="")
    folder, base = holder.private_folder(holder.consents), f"{asked.hash[:12]}-own"
    write_text(folder / f"{base}.statement", statement, argument=f"{holder.file}, state", private=True)
    write_text(folder / f"{base}.{officer.name}.sig", signature, argument=f"{holder.file}, state", private=True)
    return officer
