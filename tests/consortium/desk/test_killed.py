"""An analyst that is killed at every step ends with the same network, and asks nothing twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.effort import soak
from tests.running import environment


@soak
def test_an_analyst_killed_at_every_step_goes_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.consortium.desk.killing", str(tmp_path)],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for found in json.loads(done.stdout).values():
        assert found["kills"] >= 4 * found["rounds"]
