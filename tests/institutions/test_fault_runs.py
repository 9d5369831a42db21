"""Runs in which things break: one on an ordinary day, in soak many (:mod:`tests.soak`).

What went wrong is told with its seed, and ``python -m tests.institutions.fault_run SEED CARRIER`` shows it again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import some
from tests.institutions.fault_run import Carrier, run_with_faults
from tests.institutions.invariants import ViolationError
from tests.institutions.many_runs import many_runs

CHEATS = [
    ("early", "ledger does not have"),
    ("fresh noise", "a fresh analyst|has given 2 answers|ledger does not have"),
]
RUNS: tuple[tuple[int, Carrier], ...] = ((7, "mailbox"),)


def test_runs_complete_and_nothing_is_answered_twice(tmp_path: Path) -> None:
    wrong = many_runs(RUNS, tmp_path)
    assert not wrong, "\n".join(wrong.values())


@pytest.mark.parametrize(
    ("sabotage", "told"),
    some(CHEATS, 1),
)
def test_the_checks_notice_a_holder_that_cheats(sabotage: str, told: str, tmp_path: Path) -> None:
    """A gate that draws fresh noise when it is asked again, and one whose replies leave before they are charged."""
    with pytest.raises(ViolationError, match=told):
        run_with_faults(tmp_path / "run", 6, "folder", sabotage=sabotage, stormy=False)
