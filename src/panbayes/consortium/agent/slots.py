"""When an answer leaves: at ticks that were promised before anything was computed.

How long a holder computes may depend on its records, and whoever waits for the answer has a clock. So an answer, a
refusal or a repeat never leaves when it is ready. When a question is taken up its *slot* is fixed::

    T = g·⌈t(q)/g⌉

with the grid *g* in seconds (``[time] grid`` of holder.toml) and *t(q)* the promise, a function of the question and of
public sizes (:mod:`panbayes.consortium.agent.effort`). What is ready in time leaves at T after it was taken up. What is
not leaves at 2T, 3T, …: at k·T, an *overrun*. Nothing else is taken up before that moment, also if nothing leaves at
all, so that the next question is not answered sooner or later for it.

One moment decides whether something is late and when it leaves: that at which all about it is ready, written down in
the ledger. An overrun is written down after that moment, and leaves at the end of the slot in which that was done.

What leaves on time tells nothing by its time. An overrun tells k: at most log₂(k) bits about how long it took, one of
the k slots that it may have taken. Every overrun is an event in the ledger; the second since an officer last looked
stops the study, before that answer leaves. So until a person decides, a study learns one k, and that there was another.

Only differences of the monotonic clock are used: a clock that is set, or jumps, moves no answer. With a grid of 0 there
are no slots, and answers leave when they are ready: for rehearsals, and where nobody's clock matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError

__all__ = ["MAX_OVERRUNS", "Slot", "check_grid"]

MAX_OVERRUNS: Final = 2
"""So many overruns of a study, since it was last resumed, stop it."""

_MOMENT: Final = 1e-9
"""Seconds that nobody can tell apart: rounding must not cost a slot."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of one question: when it was ``taken_up``, on the monotonic clock, and the ``length`` in seconds.

    >>> slot = Slot.promised(taken_up=100.0, seconds=1.3, grid=1)
    >>> slot.length, slot.number(ready=100.2), slot.leaves(ready=100.2)
    (2, 1, 102.0)
    >>> slot.number(ready=102.5), slot.leaves(ready=102.5)
    (2, 104.0)
    """

    taken_up: float
    length: float

    @classmethod
    def promised(cls, *, taken_up: float, seconds: float, grid: float) -> Slot:
        """Fix the slot of a question that may take so many ``seconds``."""
        if grid < 0 or seconds < 0 or not math.isfinite(grid) or not math.isfinite(seconds):
            raise ValueError("a slot needs a grid and a promise that are finite and not negative")
        if not grid:
            return cls(taken_up, 0)
        return cls(taken_up, grid * max(math.ceil(seconds / grid - _MOMENT), 1))

    def number(self, *, ready: float) -> int:
        """Return in which slot something leaves that is ready at a moment: 1 if in time, more after an overrun."""
        if not self.length:
            return 1
        return max(math.ceil((ready - self.taken_up - _MOMENT) / self.length), 1)

    def leaves(self, *, ready: float) -> float:
        """Return when it leaves."""
        return self.taken_up + self.number(ready=ready) * self.length if self.length else ready


def check_grid(study: Study, *, grid: float, bound: int | None, argument: str) -> None:
    """Refuse a grid where nothing public says how many rows are read; ``argument`` names the key of the bound.

    Public is the number of rows under ``replace`` where each is a person. Under ``add-remove`` it is private, and
    where the schema has a ``[unit]`` one person may have any number of rows, however few of them count.
    """
    if grid and bound is None and (study.adjacency == "add-remove" or study.schema.unit is not None):
        raise InputError(
            argument,
            found="is missing, and the number of rows in your table is private in this study",
            remedy="give a number that the rows will never exceed, such as rows_bound = 1000000, or grid = 0: else "
            "nothing of it is answered",
        )
