"""The consent that a proposed study needs: what this holder's officers have to have signed about this very letter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.sections import Person
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.holder.consent import OfficersConsent
from panbayes.consortium.holder.ledger.decisions import standing, statement_after
from panbayes.consortium.holder.ledger.events import Event
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.officers import Change, Officers, in_force
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.post.bodies import approval_statement
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.signatures import signer, verify, verify_approval
from panbayes.errors import InputError

__all__ = ["change_officers", "check_signature", "consent_to", "officers_statement", "signed_by", "statement_of"]


def statement_of(holder: HolderFile, proposed: ProposedStudy, *, declines: int = 0) -> str:
    """Return the text that every officer signs, after the study was declined so often."""
    study = proposed.study
    until = study.about.until
    statement = approval_statement(
        study=study.hash,
        name=study.name,
        grant=str(study.grant),
        until=None if until is None else until.isoformat(),
        analyst=proposed.analyst.key.fingerprint,
        holder=holder.public.fingerprint,
        letter=proposed.letter.data,
    )
    return statement_after(declines, statement)


def consent_to(holder: HolderFile, proposed: ProposedStudy) -> OfficersConsent:
    """Return what has to be given before a study is answered."""
    return OfficersConsent(
        study=proposed.study.hash,
        officers=tuple(officer.key.line for officer in holder.officers),
        required=holder.approvals,
        statement=statement_of(holder, proposed),
        verify=verify_approval,
        until=proposed.study.about.until,
    )


def signed_by(holder: HolderFile, consent: OfficersConsent, history: Iterable[Event]) -> tuple[Person, ...]:
    """Return the officers whose approvals stand after what was decided, each judged as the gate judges them."""
    stands = standing(history)
    statement = statement_after(stands.declines, consent.statement)
    one = replace(consent, required=1, until=None, statement=statement)
    return tuple(
        officer
        for officer in holder.officers
        if replace(one, officers=(officer.key.line,)).follows_from(stands.approvals)
    )


def check_signature(
    holder: HolderFile, statement: str, signature: str, *, argument: str, remedy: str
) -> tuple[PublicKey, Person]:
    """Return whose signature of a statement this is; refuse what is no officer's, with what is to be signed instead."""
    key = signer(signature)
    officer = None if key is None else holder.officer(key)
    if key is None:
        raise InputError(argument, found="is no signature", remedy="give what `ssh-keygen -Y sign` wrote")
    if officer is None:
        raise InputError(
            argument,
            found=f"is of the key {key.fingerprint}, which is no officer's here",
            remedy=f"let an officer of {holder.file} sign",
        )
    if not verify(key, "panbayes-approval", statement.encode(), signature):
        raise InputError(
            argument,
            found=f"is not {officer.name}'s signature under this approval",
            remedy=f"{remedy}, with `ssh-keygen -Y sign -n panbayes-approval`",
        )
    return key, officer


def officers_statement(holder: HolderFile, ledger: Ledger) -> str | None:
    """Return what those who decide about the account sign, so that the file's officers do; None if these do already."""
    with ledger.transaction(write=False) as transaction:
        deciding = _in_force(transaction, transaction.officers())
        if deciding in (None, holder.deciding):
            return None
        return holder.deciding.statement(account=transaction.first(), change=len(transaction.officers()))


def change_officers(holder: HolderFile, ledger: Ledger, signatures: tuple[str, ...], *, argument: str) -> None:
    """Let the holder's officers decide about the account from now on, if those who do have signed it."""
    content = Change(holder.deciding, signatures).content
    with ledger.transaction() as transaction:
        before = transaction.officers()
        deciding = _in_force(transaction, before)
        if deciding is not None and _in_force(transaction, [*before, content]) != holder.deciding:
            raise InputError(
                argument,
                found=f"fewer than {deciding.required} of those who decide about the account have signed this change",
                remedy="let them sign what --statement FILE writes now, and give all signatures at once",
            )
        transaction.note("officers", content)


def _in_force(transaction: Transaction, notes: list[str]) -> Officers | None:
    return in_force(notes, account=transaction.first(), verify=verify_approval)
