"""Misfits, shown to the holder before anything is asked, and to nobody else.

That a file was read otherwise than it was written shows in values that have no place in the schema: the person at the
keyboard, who here is the holder, sees them on the terminal. They go nowhere else, into no file, pipe, log or model, and
change no answer: a run that stopped for them would be a question about the records that nobody pays for. Who has seen
them and does not let a study begin tells one fact by that (SECURITY.md).
"""

from __future__ import annotations

import sys
from typing import Final

from panbayes.errors import visible
from panbayes.tables.fit import Fit, misfit_lines

__all__ = ["show_misfits"]

_MOST: Final = 5
"""Attributes shown of one holder."""


def show_misfits(holder: str, fit: Fit) -> None:
    """Show how a holder's table does not fit, on the terminal if there is one."""
    lines = misfit_lines(fit)
    if not lines or not sys.stderr.isatty():
        return
    more = len(lines) - _MOST
    shown = [f"for the eyes of {holder} only: the schema does not name some values", *lines[:_MOST]]
    shown += [f"and of {more} more attributes: see panbayes schema check"] if more > 0 else []
    sys.stderr.write("".join(f"{visible(line)}\n" for line in (shown[0], *(f"  {line}" for line in shown[1:]))))
