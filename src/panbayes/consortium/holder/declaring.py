"""Declaring a dataset, and what its holder does to it afterwards: refresh its register, or say that ids changed.

What may be declared of a ledger that was used before follows from what it has answered. *Fixed*: whatever that was, if
it was to people of the same unit. *Changing*: only if it was all under ``add-remove``, for the same unit: then what was
answered are questions about the first table of a history. *Blocks*: only if nothing was answered, for the register
would not know whom that was about.

A dataset may be declared again: at another place, where its table has moved, or with another δ. It is known by all its
places from then on. What it promises its people stays: what changes is never fixed again, and blocks stay what they
are.
"""

from __future__ import annotations

from pathlib import Path

from panbayes.consortium.holder.budget import conflict
from panbayes.consortium.holder.dataset import population
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.errors import InputError
from panbayes.privacy.loss import Loss
from panbayes.tables.sources.dispatch import check_columns, open_source
from panbayes.tables.sources.file import name_of

__all__ = ["declare", "refresh", "renumber"]


def declare(cabinet: Cabinet, path: Path, dataset: Dataset, *, cap: Loss | None = None) -> None:
    """Declare a dataset in the ledger at ``path``, which is made if there is none; see the module.

    Its table must be there, with the unit's column; not a record of it is looked at.
    """
    argument = name_of(dataset.source, "--source")
    with open_source(dataset.source, argument=argument) as opened:
        if dataset.unit is not None and not opened.has(dataset.unit.column):
            raise InputError(
                "--unit", found=f'found "{dataset.unit.column}"', remedy=f"give a column of {dataset.source}"
            )
    with cabinet.declaring():
        others = {one: history for one, history in cabinet.datasets().items() if one != path}
        other = cabinet.declared_at(dataset.source, argument=argument, among=others)
        if other is not None:
            raise InputError(
                "--source",
                found=f"is the table of another dataset, whose ledger is {other.name}",
                remedy="one table has one account: declare it there, or give other people's records",
            )
        with Ledger.open(path, create=True) as ledger, ledger.transaction() as transaction:
            _check(transaction, dataset)
            if transaction.dataset.declared() != dataset:
                transaction.dataset.declare(dataset)
            if cap is not None and transaction.cap() != cap:
                transaction.set_cap(cap)


def _check(transaction: Transaction, dataset: Dataset) -> None:
    """Refuse a declaration that what was answered, or declared, before does not allow."""
    answered, _ = transaction.last()
    before = transaction.dataset.declared()
    for promise in transaction.promises():
        other = conflict(dataset, promise)
        if other is not None:
            raise InputError(
                "--changing" if dataset.changing and promise[0] != "add-remove" else "--unit",
                found=f"does not go with what the ledger has answered: {other}",
                remedy="declare what it has promised, or give these people another name and add up yourself",
            )
    if before is not None and before.changing and not dataset.changing and answered:
        raise InputError("--fixed", found="the dataset was declared to change", remedy="leave it so: --changing")
    used = answered or transaction.dataset.blocks()
    if used and dataset.blocks != (None if before is None else before.blocks):
        raise InputError(
            "--blocks",
            found="is not what it was when the ledger was first used, and nobody knows in which block people were then",
            remedy="leave it as it was",
        )


def refresh(ledger: Ledger) -> int:
    """Put everybody who is in the table now into the register; return how many people that has. For the holder's eyes.

    To do so every night gives new people their block in time: who comes and goes between two studies is then seen too.
    """
    with ledger.transaction(write=False) as transaction:
        dataset, renumbered = transaction.dataset.declared(), transaction.dataset.renumbered()
    if dataset is None or dataset.blocks is None or dataset.unit is None or renumbered:
        why = "no dataset is declared" if dataset is None else "the dataset has no blocks"
        raise InputError(
            "NAME", found="its ids were renumbered" if renumbered else why, remedy="there is nothing to refresh"
        )
    argument = name_of(dataset.source, "--source")
    found = population(ledger, dataset.source, argument=argument)
    if found.people is not None:
        with open_source(found.source, argument=argument) as opened:
            check_columns(opened, [dataset.unit.column], argument=argument)
            for batch in opened.batches([dataset.unit.column]):
                found.people(batch.columns[dataset.unit.column])
    with ledger.transaction(write=False) as transaction:
        return transaction.dataset.registered()


def renumber(ledger: Ledger) -> None:
    """Write down, for good, that ids were renumbered: from now on every study is charged to every block."""
    with ledger.transaction() as transaction:
        dataset = transaction.dataset.declared()
        if dataset is None or dataset.blocks is None:
            raise InputError("NAME", found="has no blocks", remedy="nothing depends on its ids from study to study")
        if not transaction.dataset.renumbered():
            transaction.dataset.renumber()
