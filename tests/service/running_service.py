"""A service as a process of its own, and what its operator would see of it."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from panbayes import Density, DensityEstimator, StreamEstimator
from tests.running import default_signals, environment

__all__ = ["RunningService", "density", "open_state", "running", "wait_for"]

CERTAIN = 60
"""An E at which noise hardly shows: with 10 releases an estimate of 1,000 users is wrong by one or two of them."""


BEAT = "beat = 0.25\n"


def open_state(path: Path, users: int = 1_000, releases: int = 10) -> None:
    """Make a state of known users whose estimates are nearly exact."""
    StreamEstimator.create(path, users, Density(), epsilon=CERTAIN, releases=releases).close()


def density(path: Path) -> float:
    """Release an estimate of a state, which a service may be feeding."""
    with DensityEstimator.open(path, writing=False) as estimator:
        return estimator.estimate().density


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


@dataclass
class RunningService:
    """A service that runs in ``folder``; what it says stands in ``told``."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def told(self) -> str:
        """All that the service has said."""
        return (self.folder / "told").read_text(encoding="utf-8")

    def port(self, what: str) -> int:
        """The port at which lines are taken, or releases shown."""
        found = re.search(rf"{what} .*http://127\.0\.0\.1:(\d+)/", self.told)
        assert found, self.told
        return int(found[1])

    def post(self, body: bytes, *, path: str = "/", method: str = "POST", **headers: str) -> int:
        """Send a body, and return how it was answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port("taking lines at"), timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            return connection.getresponse().status
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, str]:
        """Ask for what is shown."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port("showing releases at"), timeout=60)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop, or kill it, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def running(
    folder: Path, text: str, *, stdin: int = subprocess.DEVNULL, open_files: int | None = None
) -> Iterator[RunningService]:
    """Run a service with this file, and wait until it is ready; afterwards it is gone.

    Unless the file says otherwise it beats four times a second: every answer waits for a beat.
    """
    limit = [] if open_files is None else ["sh", "-c", f'ulimit -n {open_files}; exec "$@"', "sh"]
    (folder / "service.toml").write_text(f"version = 1\n{'' if 'beat =' in text else BEAT}{text}", encoding="utf-8")
    with (folder / "told").open("wb") as told:
        process = subprocess.Popen(
            [*limit, sys.executable, "-m", "panbayes", "stream", "serve", "service.toml"],
            cwd=folder,
            stdin=stdin,
            stdout=told,
            stderr=told,
            env=environment(folder),
            preexec_fn=default_signals,
        )
    service = RunningService(process, folder)
    try:
        wait_for(lambda: "ready;" in service.told or process.poll() is not None, 120)
        assert process.poll() is None, service.told
        yield service
    finally:
        process.kill()
        process.wait(60)
