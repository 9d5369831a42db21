"""``kill -9`` at a hundred points and more around the transaction; ``killing.py`` says what is checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import often, soak

ROOT = Path(__file__).resolve().parents[3]


def kill(mode: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.consortium.holder.killing", mode, str(folder), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)


def outcome(mode: str, folder: Path, *arguments: object) -> dict[str, int]:
    done = kill(mode, folder, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@soak
def test_killed_at_sixty_random_times(tmp_path: Path) -> None:
    """``make soak`` has five thousand."""
    found = outcome("random", tmp_path, 60, 20261115)
    assert found["kills"] == 60
    assert 1 <= found["cut off"] <= 60
    assert found["studies"] > 5


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Kill at lines far apart of those that run for one question; return one of the last.

    ``make soak`` has every line.
    """
    step = often(60, 20)
    found = outcome("lines", tmp_path_factory.mktemp("coarse"), step, 0)
    assert found["kills"] >= often(13, 40)
    return found["lines"] - 2 * step


def test_killed_at_every_line_around_the_commit(lines: int, tmp_path: Path) -> None:
    """Among the last lines are some before the commit, and some between the commit and the release."""
    found = outcome("lines", tmp_path, often(4, 1), lines - 60)
    assert found["kills"] >= often(12, 50)
    assert found["nothing"] >= often(5, 20)
    assert found["charged, not received"] >= 1
    assert found["cut off"] >= often(2, 10)


@soak
def test_the_checks_notice_a_release_before_the_commit(lines: int, tmp_path: Path) -> None:
    done = kill("lines", tmp_path, 3, lines - 60, "sabotage")
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
    assert "a release without a charge" in done.stderr or "older copy was restored" in done.stderr
