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
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from panbayes.consortium.holder.ledger.events import Event

__all__ = ["Standing", "standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a study stands: the ``approvals`` that no decline has voided, in order, and whether it is ``stopped``."""

    approvals: tuple[Event, ...] = ()
    stopped: bool = False

    def after(self, event: Event) -> Standing:
        """Return how the study stands after one more event about it."""
        match event.what:
            case "approved":
                return Standing((*self.approvals, event), self.stopped)
            case "declined":
                return Standing((), self.stopped)
            case "stopped" | "resumed":
                return Standing(self.approvals, event.what == "stopped")
            case _:
                return self


def standing(history: Iterable[Event]) -> Standing:
    """Return how a study stands after everything that was decided about it."""
    found = Standing()
    for event in history:
        found = found.after(event)
    return found
