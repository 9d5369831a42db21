"""What officers decide about a study, and how a study stands: everything is in the ledger's events.

An approval is an officer's signature of a statement about one letter
(:mod:`panbayes.consortium.agent.consenting`); it counts once for each officer. When enough have signed, the holder's
own key signs a letter that tells the analyst so. To decline, to stop and to resume needs no key: who may use the
holder's machine may take consent away, and a study that is resumed has only what officers signed. Resuming lifts a
stop, whoever made it, and the pause after answers that failed; it asks that approval still stands.

Each statement and signature also lies in the state, in ``consents/``, where ``ssh-keygen -Y verify`` checks them
without panbayes, in the namespace ``panbayes-approval``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import check_signature, consent_to, signed_by, statement_of
from panbayes.consortium.agent.sections import Person
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.holder.ledger.attempts import Attempt
from panbayes.consortium.holder.ledger.decisions import standing
from panbayes.consortium.holder.ledger.events import Event
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.post.bodies import Approval, OfficerSignature, encode
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.letters import Header, Letter, Signed
from panbayes.consortium.post.signatures import signer, verify
from panbayes.errors import InputError, can_be_seen
from panbayes.files import write_text

__all__ = [
    "MAX_REASON",
    "Position",
    "Word",
    "approval_letter",
    "approve",
    "check_reason",
    "decline",
    "position_of",
    "resume",
    "statement_now",
    "stop",
]

Word: TypeAlias = Literal["waiting", "approved", "declined", "stopped", "paused", "expired", "closed"]

MAX_REASON: Final = 300
"""Characters of a reason at most."""


@dataclass(frozen=True, slots=True)
class Position:
    """How a study stands here: in a ``word``, which officers have ``signed`` its letter, of so many ``required``.

    It is answered if the word is "approved" and at no other.
    """

    word: Word
    signed: tuple[Person, ...]
    required: int

    @property
    def enough(self) -> bool:
        """Whether as many officers have signed as must."""
        return len(self.signed) >= self.required


def position_of(proposed: ProposedStudy, holder: HolderFile, ledger: Ledger) -> Position:
    """Say how a study stands, as this letter proposed it."""
    summary, study = ledger.summary(), proposed.study.hash
    with ledger.transaction(write=False) as transaction:
        history = transaction.events.decisions(study)
    signed = _signed(proposed, holder, history)
    closed = any(one.study == study and one.closed for one in summary.studies)
    until = proposed.study.about.until
    word: Word = "waiting"
    decided = [event.what for event in history if event.what in ("approved", "declined")]
    if decided and decided[-1] == "declined":
        word = "declined"
    if len(signed) >= holder.approvals:
        word = "approved"
    if study in summary.paused:
        word = "paused"
    if standing(history).stopped:
        word = "stopped"
    if closed:
        word = "closed"
    if until is not None and dt.date.today() > until:
        word = "expired"
    return Position(word, signed, holder.approvals)


def _signed(proposed: ProposedStudy, holder: HolderFile, history: list[Event]) -> tuple[Person, ...]:
    """Return the officers whose approvals of this letter stand."""
    return signed_by(holder, consent_to(holder, proposed), history)


def statement_now(proposed: ProposedStudy, holder: HolderFile, ledger: Ledger) -> str:
    """Return the text that officers sign now: another one after each decline."""
    with ledger.transaction(write=False) as transaction:
        stands = standing(transaction.events.decisions(proposed.study.hash))
    return statement_of(holder, proposed, declines=stands.declines)


def approve(
    proposed: ProposedStudy, holder: HolderFile, ledger: Ledger, signature: str, *, argument: str
) -> Person | None:
    """Write an officer's signature down and return who it is; None if they had signed before.

    ``argument`` names the signature in errors.
    """
    statement = statement_now(proposed, holder, ledger)
    key, officer = check_signature(
        holder,
        statement,
        signature,
        argument=argument,
        remedy="sign the statement that `panbayes holder approve STUDY --statement FILE` writes now",
    )
    with ledger.transaction() as transaction:
        before = _signed(proposed, holder, transaction.events.decisions(proposed.study.hash))
        if officer not in before:
            said = {"key": key.line, "statement": statement, "signature": signature}
            transaction.events.write(
                "approved", said, study=proposed.study.hash, asker=proposed.analyst.key.fingerprint
            )
    _write_files(proposed, holder, officer, statement, signature)
    send_approval(proposed, holder, ledger)
    return None if officer in before else officer


def _write_files(proposed: ProposedStudy, holder: HolderFile, officer: Person, statement: str, signature: str) -> None:
    folder = holder.private_folder(holder.consents)
    base = f"{proposed.study.hash[:12]}-{proposed.letter.digest[:16]}"
    argument = f"{holder.file}, state"
    write_text(folder / f"{base}.statement", statement, argument=argument, private=True)
    write_text(folder / f"{base}.{officer.name}.sig", signature, argument=argument, private=True)


def approval_letter(proposed: ProposedStudy, holder: HolderFile, ledger: Ledger) -> tuple[Header, Signed] | None:
    """Return the letter that tells the analyst of the approval; None while the study is not approved."""
    if position_of(proposed, holder, ledger).word != "approved":
        return None
    with ledger.transaction(write=False) as transaction:
        officers = _signatures(proposed, holder, transaction)
    header = Header(
        "approval",
        proposed.study.hash,
        proposed.analyst.key.fingerprint,
        holder.public.fingerprint,
        replies_to=proposed.letter.digest,
    )
    body = encode(Approval(statement_now(proposed, holder, ledger), officers))
    return header, Letter(header, body).signed_by(holder.private)


def _signatures(proposed: ProposedStudy, holder: HolderFile, transaction: Transaction) -> tuple[OfficerSignature, ...]:
    """Return the first signatures that make the approval, as many as must be, in the order in which they were made."""
    stands = standing(transaction.events.decisions(proposed.study.hash))
    statement = statement_of(holder, proposed, declines=stands.declines)
    found = dict[PublicKey, OfficerSignature]()
    for event in stands.approvals:
        said = event.said or {}
        signature = str(said.get("signature", ""))
        key = signer(signature)
        known = None if key is None else holder.officer(key)
        if known is not None and verify(known.key, "panbayes-approval", statement.encode(), signature):
            found.setdefault(known.key, OfficerSignature(known.key.line, signature))
    return tuple(found.values())[: holder.approvals]


def send_approval(proposed: ProposedStudy, holder: HolderFile, ledger: Ledger) -> bool:
    """Lay the approval's letter out for the carrier, if the study is approved; tell whether it is."""
    letter = approval_letter(proposed, holder, ledger)
    if letter is not None:
        holder.post("outgoing").put("from", proposed.called, *letter)
    return letter is not None


def check_reason(text: str, *, argument: str) -> str:
    """Return a reason or a name that a person gave; refuse one that cannot be read in one line."""
    if len(text) > MAX_REASON or not can_be_seen(text):
        raise InputError(
            argument,
            found="found more than a line, or what cannot be seen",
            remedy=f"give at most {MAX_REASON} characters",
        )
    return text


def decline(proposed: ProposedStudy, ledger: Ledger, *, by: str, reason: str) -> None:
    """Decline a study: what was signed before is void, and it must be approved anew."""
    _write("declined", proposed, ledger, by, reason)


def stop(proposed: ProposedStudy, ledger: Ledger, *, by: str, reason: str) -> None:
    """Stop a study: nothing leaves from now on."""
    _write("stopped", proposed, ledger, by, reason)


def resume(proposed: ProposedStudy, holder: HolderFile, ledger: Ledger, *, by: str, reason: str) -> tuple[Attempt, ...]:
    """Let a study go on that was stopped or paused, and return the answers that failed since the holder last looked."""
    position = position_of(proposed, holder, ledger)
    if position.word in ("expired", "closed"):
        raise InputError("STUDY", found=f"is {position.word}", remedy="a study that is over cannot go on")
    if not position.enough:
        raise InputError(
            "STUDY",
            found=f"is approved by {len(position.signed)} of {position.required} officers",
            remedy="let officers approve it: panbayes holder approve STUDY --key FILE",
        )
    ledger.write_cut_off()
    if position.word == "stopped":
        _write("resumed", proposed, ledger, by, reason)
    return ledger.resume(proposed.study.hash)


def _write(
    what: Literal["declined", "stopped", "resumed"], proposed: ProposedStudy, ledger: Ledger, by: str, reason: str
) -> None:
    said = {"by": check_reason(by, argument="--by"), "reason": check_reason(reason, argument="--reason")}
    ledger.write_event(what, said, study=proposed.study.hash, asker=proposed.analyst.key.fingerprint)
