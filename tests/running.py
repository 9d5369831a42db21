"""Running the command ``panbayes`` in this process, where its imports are paid for already.

The command is called by its real entry point. It sees what a process of its own would see: its arguments, a folder, an
environment and three open files, by number as well as by name; what it changes of those, and which signals end it, is
put back. Not put back is
what nobody can undo: once a command has forbidden core dumps, they stay forbidden.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO
from unittest.mock import patch

from panbayes.cli.main import run

__all__ = ["default_signals", "environment", "run_here", "run_line", "run_process"]

ROOT = Path(__file__).resolve().parents[1]
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FOR_A_SHELL = re.compile(r"[|&;<>(){}$`*?\[\]~#\\!]")


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a command sees: 80 columns, the repository's own folders, and ledgers kept beside the test's folder."""
    known = {"COLUMNS": "80", "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": f"{folder}-user"}
    return {**os.environ, **known, **(more or {})}


def run_process(
    *arguments: str, folder: Path, stdin: str | None = None, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "panbayes", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment(folder, more),
    )


def run_here(
    *arguments: str,
    folder: Path,
    stdin: str | None = None,
    more: Mapping[str, str] | None = None,
    program: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, and say what it would have left as a process of its own."""
    with ExitStack() as stack:
        given, output, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write((stdin or "").encode())
        given.seek(0)
        with (
            _in_place(folder, environment(folder, more), ["panbayes", *arguments]),
            _standard(given, output, errors),
            _Ending() as ending,
        ):
            (program or run)()
        return subprocess.CompletedProcess(list(arguments), ending.code, _content(output), _content(errors))


def run_line(line: str, *, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a person types it: by a shell, and here what is a plain ``panbayes`` command at one of its ends."""
    if _is_plain(line):
        return run_here(*shlex.split(line)[1:], folder=folder)
    before, _, last = line.rpartition(" | ")
    if _is_plain(last):
        return run_here(*shlex.split(last)[1:], folder=folder, stdin=_run_by_shell(before, folder).stdout)
    first, _, after = line.partition(" | ")
    if after and _is_plain(first):
        done = run_here(*shlex.split(first)[1:], folder=folder)
        rest = _run_by_shell(after, folder, stdin=done.stdout)
        return subprocess.CompletedProcess(line, rest.returncode, rest.stdout, done.stderr + rest.stderr)
    first, _, after = line.partition(" && ")
    if after and _is_plain(first):
        done = run_here(*shlex.split(first)[1:], folder=folder)
        if done.returncode:
            return done
        rest = run_line(after, folder=folder)
        return subprocess.CompletedProcess(line, rest.returncode, done.stdout + rest.stdout, done.stderr + rest.stderr)
    return _run_by_shell(line, folder)


def _is_plain(line: str) -> bool:
    return line.startswith("panbayes ") and not FOR_A_SHELL.search(QUOTED.sub("", line))


def _run_by_shell(line: str, folder: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        input=stdin,
        env=environment(folder, {"PATH": path}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class _Ending:
    """Ends a block as the interpreter ends a process, and keeps the exit code."""

    code = 0

    def __enter__(self) -> _Ending:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, SystemExit):
            self.code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif kind is not None and error is not None:
            self.code = 1
            sys.excepthook(kind, error, trace)
        return True


@contextmanager
def _in_place(folder: Path, variables: Mapping[str, str], arguments: list[str]) -> Iterator[None]:
    before, handlers = Path.cwd(), {number: signal.getsignal(number) for number in SIGNALS}
    os.chdir(folder)
    try:
        with (
            patch.dict(os.environ, variables, clear=True),
            patch.object(sys, "argv", arguments),
            patch.object(sys, "excepthook", sys.excepthook),
        ):
            yield
    finally:
        os.chdir(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _standard(*files: IO[bytes]) -> Iterator[None]:
    """Put files in the place of standard input, output and errors, for Python and for libraries below it."""
    names = ("stdin", "stdout", "stderr")
    kept = [os.dup(number) for number in range(3)]
    try:
        with ExitStack() as stack:
            for number, (name, file) in enumerate(zip(names, files, strict=True)):
                os.dup2(file.fileno(), number)
                mode = "w" if number else "r"
                stream = stack.enter_context(open(number, mode, encoding="utf-8", closefd=False))
                stack.enter_context(patch.object(sys, name, stream))
            yield
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def default_signals() -> None:
    """Let a process answer signals as usual, also where whoever runs the tests ignores some."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
