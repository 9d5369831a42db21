from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from panbayes.cli.text import aligned

NARROW = {**os.environ, "COLUMNS": "40"}
WORK = """
import select, sys
from panbayes.cli import text
text.PATIENCE *= {share}
with text.working('learning from 3 holders'):
    select.select([sys.stdin], [], [], {seconds})
"""


def on_a_terminal(code: str, *, until: str = "") -> str:
    """Run with standard output and errors on a pseudo-terminal and return what appeared there.

    Standard input ends when ``until`` has appeared.
    """
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=NARROW) as running:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
                if until and until.encode() in shown and running.stdin is not None:
                    running.stdin.close()
        except OSError:  # Linux reports the end of a pseudo-terminal as an error
            pass
    os.close(ours)
    assert running.returncode == 0
    return shown.decode()


def test_a_bar_appears_on_a_terminal_after_two_seconds() -> None:
    shown = on_a_terminal(WORK.format(share=1, seconds=60), until="0:00:0")
    assert "learning from 3 holders" in shown
    assert "0:00:0" in shown


def test_quick_work_and_pipes_stay_silent() -> None:
    assert on_a_terminal(WORK.format(share=1, seconds=0)) == ""
    slow = [sys.executable, "-c", WORK.format(share=0.1, seconds=1)]
    ours, theirs = pty.openpty()  # where nobody types
    done = subprocess.run(slow, stdin=theirs, capture_output=True, text=True, check=True)
    os.close(ours)
    os.close(theirs)
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
