"""Copies of the whole tree, in which a module is exchanged and tests are run: the working tree stays as it is."""

from __future__ import annotations

import ast
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias

__all__ = ["PACKAGE", "ROOT", "Outcome", "Run", "Tree", "likely_tests", "modules_of", "source"]

ROOT: Final = Path(__file__).resolve().parents[3]
PACKAGE: Final = "src/panbayes"

_LEFT_OUT: Final = shutil.ignore_patterns(".*", "*.pyc", "dist", "build", "demo-output", "*.egg-info")
_OF_THIS_RUN: Final = ("PANBAYES_SOAK", "PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR")
_MEMORY: Final = 8 * 2**30
"""Bytes that a run may take for its data: a mutant may make a loop that collects for ever."""

_SILENT: Final = 100.0
"""A run of which no test ends for so many seconds hangs: on an ordinary day a test takes three."""

Outcome: TypeAlias = Literal["killed", "survived", "timeout"]

_MEANINGS: Final[dict[int, Outcome]] = {0: "survived", 1: "killed", 2: "killed"}
"""What pytest's exit codes mean: 2 is a module of tests that cannot be imported."""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of some tests: ``by`` is the test that failed first, "" if none did."""

    outcome: Outcome
    seconds: float
    by: str = ""


class Tree:
    """A copy of the working tree, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Copy the tree into a ``folder`` that is not there yet, with the kernels that were compiled beside it."""
        self.root = folder
        self._age = 0
        shutil.copytree(ROOT, folder, ignore=_LEFT_OUT)

    def run(self, tests: Sequence[str], *, only: str = "") -> Run:
        """Run tests, by their paths and ``only`` those of an expression of names, until one fails or does not end.

        Raises :class:`RuntimeError` if there are no such tests.
        """
        chosen = [*tests, *(["-k", only] if only else [])]
        options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", "--durations=0", "--durations-min=9999"]
        environment = {name: value for name, value in os.environ.items() if name not in _OF_THIS_RUN}
        environment["PYTHONPATH"] = str(self.root / "src")
        started = time.monotonic()
        with tempfile.TemporaryFile() as output:
            with subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *chosen],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_bound_memory,
            ) as process:
                try:
                    ended = _ends(process, output)
                finally:
                    _end_group(process.pid)
            took = time.monotonic() - started
            output.seek(0)
            said = output.read().decode(errors="replace")
        if not ended:
            return Run("timeout", took)
        if process.returncode not in _MEANINGS:
            # A process that was ended by a signal has crashed, which nobody overlooks.
            if process.returncode >= 0:
                raise RuntimeError(f"pytest {' '.join(chosen)} ended with {process.returncode}:\n{said[-2000:]}")
            return Run("killed", took, by=f"signal {-process.returncode}")
        lines = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        failed = [line.partition(" ")[2].partition(" - ")[0] for line in lines]
        return Run(_MEANINGS[process.returncode], took, by=failed[0] if failed else "")

    @contextmanager
    def exchanged(self, file: str, text: str) -> Iterator[None]:
        """Put another text in the place of a module, without kernels that were compiled from the former one.

        What is compiled holds the constants and the functions of the modules that it uses, and its age does not show
        that one of these has changed. So whatever uses the module, directly or not, is compiled anew.
        """
        path = self.root / PACKAGE / file
        before, when = path.read_bytes(), path.stat()
        kernels = {kernel: (kernel.read_bytes(), kernel.stat()) for kernel in self._kernels(file)}
        try:
            path.write_text(text, encoding="utf-8")
            # Bytecode is kept by age and length: no two texts of a module are of the same age.
            self._age += 1
            os.utime(path, (self._age, self._age))
            for kernel in kernels:
                kernel.unlink()
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))
            for kernel in self._kernels(file):
                kernel.unlink()
            for kernel, (data, stamp) in kernels.items():
                kernel.write_bytes(data)
                os.utime(kernel, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    def _kernels(self, file: str) -> list[Path]:
        """Return the compiled kernels of a module and of all that use it."""
        found: list[Path] = []
        for user in _users()[file] | {file}:
            path = self.root / PACKAGE / user
            # Numba names a file by module, function and line.
            found += [*path.parent.glob(f"__pycache__/{path.stem}.*.nb[ic]")]
        return found


def _ends(process: subprocess.Popen[bytes], output: IO[bytes]) -> bool:
    """Wait for a process; tell whether it ends before it has written nothing for as long as no test takes."""
    size, since = 0, time.monotonic()
    while True:
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            found = os.fstat(output.fileno()).st_size
            if found != size:
                size, since = found, time.monotonic()
            elif time.monotonic() - since > _SILENT:
                return False
        else:
            return True


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _end_group(process: int) -> None:
    """End whatever the tests have started and not ended."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return


@cache
def modules_of(room: str = "") -> tuple[str, ...]:
    """Return the modules of a room, by their paths below the package; of all rooms if none is named."""
    package = ROOT / PACKAGE
    return tuple(sorted(str(path.relative_to(package)) for path in (package / room).rglob("*.py")))


@cache
def source(file: str) -> str:
    """Return the text of a module, by its path below the package."""
    return (ROOT / PACKAGE / file).read_text(encoding="utf-8")


@cache
def _users() -> dict[str, set[str]]:
    """Return for every module all those that import it, directly or not."""
    direct: dict[str, set[str]] = {file: set() for file in modules_of()}
    for file in direct:
        tree = ast.parse(source(file))
        for name in _imported(tree):
            for used in (f"{name}.py", f"{name}/__init__.py"):
                if used in direct:
                    direct[used].add(file)
    found: dict[str, set[str]] = {}
    for file in direct:
        found[file], waiting = set(), [file]
        while waiting:
            for user in direct[waiting.pop()] - found[file]:
                found[file].add(user)
                waiting.append(user)
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the paths of modules below the package that a module may import."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    yield from (name.removeprefix("panbayes.").replace(".", "/") for name in names if name.startswith("panbayes."))


def likely_tests(file: str) -> list[str]:
    """Return the modules of tests for a module, those first that are likeliest to notice its mutants.

    These are the tests of the same name, those of the room that import the module, and all others of its own folder, or
    of the one above it where tests have no such folder; and the doctests.
    """
    path = Path(file)
    if len(path.parts) == 1:
        return [str(test.relative_to(ROOT)) for test in sorted((ROOT / "tests").glob("test_*.py"))]
    folder = next(above for above in (ROOT / "tests" / path).parents if above.is_dir())
    name = "panbayes." + ".".join(path.with_suffix("").parts)

    def rank(test: Path) -> int:
        if test.stem == f"test_{path.stem}":
            return 0
        if test.stem.startswith(f"test_{path.stem}_"):
            return 1
        if f"{name} import" in test.read_text(encoding="utf-8"):
            return 2
        return 3 if test.is_relative_to(folder) else 4

    ranked = sorted(
        (rank(test), str(test.relative_to(ROOT))) for test in (ROOT / "tests" / path.parts[0]).rglob("test_*.py")
    )
    doctests = f"tests/test_docs.py::test_doctests[{path.parts[0]}]"
    return [*(test for place, test in ranked if place < 4), doctests]
