"""Who was asked what in a run, and who answered: what a statement has to say of holders that dropped out.

A holder that does not answer may have been asked all the same, may have answered, and its people may have paid: only it
knows. So whatever it was asked counts as spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from panbayes.consortium.protocol.queries import Query

__all__ = ["Asked", "Attendance", "attendance_notes"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A query that was put to a holder in a round, and whether an answer was taken.

    ``unusable`` says why the answer that it signed was not, if it signed one.
    """

    round_number: int
    query: Query
    answered: bool
    unusable: str = ""


Attendance: TypeAlias = Mapping[str, Sequence[Asked]]
"""What each holder was asked, in order, by name."""


def attendance_notes(attendance: Attendance) -> list[str]:
    """Say which holders dropped out of which rounds; nothing where all took part in all.

    >>> from panbayes.consortium.protocol.queries import ParentChoiceQuery
    >>> vote = ParentChoiceQuery((0,), 1, "I", "exponential", "1/2")
    >>> asked = {"north": [Asked(0, vote, True), Asked(1, vote, True)], "west": [Asked(0, vote, False)]}
    >>> attendance_notes(asked)[0]
    'Of rounds 0 to 1, west took part in none: what it was asked in round 0 counts as spent.'
    """
    missing = {name: asked for name, asked in sorted(attendance.items()) if not all(one.answered for one in asked)}
    if not missing:
        return []
    every = _span([one.round_number for asked in attendance.values() for one in asked])
    return [
        *(
            f"Of {every}, {name} took part in {_span([one.round_number for one in asked if one.answered])}: what it "
            f"was asked in {_span([one.round_number for one in asked if not one.answered])} counts as spent."
            f"{''.join(map(_signed, asked))}"
            for name, asked in missing.items()
        ),
        "That a holder drops out may itself depend on its data; no ε covers what that tells.",
    ]


def _signed(asked: Asked) -> str:
    """Say why a holder is missing that did answer."""
    return f" It signed an answer that cannot be used: {asked.unusable}." if asked.unusable else ""


def _span(rounds: Sequence[int]) -> str:
    """Name rounds from the first to the last.

    >>> _span([]), _span([2]), _span([0, 2, 3, 3])
    ('none', 'round 2', 'rounds 0 to 3')
    """
    if not rounds:
        return "none"
    first, last = min(rounds), max(rounds)
    return f"round {first}" if first == last else f"rounds {first} to {last}"
