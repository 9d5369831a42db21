"""Receipts of a network: made of the letters that it was learned from, and checked by anybody who has the roster.

A receipt proves that the holder's key signed *an* answer with this SHA-512; which study, round and question it is about
stands in the letter, which the analyst keeps in its journal and the holder's ledger can give again. Who doubts asks for
the letter: it has this SHA-512, or it is not the one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from panbayes.bayesnet.receipts import Receipts, SignedAnswer, Signer
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.desk.journal import Answer
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.signatures import verify_digest
from panbayes.errors import InputError, visible

__all__ = ["Checked", "check_receipts", "receipts_of", "signed_by"]

_SHOWN: Final = 3
"""So many faults of one holder are told."""


def receipts_of(
    study: Study,
    analyst: PublicKey,
    holders: Mapping[str, PublicKey],
    answers: Mapping[str, Mapping[str, Answer]],
    heads: Mapping[str, Mapping[str, str]],
) -> Receipts:
    """Return the receipts of the answers that a network was learned from: those whose ``heads`` the run has seen.

    ``answers`` and ``heads`` are by holder and by the question's id.
    """
    return Receipts(
        study.hash,
        analyst.line,
        tuple(
            Signer(
                name,
                key.line,
                tuple(
                    sorted(
                        (_signed(answers[name][question], head) for question, head in heads.get(name, {}).items()),
                        key=lambda one: one.sequence,
                    )
                ),
            )
            for name, key in sorted(holders.items())
        ),
    )


def _signed(answer: Answer, head: str) -> SignedAnswer:
    return SignedAnswer(
        answer.sequence,
        answer.round,
        answer.question,
        head,
        hashlib.sha512(answer.letter.data).hexdigest(),
        answer.letter.signature,
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of one holder: its ``fingerprint``, how many ``answers``, and what is wrong with them."""

    name: str
    fingerprint: str
    answers: int
    faults: tuple[str, ...]


def check_receipts(receipts: Receipts, roster: Roster, *, named: str) -> list[Checked]:
    """Check every signature by the roster's keys; ``named`` are the holders that the network says it is learned from.

    A key that was replaced is still good for what it signed: when that was, nothing in a receipt can prove.
    """
    names = [signer.name for signer in receipts.holders]
    found = [_checked(signer, roster, twice=names.count(signer.name) > 1) for signer in receipts.holders]
    absent = [name for name in named.split(", ") if name and name not in names]
    if not any(signer.answers for signer in receipts.holders):
        found.append(Checked("the model", "", 0, ("nobody signed an answer that it says it was learned from",)))
    return [*found, *(Checked(name, "", 0, ("the model names it, and has no receipt of it",)) for name in absent)]


def _checked(signer: Signer, roster: Roster, *, twice: bool) -> Checked:
    try:
        key = PublicKey.parse(signer.key, argument="key")
    except InputError:
        return Checked(signer.name, "", len(signer.answers), ("its key is none",))
    faults = []
    if key not in [one.key for one in roster.of(signer.name)]:
        faults.append("the roster has another key, or none")
    if twice:
        faults.append("it is there twice")
    seen: set[int | str] = set()
    for answer in signer.answers:
        if answer.sequence in seen:
            faults.append(f"answer {answer.sequence} is there twice")
        elif seen.intersection((answer.letter, answer.question)):
            faults.append(f"answer {answer.sequence} is another one under a number of its own")
        seen.update((answer.sequence, answer.letter, answer.question))
        if not verify_digest(key, "panbayes-answer", bytes.fromhex(answer.letter), answer.signature):
            faults.append(f"the signature of answer {answer.sequence} is not by this key, or of another letter")
    more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
    return Checked(signer.name, key.fingerprint, len(signer.answers), (*faults[:_SHOWN], *more))


def signed_by(receipts: Receipts) -> list[str]:
    """Say who signed, and how often; nothing is checked by it."""
    return [_signed_line(one) for one in receipts.holders]


def _signed_line(signer: Signer) -> str:
    number = len(signer.answers)
    if not number:
        return f"no answer of {_named(signer)} was used"
    return f"signed by {_named(signer)}, {number} answer{'' if number == 1 else 's'}"


def _named(signer: Signer) -> str:
    try:
        return f"{visible(signer.name)} ({PublicKey.parse(signer.key, argument='key').fingerprint})"
    except InputError:
        return f"{visible(signer.name)} (no key)"
