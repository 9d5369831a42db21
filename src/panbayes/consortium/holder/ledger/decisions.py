"""What the decisions about a study come to: whose approvals stand, and whether it is stopped.

============== ====================== =================
event          approvals that stand   the study is
============== ====================== =================
``approved``   one more               as before
``declined``   none                   as before
``stopped``    as before              stopped
``resumed``    as before              not stopped
============== ====================== =================

So a decline voids what was signed before it, and the study must be approved anew; a stop keeps approvals in force for
when the study is resumed, and no approval, however new, undoes a stop. Other events change nothing.

A signature can be copied, and the same statement has the same one. So what officers sign after a decline is another
statement (:func:`statement_after`), which says how many declines it follows: a signature from before them is none now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from panbayes.consortium.holder.ledger.events import Event

__all__ = ["Standing", "standing", "statement_after"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a study stands: the ``approvals`` that no decline has voided, in order, and whether it is ``stopped``.

    ``declines`` is how often it was declined.
    """

    approvals: tuple[Event, ...] = ()
    stopped: bool = False
    declines: int = 0

    def after(self, event: Event) -> Standing:
        """Return how the study stands after one more event about it."""
        match event.what:
            case "approved":
                return replace(self, approvals=(*self.approvals, event))
            case "declined":
                return replace(self, approvals=(), declines=self.declines + 1)
            case "stopped" | "resumed":
                return replace(self, stopped=event.what == "stopped")
            case _:
                return self


def standing(history: Iterable[Event]) -> Standing:
    """Return how a study stands after everything that was decided about it."""
    found = Standing()
    for event in history:
        found = found.after(event)
    return found


def statement_after(declines: int, statement: str) -> str:
    r"""Return what officers sign once a study was declined so often, from what they sign before any decline.

    >>> statement_after(0, "a\n"), statement_after(2, "a\n")
    ('a\n', 'a\ndeclined before: 2\n')
    """
    return f"{statement}declined before: {declines}\n" if declines else statement
