"""The example of visitors without cookies runs from any folder, and its releases are near what was in the log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import soak

ROOT = Path(__file__).parents[2]


@soak
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_example_runs_from_any_folder(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    command = ["bash", str(ROOT / "examples" / "visitors" / "run.sh"), str(tmp_path / "site")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    truth = [int(line) for line in (tmp_path / "site" / "truth.txt").read_text().split()]
    found = [json.loads(file.read_text()) for file in sorted((tmp_path / "site" / "releases").iterdir())]
    releases = [one.get("estimate", one) for one in found]
    assert len(truth) == len(releases) == 7
    for users, one in zip(truth, releases, strict=True):
        # Eight predicted standard errors.
        assert one["users"] == pytest.approx(users, rel=8 * one["relative_error"])
        assert one["relative_error"] < 0.09
    assert "loses at most 1 over all of them" in done.stdout
    assert (tmp_path / "site" / "visitors.png").read_bytes().startswith(b"\x89PNG")
