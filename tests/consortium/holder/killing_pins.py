"""Kill a holder whose table changes, at any line, and look at what is left. Run as ``python -m`` this module.

A child puts people into the register, keeps the codes of its table and answers a study's first question; it is killed
at one exact line of the holder's room. Then the table is another one, and the next child goes on as ``see`` would: from
what is pinned, or from the new table if nothing is. After every kill:

* the ledger verifies, and has charged nothing or the one question;
* if it has charged it, the study is pinned, its codes are whole, and the next question goes to the first table;
* if it has not, nothing is pinned, and both questions go to the new table, whatever codes were left behind;
* people who were in the register still are, in the same block.

With ``sabotage`` codes are kept after the commit, by a careless holder: the checks must notice.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder import dataset as dataset_module
from panbayes.consortium.holder.edition import Edition
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.declaration import Dataset, Pin
from panbayes.consortium.holder.ledger.kept import codes_of
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.dp.secure import SecureNoise
from panbayes.tables.kept import read_codes, write_codes
from panbayes.tables.sources.file import File
from panbayes.tables.table import Table
from tests.consortium.holder.killing import die_at
from tests.consortium.local.declared import SMOKES, counted, question, study

PEOPLE = [number.to_bytes(16, "big") for number in range(1000)]
"""What the register knows people by."""

SABOTAGE = sys.argv[-1] == "sabotage"


def table(people: int) -> Table:
    return Table(SMOKES, np.zeros((2, people), dtype=np.uint8), people)


def ask(path: Path, agreed: Study, people: int, number: int) -> bytes:
    """Answer a question as a holder with so many people in its table."""
    with Ledger.open(path) as ledger, ExitStack() as stack:
        with ledger.transaction(write=False) as transaction:
            pin = transaction.dataset.pin(agreed.hash)
        if pin is not None:
            # The source cannot be read: only what was kept will do.
            seen = dataset_module.see(agreed, ledger, "/nowhere.csv", argument="data", stack=stack)
            return Gate(seen.records, agreed, ledger, SecureNoise(), edition=seen.edition).ask(
                question(agreed, number=number)
            )
        records = table(people)
        with ledger.transaction() as transaction:
            block = transaction.dataset.open_block()
            blocks = frozenset(transaction.dataset.blocks())
        with ledger.transaction() as transaction:
            transaction.dataset.register(PEOPLE[:people], block)
        keep = partial(dataset_module.keep_codes, ledger, agreed, records)
        edition = Edition(Pin(agreed.hash, blocks), (lambda: None) if SABOTAGE else keep)
        reply = Gate(records, agreed, ledger, SecureNoise(), edition=edition).ask(question(agreed, number=number))
        if SABOTAGE:
            keep()
        return reply


def killed(path: Path, agreed: Study, line: int) -> bool:
    process = os.fork()
    if process == 0:
        try:
            die_at(line)
            ask(path, agreed, 12, 0)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def check(path: Path, agreed: Study, outcomes: dict[str, int]) -> None:
    with Ledger.open(path) as ledger:
        ledger.write_cut_off()
        ledger.resume(agreed.hash)
        faults, entries = verify(ledger), ledger.entries()
        with ledger.transaction(write=False) as transaction:
            pin, known = transaction.dataset.pin(agreed.hash), transaction.dataset.blocks_of(PEOPLE[:12])
    assert faults == [], faults
    assert len(entries) <= 1
    assert (pin is not None) == bool(entries), "a pin without a charge, or a charge without a pin"
    assert len(known) in (0, 12)
    left = codes_of(path, agreed.hash).exists()
    if pin is not None:
        kept = read_codes(codes_of(path, agreed.hash), SMOKES, purpose=agreed.hash)
        assert kept is not None, "charged, and what it saw is not kept"
    outcome = "charged" if entries else "codes left" if left else "seen" if known else "nothing"
    outcomes[outcome] = outcomes.get(outcome, 0) + 1
    for number in (0, 1):
        assert counted(ask(path, agreed, 30, number)) == [12 if entries else 30, 0], "another state than it began with"
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        assert known.items() <= transaction.dataset.blocks_of(PEOPLE[:30]).items(), "somebody changed blocks"


def main() -> None:
    folder, step, first = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    outcomes: dict[str, int] = {}
    agreed, line, going = study(), first, True
    with Ledger.open(folder / "warm.ledger", create=True) as ledger:
        Gate(table(3), agreed, ledger, SecureNoise()).ask(question(agreed))
    write_codes(folder / "warm", table(3), purpose="")
    while going:
        path = folder / f"{line}.ledger"
        with Ledger.open(path, create=True) as ledger, ledger.transaction() as transaction:
            transaction.dataset.declare(Dataset(File("/nowhere.csv"), SMOKES.unit, changing=True, blocks="yearly"))
        going = killed(path, agreed, line)
        check(path, agreed, outcomes)
        line += step
    sys.stdout.write(json.dumps({"lines": line, **outcomes}))


if __name__ == "__main__":
    main()
