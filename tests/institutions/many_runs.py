"""Many runs with faults, a few at a time, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conftest import ROOT
from tests.institutions.fault_run import Carrier

__all__ = ["many_runs"]

AT_ONCE = 3
"""Runs at a time: they wait more than they work."""


def many_runs(runs: Sequence[tuple[int, Carrier]], folder: Path) -> dict[tuple[int, Carrier], str]:
    """Make runs, a few at a time, each in a process of its own; return what was said of those that went wrong."""

    def one(run: tuple[int, Carrier]) -> str:
        seed, carrier = run
        command = [sys.executable, "-m", "tests.institutions.fault_run", str(seed), carrier]
        variables = {**os.environ, "TMPDIR": str(folder)}
        done = subprocess.run(
            command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=1800, check=False
        )
        wrong = done.returncode != 0 or "Traceback" in done.stdout or ": 70:" in done.stdout
        return f"{done.stdout[-3000:]}{done.stderr[-6000:]}" if wrong else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(runs, pool.map(one, runs), strict=True))
    return {run: said for run, said in found.items() if said}
