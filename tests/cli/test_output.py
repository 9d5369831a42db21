from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from panbayes.cli.text import aligned

NARROW = {**os.environ, "COLUMNS": "40"}
WAIT = "import time\nfrom panbayes.cli.text import working\nwith working('learning from 3 holders'): time.sleep({})\n"


def on_a_terminal(code: str) -> str:
    """Run with standard output and errors on a pseudo-terminal and return what appeared there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=NARROW) as running:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux reports the end of a pseudo-terminal as an error
            pass
    os.close(ours)
    assert running.returncode == 0
    return shown.decode()


def test_a_bar_appears_on_a_terminal_after_two_seconds() -> None:
    shown = on_a_terminal(WAIT.format(8))  # long enough for a machine that has other things to do
    assert "learning from 3 holders" in shown
    assert "0:00:0" in shown


def test_quick_work_and_pipes_stay_silent() -> None:
    assert on_a_terminal(WAIT.format(0)) == ""
    done = subprocess.run([sys.executable, "-c", WAIT.format(2.5)], capture_output=True, text=True, check=True)
    assert done.stderr == done.stdout == ""


@pytest.mark.parametrize("rows", [[("a", "b"), ("longer", "1,000"), ("x", "2.5")]])
def test_numbers_stand_to_the_right(rows: list[tuple[str, str]]) -> None:
    assert aligned(rows, indent=0) == ["a           b", "longer  1,000", "x         2.5"]


LINES = [
    "test.csv: cross entropy 14.691 bits per record",
    "  protects  everything one user ever does",
    "/" * 50,
    "short",
]
EMIT = f"from panbayes.cli.text import emit\nemit({{}}, {LINES!r}, as_json=False)\n"


def test_long_lines_are_folded_between_words_on_a_terminal_alone() -> None:
    assert on_a_terminal(EMIT).splitlines() == [
        "test.csv: cross entropy 14.691 bits per",
        "  record",
        "  protects  everything one user ever",
        "            does",
        "/" * 50,
        "short",
    ]
    done = subprocess.run([sys.executable, "-c", EMIT], capture_output=True, text=True, check=True, env=NARROW)
    assert done.stdout.splitlines() == LINES
