"""The long variants: ten million mutated messages, thousands of kills. Only with PANBAYES_SOAK set (``make soak``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.consortium.holder.test_kill import outcome
from tests.consortium.holder.test_kill_proposals import outcome as outcome_of_proposal
from tests.consortium.protocol.test_messages import fuzz
from tests.effort import soak

pytestmark = soak


@pytest.mark.parametrize("seed", range(10))
def test_a_million_mutations_each(seed: int) -> None:
    fuzz(1_000_000, seed=1_000 + seed)


@pytest.mark.parametrize("seed", range(5))
def test_killed_at_a_thousand_random_times_each(seed: int, tmp_path: Path) -> None:
    assert outcome("random", tmp_path, 1_000, seed)["kills"] == 1_000


def test_killed_at_every_line_of_the_transaction(tmp_path: Path) -> None:
    found = outcome("lines", tmp_path, 1, 0)
    assert found["kills"] >= 200
    assert found["charged, not received"] >= 1


def test_killed_at_every_line_from_the_writing_of_a_proposals_answer_on(tmp_path: Path) -> None:
    found = outcome_of_proposal(tmp_path, 1, "written")
    assert found["kills"] >= 100
    assert found["charged, not received"] >= 1
