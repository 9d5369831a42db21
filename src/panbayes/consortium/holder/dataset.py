"""A table that changes: one account for a population, whatever its table looks like today.

**Words.** A *dataset* is a population, declared once; its ledger is its account. Its *history* H is the sequence of all
tables that ever lay at its source. A record is the person's whose id its unit column has. Neighbours are histories: H,
and H without everything that one person p ever contributed, H₋ₚ. A *reading* takes the table as it is at one moment,
for one study: what it makes of it is the study's *edition*, and it never sees another. A person's *block* b(p) is the
period of the calendar in which the id was first read, kept for ever in the ledger's register.

**Claim.** For every person p, every way of choosing questions that may depend on all answers so far, and E the cap:
what everybody else ever sees under H and under H₋ₚ differs by a loss of at most

    Σ loss(question)  over the questions whose study is charged to b(p)   ≤   E.

*Proof,* for given times of readings. (1) Blocks.
The block of q ≠ p follows from the times of readings and from whether q's own id is in the tables
read then, so it is the same under H and H₋ₚ. (2) Selection. The blocks that a study is charged to, B(s), follow from
its text and from the periods that were open when it was read: the clock, never before a period opened earlier. Neither
depends on records. A reading keeps the records of people whose block is in B(s), whole, and puts into the register
whoever is not in it yet, in the same pass; nobody is kept who is not in it. (3) Cut. Of each person the first records
in the table's order are kept, as many as the unit says: which those are follows from the person's own records. Hence
the editions of s under H and H₋ₚ are the same if b(p) is not in B(s), and else differ by p's kept records alone, of
which there are no more than the unit says. (4) Answers. Every question of s is answered from its one edition under
``add-remove``, so its answer has no more than its loss if b(p) is in B(s), and none else. (5) Composition. Which
question comes next, whether it is refused and what a refusal says follows from what was seen so far and from the
account, which is a sum of losses by study and of the B(s): nothing of it depends on records beyond what was answered.
So losses add up along the whole run, adaptively chosen or not. (6) Cap. A question is answered only if, for *every*
block b in B(s), what is reserved for all studies charged to b comes to no more than E together with the whole of s. So
the sum for b(p) is at most E. ∎

**Conditions**, each of which somebody must see to:

* *Ids are stable.* Who gets another id is another person to the register, with a block and a budget of their own. The
  holder says so by ``renumber``: from then on no block opens, nothing is selected, and every study is charged to every
  block. Then p, who was u before, has at most Σ over studies before with b(u) in B(s), and over all studies since;
  which is what (6) bounds for b = b(u).
* *Blocks go by first sight*, not by a date in the records: who can move such a date back or forward would have one cap
  after another, or spend others'. A register that forgot whoever is deleted would give them a new block when they
  return. Both are played through in the tests, and break the claim.
* *Times of readings depend on nothing but what was seen.* They may depend on answers, and on overruns: an answer that
  takes k slots instead of one moves the next reading by so much, and at the end of a period the people who are first
  read then come into the next block. The proof holds for every sequence of times. So an overrun tells its k, to whoever
  waits for the next answer, and the blocks tell nothing beyond that. No ε covers k
  (:mod:`panbayes.consortium.agent.slots`). Versions, digests and times of refreshes are told to nobody.
* *A change of some of a person's records*, not all, is two steps: from H to H₋ₚ and from there to the other history.
  Both may have another block, so it is protected at 2E: to remove one record may pull the next one in.
* *The number of people is private* (``add-remove``): the exact sizes of two editions would tell who came and went. Only
  for a *fixed* dataset may neighbours be tables with one person replaced; its records must stay what they were.

What a study sees must not change for its own sake too, and where people have blocks also for (3): a later table has
people whose block it is not charged to. So it is *pinned* in the transaction of its first charge
(:class:`~panbayes.consortium.holder.ledger.declaration.Pin`): to the address of the table as it was, where the source
keeps its past; else its codes are kept (:mod:`panbayes.tables.kept`), on disk before that charge. What is gone makes
the study unavailable, and so is a study that was begun before the dataset was declared to change. Neither is compared
with the table of today: whether that is still the same is a fact about people, which nobody has paid for.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from panbayes.consortium.agreement.calendar import calendar_of
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.budget import conflict
from panbayes.consortium.holder.edition import Edition
from panbayes.consortium.holder.ledger.declaration import Dataset, Named, Pin
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.kept import codes_of
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.stored_study import promise_of
from panbayes.consortium.holder.people import People
from panbayes.consortium.holder.records import Records, read_for
from panbayes.errors import InputError, LedgerError
from panbayes.tables.codes import code_type
from panbayes.tables.counter import BlockCounter
from panbayes.tables.kept import read_codes, write_codes
from panbayes.tables.remote import RemoteTable
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.dispatch import counted_there, open_source
from panbayes.tables.sources.file import File, is_file
from panbayes.tables.table import Table

__all__ = ["Population", "Seen", "keep_codes", "population", "see"]


@dataclass(frozen=True, slots=True)
class Population:
    """A declared dataset, ready to be read: the ``source`` as it is at this moment, and whom to let in.

    ``people`` puts everybody who is read into the register and says whose records are kept; None where there are no
    blocks, and everybody's are. ``blocks`` is what a question about them is charged to. ``address`` is that of the
    table as it is, None where the source keeps no past.
    """

    dataset: Dataset
    source: object
    people: People | None = None
    blocks: Named = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a study sees of a declared dataset: ``edition`` is None where the dataset is fixed."""

    records: Records
    edition: Edition | None = None


def population(ledger: Ledger, data: object, *, argument: str, chosen: tuple[str, ...] | None = None) -> Population:
    """Return a declared dataset as it is now; ``chosen`` are the blocks that are asked for, None for all.

    ``data`` is its table as somebody has given it, by the place that was declared.
    """
    with ledger.transaction(write=False) as transaction:
        dataset, renumbered = transaction.dataset.declared(), transaction.dataset.renumbered()
    if dataset is None:
        raise InputError(argument, found="is no declared dataset", remedy="declare it: panbayes holder dataset declare")
    data = _as_declared(dataset, data, argument=argument)
    if not dataset.changing:
        _check_no_blocks(chosen, "does not change")
        return Population(dataset, data)
    address = _pinned(data, argument=argument)
    source = data if address is None else address
    text = None if address is None else str(address)
    if dataset.blocks is None or renumbered or dataset.unit is None:
        _check_no_blocks(chosen, "had its ids renumbered" if renumbered else "has none")
        return Population(dataset, source, address=text)
    if counted_there(data, argument=argument):
        raise InputError(
            argument,
            found="has blocks, by its people's ids, and is counted where it lies, which no id leaves",
            remedy="have its records read (without pushdown), or declare a dataset without --blocks",
        )
    with ledger.transaction() as transaction:
        newest = transaction.dataset.open_block()
        blocks = frozenset(transaction.dataset.blocks())
    if chosen is not None:
        blocks = _checked(chosen, dataset, newest)
    return Population(dataset, source, People(ledger, blocks, register=newest), blocks, text)


def see(study: Study, ledger: Ledger, data: object, *, argument: str, stack: ExitStack) -> Seen:
    """Return what a study sees of a declared dataset: what it is pinned to, or else the table as it is now.

    ``data`` is the table as somebody has given it, by the place that was declared; whatever has to be closed ends with
    the stack.
    """
    with ledger.transaction(write=False) as transaction:
        dataset, pin = transaction.dataset.declared(), transaction.dataset.pin(study.hash)
        begun = study.hash in transaction.spent()
    other = conflict(dataset, promise_of(study.adjacency, study.schema.unit))
    if other is not None:
        raise InputError(f'study "{study.name}"', found=other, remedy="agree on a study that says so")
    if dataset is not None:
        data = _as_declared(dataset, data, argument=argument)
    if pin is not None:
        return _again(study, ledger, pin, argument=argument, stack=stack)
    found = population(ledger, data, argument=argument, chosen=study.chosen_blocks)
    new = Pin(study.hash, found.blocks, found.address)
    if found.dataset.changing and begun:
        return _gone(study, ledger, new, "was begun before the dataset was declared to change, and was not pinned")
    records = read_for(study, found.source, argument=argument, stack=stack, admit=found.people)
    if not found.dataset.changing:
        _check_comparable(study, records)
        return Seen(records)
    if found.address is not None:
        return Seen(records, Edition(new))
    if isinstance(records, RemoteTable):
        raise InputError(
            argument,
            found="changes, keeps no past, and is counted where it lies: a study could not see one state of it",
            remedy="have its records read (without pushdown), or keep it as a Delta or Iceberg table",
        )
    return Seen(records, Edition(new, partial(keep_codes, ledger, study, records)))


def _again(study: Study, ledger: Ledger, pin: Pin, *, argument: str, stack: ExitStack) -> Seen:
    """Return what a study is pinned to; nobody new is put into the register.

    The table of today is never looked at. Whether it still is what the study began with is a fact about everybody who
    came or went since, and an answer or a silence that depended on it would tell that fact for nothing.
    """
    if pin.address is None:
        kept = None
        if ledger.path is not None:
            kept = read_codes(codes_of(ledger.path, study.hash), study.schema, purpose=study.hash)
        if kept is None:
            return _gone(study, ledger, pin, "was begun with a state of the table whose kept codes are gone")
        return Seen(stack.enter_context(kept), Edition(pin))
    people = None if pin.blocks is None else People(ledger, pin.blocks)
    try:
        source = Address.parse(pin.address, argument=argument)
        records = read_for(study, source, argument=argument, stack=stack, admit=people)
    except InputError as error:
        return _gone(study, ledger, pin, f"was begun with a state of the table that cannot be read ({error.found})")
    known = fingerprint(records).kept
    with ledger.transaction(write=False) as transaction:
        if not transaction.dataset.sees(study.hash, known):
            return _gone(study, ledger, pin, f"was begun with a table that {pin.address} does not have any more")
    return Seen(records, Edition(pin))


def _gone(study: Study, ledger: Ledger, pin: Pin, found: str) -> Seen:
    """Return nobody, for a study that gets no new answer because what it began with is gone."""
    error = LedgerError(
        ledger.name,
        found=f'study "{study.name}" {found}',
        remedy="close the study (panbayes holder ledger close) and agree on a new edition",
    )
    nobody = np.empty((len(study.schema), 0), dtype=code_type(study.schema))
    return Seen(Table(study.schema, nobody, 0), Edition(pin, gone=error))


def keep_codes(ledger: Ledger, study: Study, records: BlockCounter) -> None:
    """Keep what a study sees beside the ledger."""
    if ledger.path is None:
        return
    path = codes_of(ledger.path, study.hash)
    try:
        write_codes(path, records, purpose=study.hash)
    except OSError as error:
        raise LedgerError(
            str(path), found=f"cannot be written ({(error.strerror or 'not writable').lower()})", remedy="make room"
        ) from None


def _as_declared(dataset: Dataset, data: object, *, argument: str) -> object:
    """Return a table, read as it was declared: other names for its columns would make other people of it."""
    declared = dataset.source
    if not isinstance(declared, File) or not is_file(data):
        return data
    given = data if isinstance(data, File) else File(str(data))
    if replace(given, path=declared.path) not in (declared, File(declared.path)):
        raise InputError(
            argument,
            found="is to be read otherwise than its dataset was declared",
            remedy="leave out how it is written: panbayes holder dataset show tells what was declared",
        )
    return replace(declared, path=given.path)


def _check_comparable(study: Study, records: Records) -> None:
    """Refuse to say the exact size of a table of which nobody can tell whether it is still the same."""
    if study.adjacency == "replace" and isinstance(records, RemoteTable) and not records.marks():
        raise InputError(
            f'study "{study.name}"',
            found="says the exact size of a table that is counted where it lies, and may have changed unseen",
            remedy='agree on a study that says adjacency = "add-remove", or have the records read',
        )


def _pinned(data: object, *, argument: str) -> Address | None:
    """Return the address of a table as it is now, wherever this runs; None where its source keeps no past."""
    with open_source(data, argument=argument) as opened:
        return None if opened.pinned is None else opened.pinned.within(Path.cwd())


def _checked(chosen: tuple[str, ...], dataset: Dataset, newest: str) -> frozenset[str]:
    """Return blocks that a study names, or refuse what is no block yet: by the calendar, whoever is in them."""
    for block in chosen:
        if calendar_of(block) != dataset.blocks or block > newest:
            raise InputError(
                "study, blocks",
                found=f'found "{block}", and the dataset has {dataset.blocks} blocks up to {newest}',
                remedy='give some of those, or blocks = "all"',
            )
    return frozenset(chosen)


def _check_no_blocks(chosen: tuple[str, ...] | None, why: str) -> None:
    if chosen is not None:
        raise InputError("study, blocks", found=f"found some, and the dataset {why}", remedy='give blocks = "all"')
