"""What every verb prints: JSON for programs, plain aligned lines for people, a bar while something takes long."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final, TypeAlias

import typer

__all__ = ["AsJson", "aligned", "emit", "working"]

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

PATIENCE: Final = 2.0
"""Seconds before a bar appears."""


def emit(data: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print ``data`` as JSON or ``lines`` as they are."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2) if as_json else "\n".join(lines))


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
