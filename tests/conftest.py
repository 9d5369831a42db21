"""Fixtures that every test may use."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import SOAK, often
from tests.postgres import POSTGRES
from tests.running import run_here, run_process

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile(
    "panbayes",
    deadline=None,
    derandomize=True,
    max_examples=often(25, 200),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("panbayes")

ROOT = Path(__file__).resolve().parents[1]

FIRST = (
    "tests/examples/",
    "tests/institutions/",
    "tests/test_docs.py",
    "tests/test_packaging.py",
    "tests/test_running.py",
)
"""What has tests that take long each: begun last, one would run alone where other workers have nothing left to do."""

LONG: Final = 3.0
"""Seconds that a test of an ordinary day takes at most, but for those of :data:`LONGER`."""

LONGER: Final = (
    "tests/examples/",  # whole examples, as people run them
    "tests/test_docs.py",  # pages of documentation, every snippet of them
    "tests/institutions/test_fault_runs.py",  # runs over real processes in which things break
    "tests/stream/test_memory.py",  # the whole memory of a process is looked through
)
"""The exceptions."""

ROOM_IN_MEMORY: Final = 4 << 30
"""So much room the folders of all tests never take."""

Panbayes = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure(config: pytest.Config) -> None:
    """Keep the folders of tests in memory where there is room: ledgers and letters wait for the disk all the time."""
    memory = Path("/dev", "shm")
    chosen = "PYTEST_DEBUG_TEMPROOT" in os.environ or config.getoption("basetemp", None) is not None
    if not chosen and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_IN_MEMORY:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(memory)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is too long for an ordinary day, and begin with what takes longest."""
    if not SOAK:
        left = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that took too long for an ordinary day: each belongs to soak, or gets faster."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, [])]
    long = {one.nodeid for one in reports if one.duration > LONG and not one.nodeid.startswith(LONGER)}
    if long and not SOAK:
        terminalreporter.write_sep("=", f"took more than {LONG:g} seconds")
        for name in sorted(long):
            terminalreporter.write_line(name)


@pytest.fixture(scope="session", autouse=True)
def _state_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what runs without a state directory of its own out of the user's, whose ledgers are nobody's to touch."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("user")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, _state_of_nobody: Path, request: pytest.FixtureRequest) -> None:
    """Give every test a user's state directory of its own, so that none finds what another left."""
    name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
    monkeypatch.setenv("XDG_STATE_HOME", str(_state_of_nobody / name))


@pytest.fixture(scope="session", autouse=True)
def _ended_postgres() -> Iterator[None]:
    """End the server that a test has started."""
    yield
    POSTGRES.end()


@pytest.fixture(scope="session")
def diabetes_path() -> Path:
    """The published Diabetes archive, where it is at hand."""
    candidates = [os.environ.get("PANBAYES_DIABETES"), ROOT.parent / "shared" / "data" / "dataset_diabetes.zip"]
    for candidate in candidates:
        if candidate is not None and Path(candidate).is_file():
            return Path(candidate)
    pytest.skip("the Diabetes data is not here: set PANBAYES_DIABETES to the published archive")


@pytest.fixture
def panbayes(tmp_path: Path) -> Panbayes:
    """Run the command by its entry point in this process, in the test's own folder."""

    def call(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_here(*arguments, folder=tmp_path, stdin=stdin, more=environment)

    return call


@pytest.fixture
def panbayes_process(tmp_path: Path) -> Panbayes:
    """Run the command in a process of its own, in the test's own folder."""

    def call(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_process(*arguments, folder=tmp_path, stdin=stdin, more=environment)

    return call
