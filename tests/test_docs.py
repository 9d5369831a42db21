"""The documentation is executed: doctests of every module, and every snippet of README and docs.

In Markdown, ``python`` blocks run in order in one namespace per file, in an empty folder; one that names a file after
the language is written to that file instead. In ``console`` blocks the
lines after ``$ `` are run in that folder, by a shell where they need one, and their output must be what is printed
below them; a line ``...`` stands for any lines, and ``...`` within a line for the rest of it. A block that says
``needs=postgresql`` finds a server, and one that says ``needs=spark`` is run where Spark is; elsewhere they are left
out, and the test says so.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import runpy
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.postgres import POSTGRES, programs
from tests.running import run_line
from tests.spark_here import why_no_spark
from tests.test_architecture import MODULES, SOURCE

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(python|console)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def why_no_postgresql() -> str | None:
    return None if programs() else "PostgreSQL is not installed"


NEEDS: dict[str, Callable[[], str | None]] = {"needs=postgresql": why_no_postgresql, "needs=spark": why_no_spark}


ROOMS = sorted({path.relative_to(SOURCE).parts[0] for path in MODULES if path.parent != SOURCE})


@pytest.mark.parametrize("room", ["", *ROOMS, "reproduction"])
def test_doctests(room: str) -> None:
    folder, base = (ROOT / room, ROOT) if room == "reproduction" else (SOURCE / room, SOURCE.parent)
    inside = folder.rglob("*.py") if room else SOURCE.glob("*.py")
    modules = [path.relative_to(base).with_suffix("") for path in sorted(inside) if path.name != "__main__.py"]
    names = [".".join(path.parts).removesuffix(".__init__") for path in modules]
    tried = {name: doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS) for name in names}
    assert not [name for name, result in tried.items() if result.failed]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_snippets(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    text = page.read_text(encoding="utf-8")
    if "--at daily" in text:
        wait_for_tomorrow()
    left_out: list[str] = []
    for kind, file, body in BLOCK.findall(text):
        why = NEEDS[file]() if file in NEEDS else None
        if why is not None:
            left_out.append(why)
        elif file == "needs=postgresql":
            monkeypatch.setenv("PATH", f"{programs()}{os.pathsep}{os.environ['PATH']}")
            for name, value in POSTGRES.environment.items():
                monkeypatch.setenv(name, value)
            run_console(body, tmp_path)
        elif file in NEEDS:
            run_console(body, tmp_path)
        elif file:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(body, encoding="utf-8")
        elif kind == "python":
            snippet = tmp_path / ".snippet.py"
            snippet.write_text(body, encoding="utf-8")
            namespace = runpy.run_path(str(snippet), init_globals=namespace)
        else:
            run_console(body, tmp_path)
    if left_out:
        pytest.skip(f"some blocks are left out: {'; '.join(left_out)}")


def wait_for_tomorrow() -> None:
    """Wait if the day ends within two minutes: what is due at midnight must not become due within a page."""
    left = 86_400 - time.time() % 86_400
    if left < 120:
        time.sleep(left)


def run_console(body: str, folder: Path) -> None:
    commands = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    for command in commands:
        line, _, expected = command.partition("\n")
        while line.endswith("\\"):
            more, _, expected = expected.partition("\n")
            line = line[:-1] + more
        done = run_line(line, folder=folder)
        matches(line, done.stdout + done.stderr, expected)


def matches(line: str, found: str, expected: str) -> None:
    pattern = r"(?:.*\n)*?".join(
        re.escape(part).replace(r"\.\.\.", ".*")
        for part in re.split(r"^\.\.\.\n", expected.rstrip("\n") + "\n", flags=re.MULTILINE)
    )
    assert re.fullmatch(pattern, found.rstrip("\n") + "\n"), f"$ {line}\nexpected:\n{expected}\nfound:\n{found}"


def test_the_comparison_can_fail() -> None:
    matches("x", "a\nb\nc\n", "a\n...\nc\n")
    with pytest.raises(AssertionError):
        matches("x", "a\nb\n", "a\nc\n")
