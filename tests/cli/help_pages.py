"""Every page of help, found by walking the commands. ``python -m tests.cli.help_pages`` writes the golden files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from panbayes.cli.commands import CONTENTS, build
from tests.running import run_here

__all__ = ["GOLDEN", "examples", "golden_file", "page", "pages", "verbs"]

GOLDEN = Path(__file__).parent / "golden" / "help"


def verbs() -> dict[str, str]:
    """Every verb and the summary that ``panbayes --help`` has of it."""
    return {verb: summary for group in CONTENTS.values() for verb, summary in group.items()}


def pages() -> list[tuple[str, ...]]:
    """The words that lead to every page, in the order of the job."""
    return [(), *(words for verb in verbs() for words in _below(get_command(build(verb)), verb))]


def _below(group: object, name: str) -> Iterator[tuple[str, ...]]:
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    yield (name,)
    if isinstance(command, TyperGroup):
        yield from ((name, *words) for below in command.commands for words in _below(command, below))


def page(words: tuple[str, ...]) -> str:
    """The page as a pipe or an 80-column terminal shows it."""
    with tempfile.TemporaryDirectory() as folder:
        done = run_here(*words, "--help", folder=Path(folder))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def examples(text: str) -> list[str]:
    """The commands below ``Examples:``, one a line."""
    body = re.sub(r" \\\n\s+", " ", text.partition("\nExamples:\n")[2])
    return [line.strip() for line in body.splitlines() if line.strip()]


def golden_file(words: tuple[str, ...]) -> Path:
    """Where a page is kept."""
    return GOLDEN / f"{'-'.join(('panbayes', *words))}.txt"


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for old in GOLDEN.glob("*.txt"):
        old.unlink()
    for found in pages():
        golden_file(found).write_text(page(found), encoding="utf-8")
