"""ε-differential privacy.

Thesis: Definition defn_dp; Theorem thm_composition; Theorem thm_group.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from panbayes.exact.bounds import root_above
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, OneRadius, Selection, Together
from panbayes.privacy.loss import Loss

__all__ = ["NOTHING", "Pure"]


@dataclass(frozen=True, slots=True)
class Pure(Loss):
    """ε-differential privacy (thesis: Definition defn_dp), with an exact ``epsilon``.

    >>> Pure(Fraction(1, 3)).add(Pure(Fraction(1, 6)))
    Pure(epsilon=Fraction(1, 2))
    >>> Pure(Fraction(1, 2)).for_group(3)
    Pure(epsilon=Fraction(3, 2))
    """

    tag: ClassVar[str] = "pure"
    title: ClassVar[str] = "pure"
    key: ClassVar[str] = "epsilon"
    letter: ClassVar[str] = "ε"

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Refuse what is not an exact, non-negative number."""
        if not isinstance(self.epsilon, Fraction):
            raise TypeError(f"epsilon must be a Fraction, found {type(self.epsilon).__name__}")
        if self.epsilon < 0:
            raise ValueError(f"epsilon cannot be negative, found {self.epsilon}")

    @property
    def amount(self) -> Fraction:
        """ε."""
        return self.epsilon

    def with_amount(self, amount: Fraction) -> Pure:
        """Return another ε."""
        return Pure(amount)

    def expressing(self, _other: Loss, /) -> Pure | None:
        """Return None: nothing weaker implies a pure ε."""
        return None

    def for_group(self, size: int) -> Pure:
        """Return ``size``·ε (thesis: Theorem thm_group)."""
        return self.times(size)

    def of_event(self, event: Event) -> Pure | None:
        """Return Δ₁/b of Laplace noise or noise of one radius, 2Δ/b of a selection; Gaussian noise has no pure ε."""
        match event:
            case DiscreteLaplace() | OneRadius():
                return Pure(event.l1 / event.scale)
            case Selection():
                return Pure(root_above(event.epsilon_squared))
            case DiscreteGaussian():
                return None
            case Together():
                parts = [self.of_event(part) for part in event.events]
                known = [part.epsilon for part in parts if part is not None]
                return Pure(sum(known, Fraction(0)) * event.times) if len(known) == len(parts) else None

    def tables_event(self, moved: TableSensitivity) -> DiscreteLaplace:
        """Return discrete Laplace noise of scale Δ₁/ε."""
        return DiscreteLaplace(moved.l1 / self.epsilon, moved.l1)

    def selection_event(self) -> Selection:
        """Return permute-and-flip at ε."""
        return Selection("permute-and-flip", self.epsilon**2)


NOTHING = Pure(Fraction(0))
"""No loss at all; it adds to losses of every class."""
