"""The law of a thinned entry: a bit that only a part of its user's appearances redraw.

Users are divided at random, by a public key drawn before the stream, into panels. An appearance of a user of a panel
redraws the user's bit with that panel's probability θ, by a fresh coin, and otherwise does nothing. After c visits the
bit has been redrawn with probability 1 − (1 − θ)^c: panels with different θ see different moments of the numbers of
visits, which one panel of bits does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.stream.laws.state_law import COIN, StateLaw

__all__ = ["LEAST_KEEP", "WEIGHT", "Panel", "ThinnedLaw"]

WEIGHT: Final = 10**6
"""The weights of panels are integers out of this number."""

LEAST_KEEP: Final = COIN >> 10
"""The least probability with which an appearance counts, out of 2³²."""

_KEY_BYTES: Final = 96
_MOST_PANELS: Final = 64


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of ``size`` users whose appearances count with probability ``keep`` out of 2³².

    ``weight`` out of 10⁶ is what the panel's share of redrawn users contributes to the estimate.
    """

    size: int
    keep: int
    weight: int

    def __post_init__(self) -> None:
        """Refuse an empty panel, one that hardly anybody can touch, and one without a weight or with too much of it."""
        if self.size < 1 or not LEAST_KEEP <= self.keep <= COIN:
            raise ValueError("a panel has users, and one in a thousand of their appearances count")
        if not 1 <= abs(self.weight) <= WEIGHT**2:
            raise ValueError("a panel has a weight")

    @property
    def theta(self) -> float:
        """θ, the probability that an appearance counts."""
        return self.keep / COIN


@dataclass(frozen=True, slots=True)
class ThinnedLaw:
    """Bits of ``law`` in ``panels``; ``key`` decides who is in which."""

    law: StateLaw
    panels: tuple[Panel, ...]
    key: bytes

    def __post_init__(self) -> None:
        """Refuse more than bits, and a key of another length."""
        if self.law.levels != 2 or not 1 <= len(self.panels) <= _MOST_PANELS or len(self.key) != _KEY_BYTES:
            raise ValueError("a thinned law has bits, 1 to 64 panels and a key of 96 bytes")

    @property
    def name(self) -> str:
        """The name of the law of the bits."""
        return self.law.name

    @property
    def levels(self) -> int:
        """Two: an entry is a bit."""
        return self.law.levels

    @property
    def sample(self) -> int:
        """The number of users in all panels."""
        return sum(panel.size for panel in self.panels)

    def loss(self) -> float:
        """The loss of a look at the entry alone."""
        return self.law.loss()

    def surely_within(self, epsilon: Fraction) -> bool:
        """Say whether every likelihood ratio is at most e^ε, exactly."""
        return self.law.surely_within(epsilon)

    def state_bytes(self, sample: int) -> int:
        """The size of ``sample`` entries."""
        return self.law.state_bytes(sample)
