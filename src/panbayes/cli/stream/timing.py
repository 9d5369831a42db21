"""What a schedule says: what is due, when the next is, and when the plan ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from panbayes.stream.schedule import Due
    from panbayes.stream.state.inspection import Inspection

__all__ = ["due_facts", "due_notes", "due_of_state", "due_text"]


def due_of_state(found: Inspection) -> Due | None:
    """Say what is due by the schedule of a state file; None if it has none."""
    from panbayes.stream.schedule import due_of, now

    setup = found.setup
    if setup.schedule is None or found.period is None:
        return None
    return due_of(setup.schedule, found.period, None if setup.forget else found.left, now())


def due_text(due: Due) -> str:
    """Say what is due, when the next is and when the last."""
    from panbayes.stream.schedule import moment

    when = "is due now" if due.now else f"is due at {moment(due.next)}"
    end = "" if due.last is None else f", and the last at {moment(due.last)} if none is missed"
    back = " (the clock was later before: nothing is due until it is again)" if due.backwards else ""
    return f"the next {when}{end}{back}"


def due_facts(due: Due | None) -> dict[str, object]:
    """Return what is due, as JSON can say it; nothing where there is no schedule."""
    from panbayes.stream.schedule import moment

    if due is None:
        return {}
    last = None if due.last is None else moment(due.last)
    return {"due": {"now": due.now, "next": moment(due.next), "last": last, "clock_went_back": due.backwards}}


def due_notes(due: Due | None, left: int) -> list[str]:
    """Say below an estimate when the next one is due."""
    if due is None or due.last is None:
        return []
    if left == 0:
        return ["The plan has ended: no release is left."]
    return [f"Releases go by the clock: {due_text(due)}."]
