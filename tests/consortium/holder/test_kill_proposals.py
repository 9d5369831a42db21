"""``kill -9`` around the charge of a proposal; ``killing_proposals.py`` says what is checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def kill(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.consortium.holder.killing_proposals", str(folder), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)


def outcome(folder: Path, *arguments: object) -> dict[str, int]:
    done = kill(folder, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Kill at lines that lie far apart, from the first to the last; return how many there are."""
    found = outcome(tmp_path_factory.mktemp("coarse"), 170, 0)
    assert found["kills"] >= 8
    return found["lines"]


def test_killed_at_lines_around_the_commit(lines: int, tmp_path: Path) -> None:
    """Some lie between the drawing and the commit, some between the commit and the answer."""
    found = outcome(tmp_path, 23, lines - 800)
    assert found["kills"] >= 15
    assert found["cut off"] >= 1
    assert found["charged, not received"] >= 1


def test_the_checks_notice_an_answer_before_the_commit(lines: int, tmp_path: Path) -> None:
    done = kill(tmp_path, 7, lines - 800, "sabotage")
    assert done.returncode == 1
    assert "an answer without a charge" in done.stderr
