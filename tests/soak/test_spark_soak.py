"""The command line with Spark, in processes of their own; they run when PANBAYES_SOAK is set (``make soak``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.cli.test_lake_sources import SCHEMA
from tests.effort import soak
from tests.running import environment
from tests.spark_here import needs_spark

pytestmark = soak


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as the first of a group of processes."""
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-m", "panbayes", *arguments],
        cwd=folder,
        env=environment(folder, {"SPARK_LOCAL_IP": "127.0.0.1", "PANBAYES_SPARK_RUN": str(folder)}),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def running(folder: Path) -> list[str]:
    """Return what still runs with this folder in its environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"PANBAYES_SPARK_RUN={folder}".encode() in (process / "environ").read_bytes():
                found.append((process / "comm").read_text())
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def test_a_run_with_spark_is_quiet_and_leaves_nothing_running(tmp_path: Path) -> None:
    needs_spark()
    frame = pl.DataFrame({"sex": ["F", "M"] * 400, "relapse": ["no", "yes", "yes", None] * 200})
    frame.write_parquet(tmp_path / "people.parquet", row_group_size=100)
    (tmp_path / "clinic.toml").write_text(SCHEMA)
    assert run(tmp_path, "study", "new", "study.toml", "--schema", "clinic.toml", "--epsilon", "1").returncode == 0
    models = []
    for name, data in (("file", "people.parquet"), ("spark", "spark:///?path=people.parquet")):
        done = run(tmp_path, "learn", "study.toml", "--holder", f"north={data}", "-o", f"{name}.json", "--state", "l")
        assert done.returncode == 0, done.stderr
        assert done.stderr == "" or "WARN" not in done.stderr
        models.append((tmp_path / f"{name}.json").read_bytes())
    assert len(set(models)) == 1, "one account, wherever the records are counted"
    assert running(tmp_path) == []
