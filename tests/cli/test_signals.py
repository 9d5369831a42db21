"""A command that is interrupted or asked to stop ends at once, says so in one line, and leaves nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from panbayes.cli.demo.population import clinic_network
from panbayes.schema.schema import dump_schema
from tests.effort import soak, some
from tests.running import default_signals, environment

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STUDY = 'version = 1\nname = "s"\nschema = "clinic.toml"\nstrategy = "adaptive"\nepsilon = 1.0\n'


def start(*arguments: str, folder: Path, ignoring: bool = False) -> subprocess.Popen[str]:
    def prepare() -> None:
        default_signals()
        if ignoring:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    return subprocess.Popen(
        [sys.executable, "-m", "panbayes", *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert process.poll() is None or condition(), process.communicate()
        assert time.monotonic() < until
        time.sleep(0.002)


def is_ready(process: subprocess.Popen[str]) -> bool:
    """Whether the command looks after signals itself: Python alone lets the system look after SIGTERM."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def unfinished(folder: Path) -> list[Path]:
    return list(folder.glob(".*.tmp*"))


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_what_was_being_written_is_removed_and_the_old_file_stays(number: signal.Signals, tmp_path: Path) -> None:
    clinic_network().save(tmp_path / "model.json")
    (tmp_path / "out.csv").write_text("old")
    with start("sample", "model.json", "-n", "20000000", "-o", "out.csv", folder=tmp_path) as process:
        wait_until(lambda: unfinished(tmp_path), process)
        process.send_signal(number)
        assert process.communicate() == ("", "error: interrupted\n")
    assert process.returncode == 130
    assert not unfinished(tmp_path)
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize("attempt", some(range(8), 2))
def test_an_interruption_at_any_moment_is_no_bug(attempt: int, tmp_path: Path) -> None:
    """From the first moment on, while everything is imported and while something is learned."""
    network = clinic_network()
    network.sample_table(1000, 1).decoded().write_csv(tmp_path / "north.csv")
    (tmp_path / "clinic.toml").write_text(dump_schema(network.schema))
    (tmp_path / "study.toml").write_text(STUDY)
    arguments = ("learn", "study.toml", "--holder", "north=north.csv", "-o", "model.json", "--state", ".")
    with start(*arguments, folder=tmp_path) as process:
        wait_until(lambda: is_ready(process), process)
        time.sleep(np.random.default_rng(attempt).uniform(0, 0.2 * attempt))
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (130, "", "error: interrupted\n") or process.returncode == 0
    assert not unfinished(tmp_path)
    assert not unfinished(tmp_path / "ledgers")


@soak
def test_a_command_started_to_survive_its_terminal_does(tmp_path: Path) -> None:
    clinic_network().save(tmp_path / "model.json")
    with start("sample", "model.json", "-n", "300000", "-o", "out.csv", folder=tmp_path, ignoring=True) as process:
        # On a busy machine it may have been finished before anybody looked.
        wait_until(lambda: unfinished(tmp_path) or (tmp_path / "out.csv").exists(), process)
        process.send_signal(signal.SIGHUP)
        process.communicate()
    assert process.returncode == 0
    assert (tmp_path / "out.csv").exists()
