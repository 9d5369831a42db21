"""Kill a process that brings an old ledger to a new version, and look at what is left.

Run as ``python -m tests.consortium.holder.migrating FOLDER STEP [sabotage]``. Every child opens a copy of the golden
ledger of the first version, knowing a made-up one beyond the newest, and is killed with SIGKILL before one statement of
the migration or at one line of the holder's room, every ``STEP``-th. After every kill the ledger must be of the first
version, whole, or of the made-up one, whole; a second child must then bring it there; and the old questions must get
the old bytes.

With ``sabotage`` the migration is not one transaction: the checks must notice.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from panbayes.consortium.holder.ledger import file as ledger_file
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from tests.consortium.holder.golden_ledger import EXCHANGES, FOLDER, HEADS, golden, layout, replay
from tests.consortium.holder.killing import die_at
from tests.consortium.holder.made_up_version import STATEMENTS, known, to_made_up


def attempt(path: Path, step: Callable[..., None], before: Callable[[], None]) -> bool:
    """Open the ledger in a child that knows the made-up version; tell whether it was killed."""
    process = os.fork()
    if process == 0:
        try:
            with known(step):
                before()
                Ledger.open(path).close()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def check(path: Path, layouts: dict[str, set[tuple[str, str, str]]]) -> str:
    """Check that the ledger is whole, and return whether it is the old one or the new one."""
    found = [name for name, known_layout in layouts.items() if layout(path) == known_layout]
    assert found, "half a migration was left"
    copy = path.with_name("copy.ledger")
    shutil.copy2(path, copy)
    with known(to_made_up), Ledger.open(copy) as ledger:
        faults = verify(ledger, heads=HEADS)
        assert faults == [], faults
        assert replay(ledger) == [exchange.reply for exchange in EXCHANGES]
    return found[0]


def main() -> None:
    folder, step_of_lines = Path(sys.argv[1]), int(sys.argv[2])
    layouts = {"old": layout(golden(folder))}
    with known(to_made_up):
        Ledger.open(folder / "new.ledger", create=True).close()
    layouts["new"] = layout(folder / "new.ledger")
    if sys.argv[-1] == "sabotage":
        vars(ledger_file)["_begun"] = lambda _connection, *, write: nullcontext(write)
    original = (FOLDER / "version-1.ledger").read_bytes()
    outcomes = {"kills": 0, "half-written": 0, "old": 0, "new": 0}

    def one(step: Callable[..., None], before: Callable[[], None]) -> bool:
        path = golden(folder)
        killed = attempt(path, step, before)
        if killed:
            outcomes["kills"] += 1
            outcomes["half-written"] += path.read_bytes() != original and Path(f"{path}-journal").stat().st_size > 0
            with known(to_made_up), Ledger.read(path) as ledger:
                assert verify(ledger, heads=HEADS) == [], "who only looks does not see it whole"
            outcomes[check(path, layouts)] += 1
            assert not attempt(path, to_made_up, lambda: None)
        assert check(path, layouts) == "new"
        Path(f"{path}-journal").unlink()
        return killed

    for place in range(len(STATEMENTS) + 1):
        assert one(partial(to_made_up, kill_at=place), lambda: None)
    line = 0
    while one(to_made_up, partial(die_at, line)):
        line += step_of_lines
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main()
