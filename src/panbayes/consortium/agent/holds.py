"""Letters that lie there and need not come again now.

What is no letter to this holder stays where it is, and is not looked at twice. What waits, for an officer or for better
times, is looked at again after a pause that doubles from :data:`SHORTEST` to :data:`LONGEST` seconds, and at once when
what it waits for is there: or, after something came of it or failed, once it has rested :data:`FIRM` seconds, for
that itself changes the holder's side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Final

__all__ = ["FIRM", "LONGEST", "MAX_HELD", "SHORTEST", "Holds"]

SHORTEST: Final = 1.0
LONGEST: Final = 300.0
FIRM: Final = 10.0

MAX_HELD: Final = 100_000
"""Letters that are remembered at most; of a flood, those that came first are forgotten, and looked at again."""


@dataclass(frozen=True, slots=True)
class _Hold:
    """Until when a letter rests, on the monotonic clock, how long it does, and until when whatever happens."""

    until: float
    pause: float
    firm: float


class Holds:
    """What rests; with ``again`` false, whatever rests does so for good."""

    def __init__(self, now: Callable[[], float], *, again: bool = True) -> None:
        """Begin with nothing."""
        self._now = now
        self._again = again
        self._held: dict[str, _Hold] = {}

    def for_good(self, letter: str) -> None:
        """Let a letter rest as long as this process lasts."""
        self._hold(letter, _Hold(math.inf, math.inf, math.inf))

    def for_now(self, letter: str, *, firmly: bool = False, longest: float = LONGEST) -> None:
        """Let a letter rest for a while, longer each time up to ``longest``; ``firmly``, if it was dealt with."""
        if not self._again:
            self.for_good(letter)
            return
        before = self._held.get(letter)
        pause = SHORTEST if before is None else min(2 * before.pause, longest)
        now = self._now()
        self._hold(letter, _Hold(now + pause, pause, now + min(pause, FIRM) if firmly else -math.inf))

    def release(self, letter: str) -> None:
        """Let a letter that waits come again: what it waits for may have changed."""
        hold = self._held.get(letter)
        if hold is not None:
            self._held[letter] = _Hold(min(hold.until, hold.firm), hold.pause, hold.firm)

    def resting(self) -> Set[str]:
        """Return what need not come now."""
        now = self._now()
        return {letter for letter, hold in self._held.items() if hold.until > now}

    def _hold(self, letter: str, hold: _Hold) -> None:
        self._held.pop(letter, None)
        self._held[letter] = hold
        while len(self._held) > MAX_HELD:
            self._held.pop(next(iter(self._held)))
