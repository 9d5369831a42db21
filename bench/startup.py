"""How long the command takes to start: CPU time of ``panbayes --help`` against an empty Python."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

__all__ = ["run"]

TARGET = 0.4


def _cpu(arguments: list[str]) -> float:
    """Return the CPU seconds of a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> None:
    """Print the medians of both."""
    rounds = [(_cpu(["-c", "pass"]), _cpu(["-m", "panbayes", "--help"])) for _ in range(9)]
    empty, shown = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"panbayes --help: {shown:.2f} CPU-s (an empty Python: {empty:.2f}; target: under {TARGET})")
