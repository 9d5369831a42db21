"""The consent that a proposed study needs: what this holder's officers have to have signed about this very letter."""

from __future__ import annotations

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.holder.consent import OfficersConsent
from panbayes.consortium.holder.ledger.decisions import statement_after
from panbayes.consortium.post.bodies import approval_statement
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.signatures import verify
from panbayes.errors import InputError

__all__ = ["consent_to", "statement_of"]


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
        verify=_verify,
        until=proposed.study.about.until,
    )


def _verify(line: str, data: bytes, signature: str) -> bool:
    try:
        key = PublicKey.parse(line, argument="key")
    except InputError:
        return False
    return verify(key, "panbayes-approval", data, signature)
