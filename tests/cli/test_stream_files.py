"""What ``panbayes stream`` says of files: what counts, what was cut short, what is damaged, full or read-only."""

from __future__ import annotations

import array
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.feeding import batches
from panbayes.stream.state.inspection import inspect_state
from tests.cli.test_stream import Here, here
from tests.effort import some
from tests.running import default_signals, environment

__all__ = ["here"]

ENTRIES = 24576


def made(folder: Path) -> Path:
    """A state at a budget so huge that its bits say who appeared: one of 640 is wrong once in 700,000 states."""
    folder.mkdir(exist_ok=True)
    DensityEstimator.create(folder / "s.state", 640, epsilon=40, releases=2, state_epsilon=20).close()
    return folder / "s.state"


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture
def states(tmp_path: Path) -> list[Path]:
    """Two of them: where a bit of the first is wrong, the second decides; both are wrong with probability 2e-12."""
    return [made(tmp_path / name) for name in ("first", "second")]


def present(path: Path) -> set[int]:
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8)[ENTRIES : ENTRIES + 80]
    return set(np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist())


def test_nobody_is_told_that_all_counts_when_nothing_does(here: Here, exact: Path) -> None:
    (exact.parent / "in").write_text("somebody\nelse\n")
    said = here("stream", "feed", "s.state", "in").stdout
    assert "were ignored, and how many is not told" in said
    assert "all of the input counts" not in said
    (exact.parent / "in").write_text("1\n2\n")
    assert here("stream", "feed", "s.state", "in").stdout == said


ROWS = {
    "in.txt": "1\n\n  \n700\nann\n639\n1\n",
    "in.csv": 'x,id\n0,1\n0,\n0," "\n0,700\n0,ann\n0,639\n0,1\n"broken,1\nshort\n',
    "in.ndjson": '{"id":1}\n{"id":null}\n{"id":" "}\n{"id":700}\n{"id":"ann"}\n{"id":"639"}\n{"id":1}\n{broken\n{}\n',
}


@pytest.mark.parametrize("name", [*ROWS, "in.parquet"])
def test_the_owner_of_the_data_can_ask_how_many_rows_would_count(here: Here, tmp_path: Path, name: str) -> None:
    if name == "in.parquet":
        pl.DataFrame({"id": ["1", None, " ", "700", "ann", "639", "1"]}).write_parquet(tmp_path / name)
    else:
        (tmp_path / name).write_text(ROWS[name])
    more = 2 if name in ("in.csv", "in.ndjson") else 0
    column = () if name == "in.txt" else ("--column", "id")
    done = here("stream", "check", name, "--universe", "640", *column, "--json")
    told = {"rows": 7 + more, "left_out": 0, "counted": 3, "outside": 2, "missing": 2 + more}
    assert json.loads(done.stdout) == told
    shown = here("stream", "check", name, "--universe", "640", *column).stdout
    assert "For the holder's eyes only" in shown
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_state_is_moved_by_a_command(here: Here, exact: Path) -> None:
    assert here("stream", "move", "s.state", "t.state").stdout.startswith("t.state: moved here from s.state")
    assert not exact.exists()
    done = here("stream", "estimate", "t.state", "--json")
    assert json.loads(done.stdout)["fresh"]
    (exact.parent / "in").write_text("1\n")
    assert "exists already" in here("stream", "move", "t.state", "in").stderr


def test_a_copied_file_is_named_as_one(here: Here, exact: Path) -> None:
    (exact.parent / "copy").write_bytes(exact.read_bytes())
    (exact.parent / "copy").chmod(0o600)
    for command in ("feed", "estimate"):
        done = here("stream", command, "copy")
        assert done.returncode == 2
        assert "is a copy" in done.stderr
        assert "stream move" in done.stderr
    assert "this file is one" in here("stream", "info", "copy").stdout


def test_info_works_where_nothing_can_be_written_and_changes_nothing(
    exact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a read-only file system: nothing can be opened for writing, and no times can be set."""
    really_open, before = os.open, exact.stat()

    def open_reading(path: str | Path, flags: int, *rest: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, "Read-only file system")
        return really_open(path, flags, *rest)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", open_reading)
    monkeypatch.setattr(os, "utime", refuse)
    assert inspect_state(exact).left == 2
    with pytest.raises(InputError, match="read-only file system"):
        DensityEstimator.open(exact, writing=False)
    after = exact.stat()
    assert (after.st_atime_ns, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_atime_ns,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_info_works_while_the_stream_is_fed(exact: Path) -> None:
    with DensityEstimator.open(exact):
        assert inspect_state(exact).left == 2


def test_info_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(InputError, match="is not a regular file"):
        inspect_state(tmp_path / "pipe")


def damaged_parquet(path: Path) -> None:
    pl.DataFrame({"id": [str(i) * 3 for i in range(640)] * 20}).write_parquet(path, compression="snappy")
    place = pq.ParquetFile(path).metadata.row_group(0).column(0)
    start = place.dictionary_page_offset or place.data_page_offset
    data = bytearray(path.read_bytes())
    for i in range(start, start + place.total_compressed_size):
        data[i] = 0x77
    path.write_bytes(data)


def test_a_damaged_parquet_page_is_no_bug(here: Here, exact: Path) -> None:
    damaged_parquet(exact.parent / "in.parquet")
    done = here("stream", "feed", "s.state", "in.parquet")
    assert done.returncode == 2
    assert "in.parquet: has a damaged part" in done.stderr
    assert done.stderr.count("\n") == 1
    with pytest.raises(InputError, match="has a damaged part"):
        list(batches(str(exact.parent / "in.parquet")))


@pytest.mark.parametrize("command", some([["info"], ["estimate"], ["estimate", "--json"], ["feed"]], 2))
def test_a_full_output_device_is_no_bug_and_loses_no_release(exact: Path, command: list[str]) -> None:
    with Path("/dev/full").open("w") as full, (exact.parent / "in").open("w+") as empty:
        done = subprocess.run(
            [sys.executable, "-m", "panbayes", "stream", command[0], "s.state", *command[1:]],
            cwd=exact.parent,
            env=environment(exact.parent),
            stdin=empty,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "standard output: cannot be written" in done.stderr
    with DensityEstimator.open(exact, writing=False) as estimator:
        assert (estimator.last() is not None) is (command[0] == "estimate")


def start_feeding(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "panbayes", "stream", "feed", "s.state", *arguments],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    )


def wait_until_read(process: subprocess.Popen[bytes]) -> None:
    """Wait until nothing is left in the pipe."""
    assert process.stdin is not None
    left = array.array("i", [1])
    until = time.monotonic() + 120
    while left[0]:
        fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, left)
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.parametrize(
    "number", some([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], 1), ids=lambda number: number.name
)
def test_an_interrupted_feed_applies_the_whole_lines_it_has_read(states: list[Path], number: signal.Signals) -> None:
    """Within the second that a batch may wait: they were read, and not yet handed over."""
    assert any(after_interruption(state, number) == {5, 6} for state in states)


def after_interruption(exact: Path, number: signal.Signals) -> set[int]:
    process = start_feeding(exact.parent)
    assert process.stdin is not None
    process.stdin.write(b"5\n6\n63")
    process.stdin.flush()
    wait_until_read(process)
    process.send_signal(number)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert output == b""
    assert errors.startswith(b"error: interrupted; every whole line")
    assert errors.count(b"\n") == 1
    DensityEstimator.open(exact).close()
    return present(exact)


def test_a_feed_that_waits_for_input_ends_when_asked(exact: Path) -> None:
    before = exact.stat().st_ctime_ns
    process = start_feeding(exact.parent)
    until = time.monotonic() + 120
    while exact.stat().st_ctime_ns == before and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=300)[0] == b""
    assert process.returncode == 130
    assert len(present(exact)) <= 1


AGAIN = """
import os, signal, sys
from panbayes.stream.state import mapped

before = mapped.MappedState.settle
number = int(sys.argv.pop(1))

def settle(state):
    # The batch was applied, and is being brought to the disk: once the first signal was heard, here comes the second.
    if asked():
        os.kill(os.getpid(), number)
    before(state)

def asked():
    return any(stop.asked for stop in stops)

from panbayes.stream.ids import stopping
stops = []
made = stopping.Stop.__init__
def init(self):
    made(self)
    stops.append(self)
stopping.Stop.__init__ = init
mapped.MappedState.settle = settle
from panbayes.cli.main import run
run()
"""


@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM], 1), ids=lambda number: number.name)
def test_a_second_signal_during_the_flush_loses_nothing(states: list[Path], number: signal.Signals) -> None:
    """What was fed before stays, what was read until the first signal counts, and the file is whole."""
    assert any(after_two_signals(state, number) == {1, 2, 5, 6} for state in states)


def after_two_signals(exact: Path, number: signal.Signals) -> set[int]:
    done = start_feeding(exact.parent)
    done.communicate(b"1\n2\n", timeout=300)
    process = subprocess.Popen(
        [sys.executable, "-c", AGAIN, str(int(number)), "stream", "feed", "s.state"],
        cwd=exact.parent,
        env=environment(exact.parent),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    )
    assert process.stdin is not None
    process.stdin.write(b"5\n6\n63")
    process.stdin.flush()
    wait_until_read(process)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=300)
    # At once: the line of the first signal, which says that all counts, was never reached.
    assert (process.returncode, output, errors) == (130, b"", b"error: interrupted\n")
    with DensityEstimator.open(exact) as estimator:
        assert estimator.last() is None
    return present(exact)
