"""Whether what a ledger says of a declared dataset holds together, and with its entries; a part of ``verify``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from panbayes.consortium.agreement.calendar import calendar_of
from panbayes.consortium.holder.ledger.accounts import shares
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.dataset_table import DatasetTable
from panbayes.consortium.holder.ledger.declaration import Dataset, Named, Pin, read_dataset, read_pin
from panbayes.consortium.holder.ledger.notes import Note
from panbayes.consortium.holder.ledger.stored_study import StoredStudy
from panbayes.privacy.loss import Loss, total

__all__ = ["charge_faults", "named_in", "note_faults", "register_faults"]


def named_in(notes: Iterable[Note]) -> dict[str, Named]:
    """Return the blocks that studies are charged to, by what was pinned."""
    pins = (_pin(note) for note in notes)
    return {pin.study: pin.blocks for pin in pins if pin is not None}


def charge_faults(
    entry: Entry,
    before: Sequence[Note],
    *,
    spent: Mapping[str, Loss],
    cap: Loss | None,
    studies: Mapping[str, StoredStudy],
) -> Iterator[str]:
    """Yield what is wrong with a charge, by the notes before it and what was ``spent`` with it, by study."""
    named = named_in(before)
    own = named.get(entry.study)
    charged = [(named.get(study), loss) for study, loss in spent.items()]
    if cap is not None and not all(total(found).implies(cap) for found in shares(own, charged)):
        yield "the total is above the cap in force"
    dataset = next((found for note in reversed(before) if (found := _dataset(note)) is not None), None)
    study = studies.get(entry.study)
    if study is None:
        return
    allowed = Fraction(0) if dataset is None else dataset.delta
    deltas = [(named.get(one), studies[one].delta) for one in spent if one in studies]
    if study.delta and not all(sum(found, Fraction(0)) <= allowed for found in shares(own, deltas)):
        yield "the sum of δ is above the dataset's own"
    if study.proposal and dataset is None:
        yield "it is for a proposal, and no dataset had been declared"
    if dataset is not None and dataset.changing:
        if entry.study not in named:
            yield "its study is pinned to nothing, and the dataset changes"
        if study.adjacency != "add-remove":
            yield "its study counts people in public, and the dataset changes"
    if dataset is not None and study.max_records != (None if dataset.unit is None else dataset.unit.max_records):
        yield "its study has another privacy unit than the dataset"


def note_faults(notes: Sequence[Note]) -> Iterator[str]:
    """Yield what is wrong with notes about a dataset."""
    dataset: Dataset | None = None
    newest: str | None = None
    renumbered = False
    pinned: set[str] = set()
    for note in notes:
        if note.what == "dataset":
            dataset = _dataset(note)
            if dataset is None:
                yield "a note of a dataset cannot be read"
        elif note.what == "block":
            block = note.content or ""
            calendar = None if dataset is None else dataset.blocks
            if calendar is None or calendar_of(block) != calendar or renumbered:
                yield "a block was opened that the dataset does not have"
            elif newest is not None and block <= newest:
                yield "the blocks are not in order"
            newest = block
        elif note.what == "renumbered":
            renumbered = True
        elif note.what == "pinned":
            pin = _pin(note)
            if pin is None:
                yield "a note of what a study sees cannot be read"
                continue
            if pin.study in pinned:
                yield "a study was pinned twice"
            pinned.add(pin.study)
            everybody = dataset is None or dataset.blocks is None or renumbered
            if (pin.blocks is None) != everybody or max(pin.blocks or ("",)) > (newest or ""):
                yield "a study was pinned to other blocks than there were"


def register_faults(table: DatasetTable, notes: Iterable[Note]) -> Iterator[str]:
    """Yield what is wrong with the register."""
    opened = {note.content for note in notes if note.what == "block"}
    if not table.registered_blocks() <= opened:
        yield "the register has people of blocks that were never opened"
    if table.kept_sums() != table.sums():
        yield "people are missing from the register, or were added to it or moved"


def _dataset(note: Note) -> Dataset | None:
    return read_dataset(note.content or "") if note.what == "dataset" else None


def _pin(note: Note) -> Pin | None:
    return read_pin(note.content or "") if note.what == "pinned" else None
