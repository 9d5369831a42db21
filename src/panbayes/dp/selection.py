"""Exact private selection, whose work does not depend on the scores.

Candidate i with the score sᵢ has the *weight* wᵢ = exp(−(best − sᵢ)/b), b the scale:

======================  ================================================================================
rule                    draws
======================  ================================================================================
``exponential``         i with probability wᵢ / Σw
``permute-and-flip``    i by flipping for every candidate a coin that is true with probability wᵢ, and taking
                        one of those whose coin is true, each as likely
======================  ================================================================================

No weight is ever rounded. Integers lowᵢ ≤ 2^B·wᵢ ≤ highᵢ are computed for all candidates with the same operations,
whatever the scores are. A uniform integer is compared with them, and nearly always that decides. Where the integer
falls between lowᵢ and highᵢ, further bits and digits are drawn and computed for that one candidate until it is decided.
So every probability is exact, and how long a choice takes depends on the number n of candidates, but for events of a
chance of at most 2n/2^B + 2⁻⁴¹ with B = 63 − ⌈log₂(n + 1)⌉ (exponential), respectively n·2⁻⁴⁰.

The proof stands in ``docs/proofs/selection.md``; its steps are named beside the code they prove. Bits come through a
:class:`~panbayes.dp.sampler.Bits` value, so that tests can walk through all outcomes of narrow words.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.sampler import SYSTEM_BITS, Bits, uniform_below
from panbayes.exact.bounds import exp_bounds
from panbayes.privacy.events import Rule

__all__ = ["select"]

_PARTS: Final = 256
_MOST: Final = 64 - 1 / _PARTS
"""The largest exponent that is told apart: exp(−64) is below 2⁻⁹²."""

_MARGIN: Final = 2.0**-43
_CHUNK: Final = 2**15


def select(scores: NDArray[np.float64], *, scale: Fraction, rule: Rule, bits: Bits = SYSTEM_BITS) -> int:
    """Draw the index of a high score by a ``rule``, exactly at this ``scale``; scores are finite, and there are some.

    >>> select(np.array([0.0, 4000.0, 0.0]), scale=Fraction(2), rule="exponential")
    1
    """
    match rule:
        case "exponential":
            return _exponential(scores, scale, bits)
        case "permute-and-flip":
            return _permute_and_flip(scores, scale, bits)


def _exponential(scores: NDArray[np.float64], scale: Fraction, bits: Bits) -> int:
    """Draw i with probability proportional to highᵢ, and keep it with probability 2^B·wᵢ/highᵢ (proof, step 3)."""
    unit, best = bits.widths[-1] - 1 - scores.size.bit_length(), scores.max()  # Sums fit a word.
    sums = np.cumsum(np.concatenate([high for _, high in _enclosed(scores, best, scale, unit)]))
    while True:
        drawn = uniform_below(1, int(sums[-1]), bits=bits)
        chosen = int(np.searchsorted(sums, drawn[0], side="right"))
        above = int(sums[chosen]) - int(drawn[0])
        ((low, high),) = _enclosed(scores[chosen : chosen + 1], best, scale, unit)
        place = int(high[0]) - above
        if place < int(low[0]) or _is_below(place, unit, _exponent(scores[chosen], best, scale), bits):
            return chosen


def _permute_and_flip(scores: NDArray[np.float64], scale: Fraction, bits: Bits) -> int:
    """Flip all coins, and choose among those that are true (proof, step 4)."""
    best, width = scores.max(), bits.widths[-1]
    unit = width - 2
    true = np.empty(scores.size, dtype=np.bool_)
    start = 0
    for low, high in _enclosed(scores, best, scale, unit):
        place = bits.draw(low.size, width).astype(np.uint64) >> np.uint64(width - unit)
        flipped = place < low
        for open_ in np.flatnonzero(~flipped & (place < high)):
            flipped[open_] = _is_below(int(place[open_]), unit, _exponent(scores[start + open_], best, scale), bits)
        true[start : start + low.size] = flipped
        start += low.size
    accepted = np.flatnonzero(true)
    return int(accepted[uniform_below(1, accepted.size, bits=bits)[0]])


def _enclosed(
    scores: NDArray[np.float64], best: np.float64, scale: Fraction, unit: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """Yield integers low ≤ 2^unit·w ≤ high of the candidates, chunk by chunk (proof, step 1)."""
    whole, parts = _powers()
    divisor, factor = float(scale), 2.0**unit
    for start in range(0, scores.size, _CHUNK):
        with np.errstate(over="ignore", under="ignore"):
            exponent = np.minimum((best - scores[start : start + _CHUNK]) / divisor, _MOST)
        steps = (exponent * _PARTS).astype(np.int64)
        rest = steps / _PARTS - exponent
        weight = 1 + rest * (1 + rest / 2 * (1 + rest / 3 * (1 + rest / 4 * (1 + rest / 5))))
        weight *= whole[steps // _PARTS] * parts[steps % _PARTS] * factor
        yield (weight * (1 - _MARGIN)).astype(np.uint64), (weight * (1 + _MARGIN)).astype(np.uint64) + np.uint64(1)


@cache
def _powers() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return e⁻ʲ for j = 0 … 63, and e^(−j/256) for j = 0 … 255, rounded to the nearest float."""
    whole = [float(exp_bounds(Fraction(-j))[0]) for j in range(64)]
    parts = [float(exp_bounds(Fraction(-j, _PARTS))[0]) for j in range(_PARTS)]
    return np.array(whole), np.array(parts)


def _exponent(score: np.float64, best: np.float64, scale: Fraction) -> Fraction:
    """Return (best − score)/scale, exactly."""
    return (Fraction(float(best)) - Fraction(float(score))) / scale


def _is_below(place: int, unit: int, exponent: Fraction, bits: Bits) -> bool:
    """Tell whether a uniform real number that begins with these ``unit`` bits is below exp(−exponent) (proof, step 2).

    ``place`` is the number times 2^unit, rounded down; it may be above 1.
    """
    width = bits.widths[-1]
    while True:
        low, high = _scaled_weight(exponent, unit)
        if place + 1 <= low:
            return True
        if place >= high:
            return False
        place, unit = (place << width) + int(bits.draw(1, width)[0]), unit + width


def _scaled_weight(exponent: Fraction, unit: int) -> tuple[Fraction, Fraction]:
    """Return fractions below and above 2^unit·exp(−exponent)."""
    if exponent > unit:  # Such a weight is below 2^−unit.
        return Fraction(0), Fraction(1)
    low, high = exp_bounds(-exponent, bits=unit + 64)
    return low * 2**unit, high * 2**unit
