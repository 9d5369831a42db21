"""The course of a run: who took part in each asking, decided once and kept.

A run puts its questions in **askings**, numbered 0, 1, 2, … in their order: each is one call of
:meth:`~panbayes.consortium.analyst.federation.Federation.ask_each`, to all holders or to one whose turn it is. It is
*settled* when all that were asked have answered, or when the study lets the run go on without the others. From then on
it is known who took part, and whoever did not is out for the rest of the run.

Strategies are deterministic given the answers, so a run that is given up is run again from the beginning. It must then
come by the same way, even if a holder that was left out has answered meanwhile: what comes late is ignored. Hence a
course is written down before the next question is asked, and before anything is learned from the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Course", "ShortCourse"]


class Course(Protocol):
    """Who took part in each asking of one run of one study with the same holders."""

    def settled(self, place: int, /) -> Sequence[str] | None:
        """Return who took part in the asking of this number, None if that is open.

        This is looked up before any question of the asking leaves, each time the run comes by.
        """

    def settle(self, place: int, names: Sequence[str], /) -> None:
        """Keep who took part in an asking, for good: when this returns it is on disk, if the run is to outlive it."""

    def overdue(self, place: int, /) -> bool:
        """Tell whether an open asking has waited for as long as the study's ``patience``.

        It is asked when all have answered or raised that there is no answer, and somebody is missing. The time of an
        asking begins with the first call for it, or when it was first looked up. What a clock says is this side's
        business alone: strategies know nothing of it.
        """

    def unusable(self, name: str, question: str, /) -> str:
        """Say why what a holder signed as its answer to a question cannot be used; nothing if that is not so.

        It is the holder's one answer to it, and stays so: this is kept as long as who took part is.
        """


class ShortCourse:
    """The course of a run that ends with its process, where nobody is waited for.

    >>> course = ShortCourse()
    >>> course.settle(0, ["north"])
    >>> course.settled(0), course.settled(1), course.overdue(1)
    (('north',), None, False)
    """

    def __init__(self) -> None:
        """Begin with nothing settled."""
        self._took_part: dict[int, tuple[str, ...]] = {}

    def settled(self, place: int, /) -> tuple[str, ...] | None:
        """Return who took part in the asking of this number, None if that is open."""
        return self._took_part.get(place)

    def settle(self, place: int, names: Sequence[str], /) -> None:
        """Keep who took part in an asking."""
        self._took_part[place] = tuple(names)

    def overdue(self, _place: int, /) -> bool:
        """Tell that an asking has time: whoever can be asked here answers at once, or never will."""
        return False

    def unusable(self, _name: str, _question: str, /) -> str:
        """Say nothing: what a holder answers here is not signed, and ends the run."""
        return ""
