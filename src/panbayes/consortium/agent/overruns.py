"""Answers that took longer than was promised: each is an event, and the second stops the study."""

from __future__ import annotations

from panbayes.consortium.agent.slots import MAX_OVERRUNS
from panbayes.consortium.holder.ledger.ledger import Ledger

__all__ = ["write_overrun"]


def write_overrun(ledger: Ledger, *, study: str, asker: str, question: str, slots: int) -> str:
    """Write down that an answer took so many ``slots`` instead of one; say so, and whether that stopped the study.

    Overruns are counted since an officer last resumed the study.
    """
    told = f"an answer took {slots} times as long as was promised"
    with ledger.transaction() as transaction:
        events = transaction.events
        events.write("overrun", {"promised": 1, "needed": slots}, study=study, asker=asker, question=question)
        found, stopped = 0, False
        for event in events.all():
            if event.study == study:
                found += event.what == "overrun"
                if event.what == "resumed":
                    found, stopped = 0, False
                stopped = stopped or event.what == "stopped"
        if found < MAX_OVERRUNS or stopped:
            return told
        reason = f"{found} answers took longer than was promised"
        events.write("stopped", {"by": "agent", "reason": reason}, study=study)
        return f"{told}: the study is stopped until an officer resumes it"
