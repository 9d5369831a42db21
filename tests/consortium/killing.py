"""Kill a whole run around each of its charges and run it again. Run as ``python -m tests.consortium.killing FOLDER``.

Every study in :data:`tests.consortium.studies.KILLED` is learned with ledgers on disk, in children forked from a
parent that has everything loaded and compiled, and no threads. A child is killed with SIGKILL at its n-th charge, once
inside the transaction, before the commit, and once after the commit, before the reply is given; n grows from 1. The
next child resumes. After every kill the ledgers are held against what they were before it:

* they verify;
* every entry of before is still there; before the commit the n-th charge is not, after the commit it is;
* no holder has spent more than the study grants;
* what was cut off before its commit is written down as an answer that failed, once. The holder looks, and lets the
  study go on.

When a child has come to its end the study is learned once more: the statement says what the ledgers charged, and the
network is the same for free.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Agreed, Transaction
from panbayes.consortium.local.learn import learn
from panbayes.privacy.composition import Parallel, PostProcessed, loss_of
from tests.consortium.one_by_one import asking_one_by_one
from tests.consortium.studies import KILLED, Books, tables_for

Entries = dict[str, tuple[Entry, ...]]


def die_at_a_charge(patch: pytest.MonkeyPatch, number: int, *, committed: bool) -> None:
    """Kill this process at its charge of this ``number``, before or after the commit."""
    record, ask, lock, here = Transaction.record, Gate.ask, threading.Lock(), threading.local()
    left = number

    def come_to_a_charge() -> None:
        nonlocal left
        with lock:  # holders are asked at the same time, each in its thread
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def recorded(
        self: Transaction, entry: Entry, *, study: Agreed, asked: bytes, replied: bytes, asker: str = ""
    ) -> None:
        record(self, entry, study=study, asked=asked, replied=replied, asker=asker)
        here.charged = True
        if not committed:
            come_to_a_charge()

    def asked(self: Gate, data: bytes) -> bytes:
        here.charged = False
        reply = ask(self, data)
        if committed and here.charged:
            come_to_a_charge()
        return reply

    patch.setattr(Transaction, "record", recorded)
    patch.setattr(Gate, "ask", asked)


def attempt(study: Study, state: Path, number: int, alone: pytest.MonkeyPatch, *, committed: bool) -> bool:
    """Fork a child that learns until a charge; tell whether it was killed there, or came to its end.

    What keeps this process ``alone``, without threads, is undone in the child.
    """
    process = os.fork()
    if process == 0:
        try:
            alone.undo()
            die_at_a_charge(pytest.MonkeyPatch(), number, committed=committed)
            learn(study, tables_for(study), state=state)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def entries_of(study: Study, books: Books) -> Entries:
    """Read the ledgers, and see that each is whole and within the grant."""
    found: Entries = {}
    cabinet = Cabinet.in_state(books.state)
    for name in tables_for(study):
        if not cabinet.path(name).exists():
            found[name] = ()
            continue
        found[name] = books.entries(name)
        faults = books.faults(name, [entry.head for entry in found[name]])
        assert faults == [], faults
        assert books.spent(name).implies(study.grant), "more is spent than the study grants"
    return found


def look(study: Study, state: Path) -> int:
    """Look at the answers that failed, as every holder must, and let the study go on; return how many did."""
    failed = 0
    for path in Cabinet.in_state(state).files():
        with Ledger.open(path) as ledger:
            ledger.write_cut_off()
            failed += len(ledger.resume(study.hash))
    return failed


def charges(entries: Entries) -> int:
    return sum(map(len, entries.values()))


def kill_and_resume(study: Study, state: Path, alone: pytest.MonkeyPatch) -> dict[str, int]:
    """Learn one study, killed around its charges, to its end."""
    books, kills, others = Books(state), {False: 0, True: 0}, len(tables_for(study)) - 1
    before = entries_of(study, books)
    for number, committed in ((n, when) for n in count(1) for when in (False, True)):
        killed = attempt(study, state, number, alone, committed=committed)
        after = entries_of(study, books)
        assert all(after[name][: len(before[name])] == before[name] for name in before), "an entry is gone"
        more, before = charges(after) - charges(before), after
        failed = look(study, state)
        # Of the holders asked at the same time, one is killed at the lock, and others where they are.
        assert (0 if committed or not killed else 1) <= failed <= (1 + others if killed else 0), (number, failed)
        if not killed:
            break
        kills[committed] += 1
        # The other holders are asked at the same time: each may be short of its commit, or already beyond.
        least, most = (number, number + others) if committed else (number - 1 - others, number - 1)
        assert least <= more <= most, (number, committed, more)
    check_end(study, state, before)
    return {"before the commit": kills[False], "after the commit": kills[True], "charges": charges(before)}


def check_end(study: Study, state: Path, entries: Entries) -> None:
    books = Books(state)
    network = learn(study, tables_for(study), state=state)
    assert learn(study, tables_for(study), state=state) == network
    assert entries_of(study, books) == entries, "the same study was charged for again"
    assert network.privacy is not None
    whole = network.privacy.composition
    assert isinstance(whole, PostProcessed)
    parts = whole.part.parts if isinstance(whole.part, Parallel) else (whole.part,)
    assert [loss_of(part) for part in parts] == [books.spent(name) for name in sorted(entries)]


def main() -> None:
    folder = Path(sys.argv[1])
    alone = asking_one_by_one()
    found = {}
    for number, study in enumerate(KILLED):
        learn(study, tables_for(study), simulate=0)
        found[study.name] = kill_and_resume(study, folder / str(number), alone)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
