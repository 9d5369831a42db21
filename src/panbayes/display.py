"""How public objects look at a prompt and in a notebook: a few aligned lines, or a table of escaped HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from panbayes.errors import visible

__all__ = ["MOST_ROWS", "Card", "shortened"]

MOST_ROWS: Final = 12
"""Rows that are shown before the rest is only counted."""

WIDTH: Final = 80


def shortened(texts: Sequence[str], *, width: int = WIDTH) -> str:
    """Join texts as far as they fit into one line, and say how many more there are.

    >>> shortened(["No", "Steady", "Up", "Down", "Other"], width=21)
    'No, Steady, … 3 more'
    """
    whole = ", ".join(texts)
    if len(whole) <= width:
        return whole
    shown, length = 0, 0
    for text in texts:
        length += len(text) + 2
        if length > width - 8:
            break
        shown += 1
    first = texts[:shown] or [f"{texts[0][: width // 2]}…"]
    rest = len(texts) - len(first)
    return ", ".join([*first, *([f"… {rest} more"] if rest else [])])


@dataclass(frozen=True, slots=True)
class Card:
    """A table of texts with a ``heading``, a ``title`` above it and lines below; ``what`` names its rows,
    of which ``most`` are shown.

    >>> print(Card(("age", "p"), [("<30", "0.25"), ("older", "0.75")], title="ages").text())
    ages
    age    p
    <30    0.25
    older  0.75
    >>> Card(("age",), [("<30",)]).html()
    '<table><thead><tr><th>age</th></tr></thead><tbody><tr><td>&lt;30</td></tr></tbody></table>'
    """

    heading: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    title: str = ""
    below: tuple[str, ...] = ()
    what: str = "values"
    most: int = MOST_ROWS

    def _below(self) -> list[str]:
        left = len(self.rows) - self.most
        return [*([f"… and {left:,} more {self.what}"] if left > 0 else []), *self.below]

    def text(self) -> str:
        """Align the columns."""
        heading = [self.heading] if any(self.heading) else []
        shown = [[visible(" ".join(cell.split())) for cell in row] for row in (*heading, *self.rows[: self.most])]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
        return "\n".join([*([visible(self.title)] if self.title else []), *lines, *map(visible, self._below())])

    def html(self) -> str:
        """Write HTML in which no text can be taken for a tag."""
        head = "".join(f"<th>{_html(cell)}</th>" for cell in self.heading)
        head = f"<thead><tr>{head}</tr></thead>" if any(self.heading) else ""
        cells = ("".join(f"<td>{_html(cell)}</td>" for cell in row) for row in self.rows[: self.most])
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        above = f"<p>{_html(self.title)}</p>" if self.title else ""
        below = "".join(f"<p>{_html(line)}</p>" for line in self._below())
        return f"{above}<table>{head}<tbody>{body}</tbody></table>{below}"


def _html(text: str) -> str:
    return escape(visible(" ".join(text.split())))
