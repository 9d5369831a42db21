"""What every verb prints: JSON for programs, plain aligned lines for people, a bar while something takes long.

Names of studies, attributes, categories and holders come from files that others wrote. Whatever is shown passes here:
people see characters that are not printable written out, so that no name can end a line or write over one; programs
get exact values in which JSON's own escapes stand for those characters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Final, TextIO

from panbayes.errors import InputError, can_be_seen, visible

__all__ = [
    "HOLDER_ONLY",
    "accept_every_character",
    "aligned",
    "complain",
    "discard_output",
    "emit",
    "emit_exactly",
    "folded",
    "plural",
    "working",
]

HOLDER_ONLY: Final = "For the holder's eyes only"
"""How everything begins that was read off private records and was not made private."""

_PASSWORD: Final = re.compile(r"(?<=:/)(/?[^\s/:@]*):[^\s/]*@")
"""A user with a password in an address, also where a path has made one slash of two."""

PATIENCE: Final = 2.0
"""Seconds before a bar appears."""


def emit(data: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print ``data`` as JSON, or ``lines``: as they are into a file or a pipe, folded between words on a terminal."""
    if sys.stdout is None:
        raise InputError("standard output", found="is closed", remedy="give it a place, such as > /dev/null")
    if as_json:
        _print(_json(data))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    shown = map(visible, lines)
    _print("\n".join(shown if width is None else (folded(line, width) for line in shown)))


def emit_exactly(text: str) -> None:
    """Print a text that is meant for another program as it is, on a terminal too."""
    _print(text.removesuffix("\n"))


def _json(data: object) -> str:
    """Return JSON that every terminal shows and every encoding holds."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(data, ensure_ascii=not unicode, indent=2)
    return "".join(
        character if can_be_seen(character) or character == "\n" else json.dumps(character)[1:-1] for character in text
    )


def _print(text: str) -> None:
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        reason = (error.strerror or "not writable").lower()
        raise InputError(
            "standard output", found=f"cannot be written ({reason})", remedy="make room, or give it another place"
        ) from None


def complain(*lines: str) -> None:
    """Print lines on standard error, if there is one that takes them, without passwords of addresses that they quote.

    An address may have been given where none is known, such as in the place of a file, which a message repeats.
    """
    if sys.stderr is None:
        return
    try:
        _write(sys.stderr, _PASSWORD.sub(r"\1:…@", "\n".join(map(visible, lines))))
    except OSError:
        # Nobody is left to tell.
        _discard(2)


def _write(stream: TextIO, text: str) -> None:
    stream.write(f"{text}\n")
    stream.flush()


def accept_every_character() -> None:
    """Let characters that the encoding of standard output or errors does not have be written out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Write the rest of standard output nowhere: its reader has gone, or has no room."""
    _discard(1)


def _discard(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


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
    cells = [[_cell(cell) for cell in row] for row in rows]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(cell.replace(",", "").replace(".", "").lstrip("-").isdigit() for cell in c[1:]) for c in columns]
    return [
        " " * indent
        + "  ".join(
            cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]


def _cell(text: str) -> str:
    """Return a text that cannot be taken for several columns."""
    return re.sub(r"  +", " ", visible(text))


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
