"""``kill -9`` around the charge of a proposal; ``killing_proposals.py`` says what is checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.effort import often, soak

ROOT = Path(__file__).resolve().parents[3]


def kill(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.consortium.holder.killing_proposals", str(folder), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)


def outcome(folder: Path, *arguments: object) -> dict[str, int]:
    done = kill(folder, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@soak
def test_killed_at_lines_that_lie_far_apart(tmp_path: Path) -> None:
    assert outcome(tmp_path, 170, "asked")["kills"] >= 8


def test_killed_at_lines_from_the_writing_of_an_answer_on(tmp_path: Path) -> None:
    """Some lie before the commit, and some between the commit and the answer; ``make soak`` has every line."""
    found = outcome(tmp_path, often(12, 1), "written")
    assert found["cut off"] >= 1
    assert found["charged, not received"] >= 1


@soak
def test_the_checks_notice_an_answer_before_the_commit(tmp_path: Path) -> None:
    done = kill(tmp_path, 11, "written", "sabotage")
    assert done.returncode == 1
    assert "an answer without a charge" in done.stderr
