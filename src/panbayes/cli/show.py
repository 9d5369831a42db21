"""What every verb prints: JSON for programs, plain aligned lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias

import typer

__all__ = ["AsJson", "aligned", "emit"]

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


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
