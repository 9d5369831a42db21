"""Whether there is room for a charge: in what a study was granted, and under the cap of everybody whom it is about.

Both a gate and whoever asks for the holder itself look here, inside the transaction of the charge. What is told depends
on public facts and on what was spent, never on records.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from panbayes.consortium.holder.ledger.accounts import shares
from panbayes.consortium.holder.ledger.declaration import Dataset, Named
from panbayes.consortium.holder.ledger.stored_study import Promise
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.protocol.envelope import RefusalCode
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss, total
from panbayes.privacy.written import show_fraction

__all__ = ["RefusedError", "Wanted", "check_budget", "conflict"]


class RefusedError(Exception):
    """The question gets no answer; nothing is charged."""

    def __init__(self, code: RefusalCode, text: str) -> None:
        """Remember what the asker is told."""
        self.code: RefusalCode = code
        self.text = text
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be charged, by its ``hash``: a study, or a proposal, which may cost a ``delta`` of its own.

    ``promise`` is what its losses mean, ``blocks`` are those whose people it is about, None for everybody.
    """

    hash: str
    grant: Loss
    promise: Promise
    blocks: Named = None
    delta: Fraction = Fraction(0)


def conflict(dataset: Dataset | None, promise: Promise) -> str | None:
    """Say why a promise is none that a declared dataset can keep; None if it can."""
    adjacency, *unit = promise
    if dataset is None:
        return None
    if dataset.changing and adjacency != "add-remove":
        return 'the table of this holder changes: a study of it must say adjacency = "add-remove"'
    declared = [None, None] if dataset.unit is None else [dataset.unit.max_records, dataset.unit.column]
    if unit == declared:
        return None
    if dataset.unit is None:
        return "every record of this holder is declared to be a person: the schema must have no [unit]"
    return (
        f"this holder's persons are declared by column {dataset.unit.column}, with at most {dataset.unit.max_records} "
        "records each: the schema's [unit] must say the same"
    )


def check_budget(transaction: Transaction, wanted: Wanted, loss: Loss) -> None:
    """Refuse a charge of ``loss`` for which there is no room."""
    if wanted.hash in transaction.closed():
        raise RefusedError("over-budget", "this holder has closed the study: it answers nothing new")
    if transaction.paused(wanted.hash):
        raise RefusedError(
            "paused",
            "answers to this study failed here; it is paused until the holder has looked at why "
            "(panbayes holder ledger resume)",
        )
    dataset = transaction.dataset.declared()
    other = conflict(dataset, wanted.promise)
    if other is not None:
        raise RefusedError("over-budget", other)
    if transaction.promises() - {wanted.promise}:
        # Replacing a record is two steps of add-remove, and under replace the number of people has left.
        raise RefusedError(
            "over-budget",
            "this holder has answered studies under another adjacency or privacy unit: the losses would not add up",
        )
    spent = transaction.spent()
    here = spent.get(wanted.hash, NOTHING)
    if not loss.add(here).implies(wanted.grant):
        raise RefusedError(
            "over-budget",
            f"the study grants {wanted.grant}; {here.amount_text()} is spent and this question costs "
            f"{loss.amount_text()}",
        )
    named = transaction.dataset.named()
    cap = transaction.cap()
    # A study that has begun is in the reserve: those that came later had to leave it room, whatever it has spent.
    others = spent if wanted.hash in spent else transaction.reserved()
    elsewhere = [(named.get(study), other) for study, other in others.items() if study != wanted.hash]
    if cap is not None and not all(
        total((*found, wanted.grant)).implies(cap) for found in shares(wanted.blocks, elsewhere)
    ):
        # How much is left is about other studies, and not this asker's business.
        raise RefusedError("over-budget", f"this holder's cap leaves no room for a study of {wanted.grant}")
    _check_delta(transaction, wanted, dataset, named)


def _check_delta(transaction: Transaction, wanted: Wanted, dataset: Dataset | None, named: dict[str, Named]) -> None:
    if not wanted.delta:
        return
    declared = Fraction(0) if dataset is None else dataset.delta
    others = [(named.get(study.hash), study.delta) for study in transaction.studies() if study.hash != wanted.hash]
    if not all(sum(found, wanted.delta) <= declared for found in shares(wanted.blocks, others)):
        raise RefusedError(
            "over-budget",
            f"the dataset's own δ is {show_fraction(declared)}, and leaves no room for {show_fraction(wanted.delta)}",
        )
