"""Long runs between institutions: faults, and a million changed messages. Only with PANBAYES_SOAK set (``make soak``).

PANBAYES_FAULT_RUNS says how many runs with faults there are, 150 if it does not.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.effort import soak
from tests.institutions.decoders import fuzz, readers
from tests.institutions.fault_run import CARRIERS
from tests.institutions.many_runs import many_runs
from tests.institutions.test_decoders import NAMES

pytestmark = soak


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_a_million_changed_messages_altogether(name: str, seed: int, tmp_path: Path) -> None:
    """Thirteen readers, four seeds, twenty thousand each: 1,040,000."""
    (reader,) = (one for one in readers(tmp_path) if one.name == name)
    fuzz(reader, 20_000, seed=1_000 + seed)


BATCH = 10
BATCHES = -(-int(os.environ.get("PANBAYES_FAULT_RUNS", "150")) // BATCH)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_runs_with_faults_complete_and_nothing_is_answered_twice(batch: int, tmp_path: Path) -> None:
    seeds = range(1_000 + BATCH * batch, 1_000 + BATCH * (batch + 1))
    wrong = many_runs([(seed, CARRIERS[seed % len(CARRIERS)]) for seed in seeds], tmp_path)
    assert not wrong, "\n".join(wrong.values())
