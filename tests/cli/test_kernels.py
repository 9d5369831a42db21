"""The first run: kernels find a place wherever they can, and a person at a terminal is told why it takes a while."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import panbayes
from panbayes.cli.demo.population import clinic_network
from panbayes.cli.kernels import TOLD, TOLD_ALWAYS
from tests.effort import soak
from tests.running import environment

SAMPLE = ("-m", "panbayes", "sample", "model.json", "-n", "3", "-o", "drawn.csv")
"""A command that needs few kernels."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clinic_network().save(tmp_path / "model.json")
    return tmp_path


@pytest.fixture
def read_only(tmp_path: Path) -> dict[str, str]:
    """A copy of the package where nothing can be kept beside the source, and a user without a home."""
    copy = tmp_path / "read-only" / "panbayes"
    shutil.copytree(str(Path(str(panbayes.__file__)).parent), copy, ignore=shutil.ignore_patterns("__pycache__"))
    for source in copy.rglob("*.py"):
        if "njit" in source.read_text(encoding="utf-8"):
            # Not by permissions, which do not bind a superuser.
            (source.parent / "__pycache__").touch()
    (tmp_path / "temporary").mkdir()
    return {
        "PYTHONPATH": str(copy.parent),
        "HOME": "/dev/null",
        "XDG_CACHE_HOME": "/dev/null/cache",
        "TMPDIR": str(tmp_path / "temporary"),
    }


def on_a_terminal(*arguments: str, folder: Path, more: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    env = environment(folder, more)
    with subprocess.Popen([sys.executable, *arguments], cwd=folder, stdout=theirs, stderr=theirs, env=env) as running:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux reports the end of a pseudo-terminal as an error
            pass
    os.close(ours)
    assert running.returncode == 0, shown
    return shown.decode()


@soak
def test_compiling_is_announced_once_on_a_terminal_and_never_again(folder: Path) -> None:
    more = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    piped = subprocess.run(
        [sys.executable, *SAMPLE], cwd=folder, env=environment(folder, more), capture_output=True, check=True
    )
    assert piped.stderr == b""
    shutil.rmtree(folder / "cache")
    first = on_a_terminal(*SAMPLE, folder=folder, more={**more, "COLUMNS": "200"})
    assert first.count(TOLD) == 1
    assert "Compiling" not in on_a_terminal(*SAMPLE, folder=folder, more=more)


@soak
def test_a_service_without_a_home_on_a_read_only_system_works(folder: Path, read_only: dict[str, str]) -> None:
    shown = on_a_terminal(*SAMPLE, folder=folder, more={**read_only, "COLUMNS": "200"})
    assert TOLD_ALWAYS in shown
    assert len((folder / "drawn.csv").read_text().splitlines()) == 4
    assert not list((folder / "temporary").iterdir())


LIBRARY = """
{first}
import panbayes
network = panbayes.Network.load("model.json")
print(len(network.sample(3, seed=1)))
"""


@soak
@pytest.mark.parametrize("first", ["", "import numba"])
def test_the_library_works_on_a_read_only_system_without_a_home(
    first: str, folder: Path, read_only: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY.format(first=first)],
        cwd=folder,
        env=environment(folder, read_only),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("3\n", "", 0)
    assert not list((folder / "temporary").iterdir())


@soak
def test_a_read_only_installation_keeps_kernels_in_the_users_cache(folder: Path, read_only: dict[str, str]) -> None:
    more = {**read_only, "XDG_CACHE_HOME": str(folder / "home"), "COLUMNS": "200"}
    assert TOLD in on_a_terminal(*SAMPLE, folder=folder, more=more)
    assert list((folder / "home" / "numba").rglob("*.nbi"))
    assert "Compiling" not in on_a_terminal(*SAMPLE, folder=folder, more=more)
