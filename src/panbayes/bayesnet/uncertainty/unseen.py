"""How much dependence may have gone unseen: a function of the noise, and of why measuring stopped.

A pair that was offered and not taken deviates from the law by less than chance shows, and by less than the noise of
measuring it would cost. In mean relative deviation, with n records, noise of standard deviation σ in a cell and a table
of m cells (at most one for every six deviations of noise that the records hold, for finer tables were not worth it):

    u = 0.4·(1.5 + √m)/√n + 3.2·√m·σ/n.

Where the junction tree was full, pairs were passed over however strong they were; ``passed`` is then what the last
pairs that were taken had to say, times the part of pairs that was passed over. And where the noise of the look at how
many tables are worth it was large, it hid as much, times the part of pairs that were found to depend: what could not be
seen is likely to be as dense as what could. After a first look that saw nothing, it is what that look's noise hid. The
largest of them is added to u. The factors were set on networks with
known laws (``bench/coverage.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from panbayes.errors import InputError

__all__ = ["Unseen"]

_CHANCE: Final = 0.4
_NOISE: Final = 3.2
_GRAIN: Final = 6.0
_LARGEST: Final = 1e15


@dataclass(frozen=True, slots=True)
class Unseen:
    """The number of ``records``, the ``noise`` of a cell, and what was ``passed`` over; see the module."""

    records: float
    noise: float
    passed: float = 0.0

    def __post_init__(self) -> None:
        """Check that the numbers can be; files come from anywhere."""
        for name in ("records", "noise", "passed"):
            value = float(getattr(self, name))
            object.__setattr__(self, name, value)
            if not 0 <= value <= _LARGEST or (name == "records" and value < 1):
                raise InputError(
                    name, found=f"found {value}", remedy=f"give a number that is not negative, up to {_LARGEST:g}"
                )

    def deviation(self, cells: int) -> float:
        """Return how far a pair of so many ``cells`` may be from what the law says, in mean relative deviation.

        >>> round(Unseen(20_000, 50.0).deviation(4), 4)
        0.0259
        """
        worth = math.sqrt(min(cells, max(4.0, self.records / (_GRAIN * max(self.noise, 1e-9)))))
        stopped = _CHANCE * (1.5 + worth) / math.sqrt(self.records) + _NOISE * worth * self.noise / self.records
        return stopped + self.passed
