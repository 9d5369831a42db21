"""A privacy loss: an exact amount of one class of privacy, with its algebra.

A class of privacy is a subclass (:mod:`panbayes.privacy.classes`, one file each). It says what its losses are called,
which losses of other classes it can express, how a group of people counts, and what it makes of events: the loss of an
event, and the event that spends exactly a given loss. Everything else follows here:

=================== ==================================================================================
``a.add(b)``        both about the same records (thesis: Theorem thm_composition)
``a.times(n)``      n times the same
``a.part(f)``       the fraction f of it; parts whose fractions add up to 1 add up to the whole
``a.for_group(k)``  as a promise to k people, or to one person with k records (Theorem thm_group)
``a.implies(b)``    whether whoever promises ``a`` has certainly promised ``b``
``a.less(b)``       what is left of ``a`` after ``b``, at least nothing
=================== ==================================================================================

Losses of different classes add up and compare in a class that can express both, if there is one: a pure ε counts ε²/2
in ρ, while nothing turns ρ into a pure ε.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Self

from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.events import Event, Selection
from panbayes.privacy.written import rounded, show_fraction

__all__ = ["Loss", "largest", "total"]


class Loss(ABC):
    """An exact, non-negative amount of privacy lost; see the module. Equal amounts of one class are equal."""

    __slots__ = ()

    tag: ClassVar[str]
    """The class's name in files and messages."""

    title: ClassVar[str]
    """The class's name for people."""

    key: ClassVar[str]
    """The name of the amount in files."""

    letter: ClassVar[str]
    """The letter of the amount for people."""

    @property
    @abstractmethod
    def amount(self) -> Fraction:
        """The exact number."""

    @abstractmethod
    def with_amount(self, amount: Fraction) -> Self:
        """Return the loss of the same class with another amount."""

    @abstractmethod
    def expressing(self, other: Loss, /) -> Self | None:
        """Return a loss of this class that ``other``, of another class, implies; None if there is none."""

    @abstractmethod
    def for_group(self, size: int) -> Self:
        """Return the loss as a promise to ``size`` people."""

    @abstractmethod
    def of_event(self, event: Event) -> Self | None:
        """Return the loss of this class that an event has; None if this class cannot bound it."""

    @abstractmethod
    def tables_event(self, moved: TableSensitivity) -> Event:
        """Return the event that spends this loss on tables that one person moves so far."""

    @abstractmethod
    def selection_event(self) -> Selection:
        """Return the event that spends this loss on one draw of a high score."""

    def times(self, number: int) -> Self:
        """Return the loss of ``number`` such releases."""
        return self.with_amount(self.amount * number)

    def part(self, fraction: Fraction) -> Self:
        """Return a ``fraction`` of the loss."""
        return self.with_amount(self.amount * fraction)

    def add(self, other: Loss) -> Loss:
        """Return the loss of both together."""
        return total((self, other))

    def less(self, spent: Loss) -> Loss:
        """Return what is left after ``spent``: nothing, where that is more or cannot be expressed."""
        known = self.express(spent)
        return self.with_amount(Fraction(0) if known is None else max(self.amount - known.amount, Fraction(0)))

    def implies(self, limit: Loss) -> bool:
        """Tell whether this loss is certainly no more than ``limit``."""
        known = limit.express(self)
        return known is not None and known.amount <= limit.amount

    def express(self, other: Loss) -> Self | None:
        """Return ``other`` as a loss of this class, None if it implies none."""
        if isinstance(other, type(self)):
            return other
        return self.with_amount(Fraction(0)) if other.amount == 0 else self.expressing(other)

    def json(self) -> dict[str, str]:
        """Write the loss with its class tag and exact ratio; :mod:`panbayes.privacy.losses` reads it."""
        return {"class": self.tag, self.key: str(self.amount)}

    def amount_text(self) -> str:
        """Show the number without its letter."""
        return show_fraction(self.amount)

    def plain(self, *, up: bool = True) -> str:
        """Show the amount to somebody who decides by it: a decimal that is never too small, or too large if not ``up``.

        What is spent or granted is rounded up, and what is left down.
        """
        return f"{self.letter} = {rounded(self.amount, up=up)}"

    def __str__(self) -> str:
        """Show the amount as a short decimal, and where that is rounded with the exact ratio behind it."""
        return f"{self.letter} = {self.amount_text()}"


def total(losses: Iterable[Loss]) -> Loss:
    """Add up losses about the same records, each expressed in a class that can express all of them.

    Thesis: Theorem thm_composition.

    >>> from panbayes.privacy.classes.pure import Pure
    >>> from panbayes.privacy.classes.zcdp import ZeroConcentrated
    >>> total([Pure(Fraction(1)), ZeroConcentrated(Fraction(1, 4)), Pure(Fraction(1))])
    ZeroConcentrated(rho=Fraction(5, 4))
    """
    known = _in_one_class(losses)
    return known[0].with_amount(sum((loss.amount for loss in known), Fraction(0)))


def largest(losses: Iterable[Loss]) -> Loss:
    """Return the largest of some losses, each expressed in a class that can express all of them."""
    return max(_in_one_class(losses), key=lambda loss: loss.amount)


def _in_one_class(losses: Iterable[Loss]) -> list[Loss]:
    """Express all losses in the class of one of them: the weakest, so that a sum with some ρ in it is in ρ."""
    found = list(losses)
    for candidate in {type(loss): loss for loss in found}.values():
        known = [loss if type(loss) is type(candidate) else candidate.expressing(loss) for loss in found]
        expressed = [loss for loss in known if loss is not None]
        if len(expressed) == len(found):
            return expressed
    raise TypeError("losses must be some, and of classes that one of them can express")
