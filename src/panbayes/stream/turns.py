"""Who counts when: panels, periods and forgetting.

A *turn* is a public moment, such as midnight, at which one period ends and the next begins. At every turn each entry is
drawn again from the initial law with a public chance γ, and the panel whose users count may change. That is all there
is to rotating panels, tumbling periods and decayed counts; a :class:`Window` says which.

**Forgetting, 0 < γ < 1.** *One look and all releases, over any number of turns, lose at most E.* Proof: give each entry
and each turn a coin, drawn before the stream and independent of it, that says whether the entry is drawn again. For
each outcome of the coins the turns are redraws from the initial law at the same times under both of two adjacent
streams, so two histories of redraws of one entry face each other, as in :mod:`panbayes.stream.guarantee.loss`, and the
ratio of the likelihoods given the coins is at most e^E. The coins have one law under both streams, so the likelihoods
are averages with equal weights, and the ratio of two such averages is at most the largest of their terms. ∎ A turn that
was cut short and begun again forgets more, at public times too.

A listed user who was last seen a turns ago has an entry of the update law with probability w = (1 − γ)^a, so the
estimate of the density is an unbiased one of the mean of w. The number of ones is then a sum of independent bits of
unequal chances, whose tails are no heavier than those of the binomial law of the same mean (Hoeffding 1956), so that
law makes the interval. Hashed users share cells, and a cell decays with its latest visitor: the estimate is too low,
by :func:`decay_bias`.

**Starting anew, γ = 1.** After a turn nothing of the state depends on what was before, so the periods are independent,
and what a stream loses over several periods is the sum of what it loses in each: E against one look *in every period*
and the period's releases. The unit is then a user and a period: k periods lose kE at most. That is so for every law of
entries, for counters and thinned entries as well: all that is used is that each is drawn anew. A turn that was cut
short has drawn some of them anew at a time that the stream did not choose, and is begun again: until then a release
adds up entries of which each has a history of its own law, as the guarantee demands.

**Rotating panels.** γ = 1, and a user counts in one period of k only (:mod:`panbayes.stream.ids.universes.hashed`). In
the others the user has no cell, and nothing at all depends on the user. So a whole *cycle* of k periods, with a look in
every one of them and all releases, loses E, and every further cycle adds E.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.ids.universes.hashed import MOST_PANELS
from panbayes.stream.laws.state_law import COIN

__all__ = ["WHOLE", "Window", "decay_bias", "half_life_of", "parse_window"]

_LONGEST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Window:
    """Who counts when: users of one of ``panels``; until the turn if each period starts ``anew``; ever less if not.

    ``panel`` is the number of the panel that counts; without it panels take turns, one a period. ``half_life`` is the
    number of turns after which a user who was not seen again counts half.

    >>> Window(panels=30), Window(panels=12, panel=3), Window(anew=True), Window(half_life=7)
    (Window(panels=30, panel=None, anew=True, half_life=None), ...)
    """

    panels: int = 1
    panel: int | None = None
    anew: bool = False
    half_life: float | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself; panels that take turns start anew at every turn."""
        if not 1 <= self.panels <= MOST_PANELS:
            raise InputError("panels", found=f"found {self.panels}", remedy=f"give 2 to {MOST_PANELS}, such as 30")
        if self.panel is not None and not 0 <= self.panel < self.panels:
            raise InputError(
                "panel", found=f"found {self.panel} of {self.panels}", remedy="number panels from 0, such as 0/12"
            )
        if self.half_life is not None and not 0.1 <= self.half_life <= _LONGEST:
            raise InputError(
                "half-life", found=f"found {self.half_life:g}", remedy=f"give 0.1 to {_LONGEST:,} turns, such as 7"
            )
        rotates = self.panels > 1 and self.panel is None
        if self.half_life is not None and (self.anew or rotates):
            raise InputError(
                "half-life", found="every period starts anew", remedy="leave it out, or the periods and panels"
            )
        if rotates:
            object.__setattr__(self, "anew", True)

    @property
    def forget(self) -> int:
        """γ out of 2³²: the chance of every entry to be drawn again at a turn."""
        if self.half_life is None:
            return COIN if self.anew else 0
        return round(COIN * -math.expm1(-math.log(2) / self.half_life))


WHOLE: Final = Window()
"""Everybody counts, for as long as the stream goes on."""


def half_life_of(forget: int) -> float | None:
    """The number of turns after which half is forgotten; None where nothing is, or all at once.

    >>> round(half_life_of(Window(half_life=7).forget), 6), half_life_of(0)
    (7.0, None)
    """
    return -math.log(2) / math.log1p(-forget / COIN) if 0 < forget < COIN else None


def decay_bias(load: float) -> float | None:
    """How much too low a decayed count of hashed users is, as a part of it, if all were seen one half-life ago.

    ``load`` is the estimated number of users a cell, x. A cell that had y users then is drawn from the update law with
    probability (1 − e^−y)/2 = 1 − e^−x, and y/2 is the true number. None where no y gives x.

    >>> round(decay_bias(0.380), 2), round(decay_bias(0.1172), 2)
    (-0.24, -0.06)
    """
    rest = 1 + 2 * math.expm1(-load)
    if load <= 0:
        return 0.0
    return None if rest <= 0 else load / (-math.log(rest) / 2) - 1


def parse_window(panel: str | None, *, periods: bool, half_life: str | None) -> Window:
    """Read what a user writes: panels such as 30d (they take turns, daily) or 3/12 (one of them), and a half-life.

    >>> parse_window("30d", periods=False, half_life=None).panels, parse_window(None, periods=False, half_life="7d")
    (30, Window(panels=1, panel=None, anew=False, half_life=7.0))
    """
    number: int | None = None
    panels = 1
    if panel is not None:
        found = re.fullmatch(r"(?:([0-9]{1,4})/)?([0-9]{1,4})([dwh]?)", panel.strip())
        if found is None or (found[1] is not None and found[3]) or int(found[2]) < 2:
            raise InputError(
                "--panel", found=f"found {panel[:40]!r}", remedy="write 30d (one period in 30) or 3/12 (panel 3 of 12)"
            )
        panels, number = int(found[2]), None if found[1] is None else int(found[1])
    turns: float | None = None
    if half_life is not None:
        written = re.fullmatch(r"([0-9]{1,5}(?:\.[0-9]{1,6})?)([dwh]?)", half_life.strip())
        if written is None:
            raise InputError(
                "--half-life", found=f"found {half_life[:40]!r}", remedy="write the number of turns, such as 7 or 7d"
            )
        turns = float(written[1])
    return Window(panels, number, anew=periods, half_life=turns)
