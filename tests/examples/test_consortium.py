"""The example of three hospitals and an analyst runs from any folder, and ends with what it promises."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import soak

pytest.importorskip("starlette", reason="the mailbox needs the extra serve")
pytest.importorskip("uvicorn", reason="the mailbox needs the extra serve")

ROOT = Path(__file__).parents[2]


@soak
@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("awk") is None, reason="needs bash and awk")
def test_the_example_runs_from_any_folder(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    script, folder = ROOT / "examples" / "consortium" / "run.sh", tmp_path / "parties"
    command = ["bash", str(script), str(folder)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    models = [folder / "analyst" / name for name in ("model.json", "second.json")]
    for model in models:
        signed = json.loads(model.read_text())["receipts"]["holders"]
        assert [holder["name"] for holder in signed] == ["north", "south", "west"]
    assert done.stdout.count("every signature holds") == 6
    assert done.stdout.count("every entry, sum, question and reply is as it was written") == 3
    assert done.stdout.count("approved") >= 2
