"""What every verb prints: JSON for programs, plain aligned lines for people, a bar while something takes long."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import typer

__all__ = ["HOLDER_ONLY", "aligned", "emit", "folded", "plural", "working"]

HOLDER_ONLY: Final = "For the holder's eyes only"
"""How everything begins that was read off private records and was not made private."""

PATIENCE: Final = 2.0
"""Seconds before a bar appears."""


def emit(data: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print ``data`` as JSON, or ``lines``: as they are into a file or a pipe, folded between words on a terminal."""
    if as_json:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    typer.echo("\n".join(lines if width is None else (folded(line, width) for line in lines)))


def folded(line: str, width: int) -> str:
    """Fold a line between words; what follows stands below the last column that begins in its first half.

    >>> print(folded("  protects  everything one user ever does", 30))
      protects  everything one
                user ever does
    """
    if len(line) <= width:
        return line
    indent = len(line) - len(line.lstrip()) + 2
    starts = [gap.end() for gap in re.finditer(r"(?<=\S)  +", line) if gap.end() <= width // 2]
    kept = " " * max([indent, *starts])
    return textwrap.fill(line, width, subsequent_indent=kept, break_long_words=False, break_on_hyphens=False)


def plural(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "holder"), plural(1200, "record")
    ('1 holder', '1,200 records')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]], *, indent: int = 2) -> list[str]:
    """Align columns: the first to the left, columns of numbers to the right.

    >>> aligned([("name", "n"), ("a", "10")])
    ['  name   n', '  a     10']
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(cell.replace(",", "").replace(".", "").lstrip("-").isdigit() for cell in c[1:]) for c in columns]
    return [
        " " * indent
        + "  ".join(
            cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    ]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work goes on: a bar with the time, on a terminal, once it has taken two seconds; else nothing."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    shower = threading.Thread(target=_show_bar, args=(what, done), daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()


def _show_bar(what: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    # Imported here: it takes longer to load than most work that nobody has to wait for.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        done.wait()
