"""The pipes between the agent and the process that computes, when something goes wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from panbayes.consortium.agent import worker as module
from panbayes.consortium.agent.pipe import MAX_FRAME, Done, Job
from panbayes.consortium.agent.worker import Worker
from tests.consortium.agent.houses import House

JOB = Job("1f" * 32, "2e" * 32, 1, "SHA256:" + "A" * 43, b"question")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(House(tmp_path / "house").write())
    yield made
    made.close()


def says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> None:
    """Let a script be what computes."""
    (tmp_path / "speaker.py").write_text(f"import os, sys, time\nout = sys.stdout.buffer\n{program}\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(module, "_MODULE", "speaker")


@pytest.mark.parametrize(
    "program",
    [
        f"out.write(({MAX_FRAME} + 1).to_bytes(8, 'big') + b'x' * 1000); out.flush(); sys.stdin.buffer.read()",
        "out.write(b'\\xff' * 100); out.flush(); sys.stdin.buffer.read()",
        "out.write((5).to_bytes(8, 'big') + b'\\xc1\\xc1\\xc1\\xc1\\xc1'); out.flush(); sys.stdin.buffer.read()",
        "out.write((500).to_bytes(8, 'big') + b'cut off'); out.flush(); os.kill(os.getpid(), 9)",
        "out.write(b'\\0\\0\\0'); out.flush(); sys.exit(3)",
    ],
    ids=["a message too long", "no length", "no message", "killed in the middle", "ended in the length"],
)
def test_garbage_from_what_computes_is_no_answer_and_it_is_let_go(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    says(monkeypatch, tmp_path, program)
    assert list(worker.work(JOB)) == [Done("withheld")]
    assert worker.process is None


def test_a_process_that_cannot_be_started_leaves_no_file_open(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.pipe, []

    def pipe() -> tuple[int, int]:
        calls.append(0)
        if len(calls) % 2 == 0:
            raise OSError(24, "Too many open files")
        return real()

    monkeypatch.setattr(os, "pipe", pipe)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(OSError, match="Too many open files"):
            list(worker.work(JOB))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_cannot_even_load_says_so_in_one_line(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "numpy.py").write_text("raise MemoryError('of somebody')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PANBAYES_DEBUG", raising=False)
    assert list(worker.work(JOB)) == [Done("withheld")]
    assert capfd.readouterr().err == "the process that computes could not start: MemoryError\n"
