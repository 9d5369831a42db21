"""``kill -9`` while a study is pinned to a state of its table; ``killing_pins.py`` says what is checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import often, soak

ROOT = Path(__file__).resolve().parents[3]


def kill(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.consortium.holder.killing_pins", str(folder), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Kill at every thirtieth line; return how many lines there are."""
    done = kill(tmp_path_factory.mktemp("coarse"), 29, 0)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert min(found[outcome] for outcome in ("nothing", "seen", "codes left", "charged")) >= 1, found
    return int(found["lines"])


@soak
def test_killed_around_the_commit_a_study_is_pinned_with_its_codes_or_not_at_all(lines: int, tmp_path: Path) -> None:
    done = kill(tmp_path, often(9, 3), lines - 100)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["codes left"] >= 1


@soak
def test_the_checks_notice_codes_that_are_kept_after_the_commit(lines: int, tmp_path: Path) -> None:
    done = kill(tmp_path, 1, lines - 60, "sabotage")
    assert done.returncode == 1
    assert "charged, and what it saw is not kept" in done.stderr
