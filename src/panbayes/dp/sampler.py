"""Exact coins and discrete Laplace noise by the million, from fair bits and integer arithmetic alone.

Every number drawn here has *exactly* the law it promises, given that the operating system's bytes are fair
and independent: no floating-point number, no logarithm and no rounding takes part. The algorithm is that of
Canonne, Kamath and Steinke (The Discrete Gaussian for Differential Privacy, 2020, section 5), which builds
everything from coins whose probability is a ratio of integers; it is arranged here to work on whole arrays.

===============================  ================================================================
:func:`bernoulli`                true with probability n/d, one ratio for all cells
:func:`bernoulli_ratios`         true with probability nᵢ/d, a numerator per cell
:func:`uniform_below`            an integer in 0 … bound − 1
:func:`bernoulli_exp`            true with probability exp(−uᵢ/t)
:func:`geometric`                v = 0, 1, … with probability (1 − 1/e)·exp(−v)
:func:`discrete_laplace`         z with probability proportional to exp(−|z|/scale)
:func:`falling`                  y = 0, 1, … with probability proportional to exp(−y/scale)
===============================  ================================================================

The proof stands in ``docs/proofs/discrete-laplace.md``; its steps are named beside the code they prove.
Bits come through a :class:`Bits` value, so that a test can use words of two bits, walk through *all* outcomes
and compare exact probabilities: an error that is 2⁻⁶⁴ with wide words is 1/4 with narrow ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAX_NOISE",
    "MAX_SCALE",
    "MIN_SCALE",
    "SYSTEM_BITS",
    "Bits",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_ratios",
    "discrete_laplace",
    "falling",
    "geometric",
    "magnitude",
    "small_terms",
    "system_words",
    "uniform_below",
]

Bools: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32] | NDArray[np.uint64]

MAX_NOISE: Final = 2**62
"""Noise saturates here: a larger magnitude is returned as this one."""

MAX_SCALE: Final = Fraction(2**31)
"""The largest scale served; noise of this size drowns any table of people there is."""

MIN_SCALE: Final = Fraction(1, 2**20)
"""The smallest scale served; below it the noise is zero but for an event of probability exp(−2²⁰)."""

_MAX_TERM: Final = 2**31
_CHUNK: Final = 2**17


def system_words(count: int, width: int) -> Words:
    """Draw ``count`` independent uniform integers below ``2**width`` from the operating system."""
    data = os.urandom(count * width // 8)
    if width == 8:
        return np.frombuffer(data, dtype=np.uint8)
    if width == 16:
        return np.frombuffer(data, dtype=np.uint16)
    if width == 32:
        return np.frombuffer(data, dtype=np.uint32)
    if width == 64:
        return np.frombuffer(data, dtype=np.uint64)
    raise ValueError(f"words are 8, 16, 32 or 64 bits wide, found {width}")


@dataclass(frozen=True, slots=True)
class Bits:
    """Where fair bits come from, and in words of which widths they are drawn.

    ``draw(count, width)`` returns independent uniform integers below ``2**width``. The first of ``widths`` is
    that of a digit, in which a coin is compared with its probability; a uniform integer takes the narrowest
    width that rejects at most one word in 256, else the last.
    """

    draw: Callable[[int, int], Words]
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse widths for which the integers of this module could overflow."""
        if not self.widths or list(self.widths) != sorted(set(self.widths)):
            raise ValueError(f"widths must be given in increasing order, found {self.widths}")
        if not (1 <= self.widths[0] <= 16 and self.widths[-1] <= 64):
            raise ValueError(f"a digit has 1 to 16 bits and a word at most 64, found {self.widths}")


SYSTEM_BITS: Final = Bits(system_words, (16, 32, 64))
"""The operating system's randomness; the only source of bits outside tests."""


def bernoulli(size: int, probability: Fraction, *, bits: Bits = SYSTEM_BITS) -> Bools:
    """Draw ``size`` coins that are true with exactly this ``probability``, a ratio of integers of any size.

    A uniform real number, of which as many digits are drawn as it takes, is compared with the digits of the
    probability (proof, step 1).
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability lies between 0 and 1, found {probability}")
    width, denominator = bits.widths[0], probability.denominator
    digit, rest = divmod(probability.numerator << width, denominator)
    word = bits.draw(size, width)
    result: Bools = word < digit
    tied = np.flatnonzero(word == digit)
    while tied.size and rest:
        digit, rest = divmod(rest << width, denominator)
        word = bits.draw(tied.size, width)
        result[tied] = word < digit
        tied = tied[word == digit]
    return result


def bernoulli_ratios(numerators: NDArray[np.uint64], denominator: int, *, bits: Bits = SYSTEM_BITS) -> Bools:
    """Draw one coin per numerator nᵢ, true with probability exactly nᵢ/``denominator`` (proof, step 1).

    Needs 0 ≤ nᵢ ≤ ``denominator`` < 2⁴⁷, so that a digit's shift stays below 2⁶³.
    """
    if not 1 <= denominator < 2**47:
        raise ValueError(f"the denominator must be positive and below 2**47, found {denominator}")
    width, divisor = np.uint64(bits.widths[0]), np.uint64(denominator)
    shifted = numerators << width
    digits = shifted // divisor
    word = bits.draw(numerators.size, bits.widths[0])
    result: Bools = word < digits
    tied = np.flatnonzero(word == digits)
    rest = shifted[tied] - digits[tied] * divisor
    while tied.size:
        shifted = rest << width
        digits = shifted // divisor
        word = bits.draw(tied.size, bits.widths[0])
        result[tied] = word < digits
        again = word == digits
        tied, rest = tied[again], (shifted - digits * divisor)[again]
    return result


def uniform_below(size: int, bound: int, *, bits: Bits = SYSTEM_BITS) -> NDArray[np.uint64]:
    """Draw ``size`` integers, each of 0 … ``bound`` − 1 with the same probability (proof, step 2).

    With q = ⌊2^w/bound⌋, a word of w bits is rejected unless it is below q·bound; the integer is word // q.
    """
    if not 1 <= bound <= 1 << bits.widths[-1]:
        raise ValueError(f"the bound must be positive and at most 2**{bits.widths[-1]}, found {bound}")
    if bound == 1:
        return np.zeros(size, dtype=np.uint64)
    width = next((w for w in bits.widths if bound << 8 <= 1 << w), bits.widths[-1])
    share = (1 << width) // bound
    accepted = np.empty(size, dtype=np.uint64)
    filled = 0
    while filled < size:
        word = bits.draw(size - filled, width)
        if share * bound < 1 << width:
            word = word[word < share * bound]
        accepted[filled : filled + word.size] = word
        filled += word.size
    return accepted // np.uint64(share)


def bernoulli_exp(numerators: NDArray[np.uint64], denominator: int, *, bits: Bits = SYSTEM_BITS) -> Bools:
    """Draw one coin per cell, true with probability exactly exp(−uᵢ/t) (proof, step 3).

    uᵢ are the ``numerators``, t the ``denominator``, 0 ≤ uᵢ ≤ t ≤ 2³¹. In round k = 1, 2, … a coin of
    probability uᵢ/(t·k) decides whether the cell goes on; the result says whether it stopped in an odd round.
    """
    if not 1 <= denominator <= _MAX_TERM:
        raise ValueError(f"the denominator must be positive and at most 2**31, found {denominator}")
    going = bernoulli_ratios(numerators, denominator, bits=bits)
    result = ~going
    cells, left, k = np.flatnonzero(going), numerators[going], 2
    while cells.size:
        going = _goes_on(left, denominator, k, bits)
        if k % 2:
            result[cells[~going]] = True
        cells, left, k = cells[going], left[going], k + 1
    return result


def _goes_on(numerators: NDArray[np.uint64], denominator: int, k: int, bits: Bits) -> Bools:
    """Draw coins of probability uᵢ/(t·k), as two independent coins where t·k is too large for one."""
    if denominator * k < 2**47:
        return bernoulli_ratios(numerators, denominator * k, bits=bits)
    first = bernoulli_ratios(numerators, denominator, bits=bits)
    return first & bernoulli(numerators.size, Fraction(1, k), bits=bits)


def _bernoulli_inverse_e(size: int, bits: Bits) -> Bools:
    """Draw coins of probability exactly 1/e: :func:`bernoulli_exp` at 1/1, whose first round never stops."""
    result = np.zeros(size, dtype=np.bool_)
    cells, k = np.flatnonzero(bernoulli(size, Fraction(1, 2), bits=bits)), 3
    while cells.size:
        going = bernoulli(cells.size, Fraction(1, k), bits=bits)
        if k % 2:
            result[cells[~going]] = True
        cells, k = cells[going], k + 1
    return result


def geometric(size: int, *, bits: Bits = SYSTEM_BITS) -> NDArray[np.uint64]:
    """Draw ``size`` integers v ≥ 0 with probability exactly (1 − 1/e)·exp(−v) (proof, step 4)."""
    result = np.zeros(size, dtype=np.uint64)
    cells = np.flatnonzero(_bernoulli_inverse_e(size, bits))
    while cells.size:
        result[cells] += np.uint64(1)
        cells = cells[_bernoulli_inverse_e(cells.size, bits)]
    return result


def magnitude(u: NDArray[np.uint64], v: NDArray[np.uint64], scale: Fraction) -> NDArray[np.int64]:
    """Return ⌊(u + t·v)/s⌋ for the ``scale`` t/s, at most :data:`MAX_NOISE` (proof, step 5).

    Below 2³¹ in v the sum stays below 2⁶³; cells beyond (probability exp(−2³¹) each) take Python's integers.
    """
    t, s = scale.numerator, scale.denominator
    if v.size and int(v.max()) >= 2**31:
        exact = [min((int(a) + t * int(b)) // s, MAX_NOISE) for a, b in zip(u, v, strict=True)]
        return np.array(exact, dtype=np.int64)
    total = u + np.uint64(t) * v
    if s > 1:
        total //= np.uint64(s)
    return np.minimum(total, np.uint64(MAX_NOISE)).view(np.int64)


def small_terms(scale: Fraction) -> Fraction:
    """Return a fraction with terms of at most 2³¹, between ``scale`` and ``scale``·(1 + 2⁻³⁰).

    A scale whose terms are small already comes back unchanged (proof, step 7).

    >>> small_terms(Fraction(1806, 5))
    Fraction(1806, 5)
    >>> small_terms(Fraction(10**20 + 1, 10**19)) > Fraction(10**20 + 1, 10**19)
    True
    """
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise ValueError(f"the scale must lie between {MIN_SCALE} and {MAX_SCALE}, found {float(scale):g}")
    if max(scale.numerator, scale.denominator) <= _MAX_TERM:
        return scale
    if scale >= 1:
        s = int(_MAX_TERM / scale)
        return Fraction(-(-scale.numerator * s // scale.denominator), s)
    t = int(_MAX_TERM * scale)
    return Fraction(t, t * scale.denominator // scale.numerator)


def _falling(size: int, scale: Fraction, bits: Bits) -> NDArray[np.int64]:
    """Try ``size`` times to draw y ≥ 0 with probability proportional to exp(−y/scale); return the accepted draws."""
    u = uniform_below(size, scale.numerator, bits=bits)
    u = u[bernoulli_exp(u, scale.numerator, bits=bits)]
    return magnitude(u, geometric(u.size, bits=bits), scale)


def _laplace(size: int, scale: Fraction, bits: Bits) -> NDArray[np.int64]:
    """Try ``size`` times to draw discrete Laplace noise; return the accepted draws in order."""
    y = _falling(size, scale, bits)
    negative = bernoulli(y.size, Fraction(1, 2), bits=bits)
    np.negative(y, out=y, where=negative)
    accepted: NDArray[np.int64] = y[~(negative & (y == 0))]
    return accepted


def discrete_laplace(size: int, scale: Fraction, *, bits: Bits = SYSTEM_BITS) -> NDArray[np.int64]:
    """Draw ``size`` integers z with probability exactly proportional to exp(−|z|/b) (proof, step 6).

    b is :func:`small_terms` of ``scale``: the scale itself if its terms are at most 2³¹, else a hair above,
    never below. Values saturate at ±:data:`MAX_NOISE`.
    """
    return _filled(size, scale, _laplace, bits)


def falling(size: int, scale: Fraction, *, bits: Bits = SYSTEM_BITS) -> NDArray[np.int64]:
    """Draw ``size`` integers y ≥ 0 with probability exactly proportional to exp(−y/b) (proof, step 5); b as above."""
    return _filled(size, scale, _falling, bits)


def _filled(
    size: int, scale: Fraction, attempt: Callable[[int, Fraction, Bits], NDArray[np.int64]], bits: Bits
) -> NDArray[np.int64]:
    """Attempt until there are ``size`` draws."""
    if size < 0:
        raise ValueError(f"the size cannot be negative, found {size}")
    served = small_terms(scale)
    result = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        # About 1.6 attempts a cell; a surplus is dropped in the order drawn, which leaves the law as it is.
        tries = min(_CHUNK, max(1, (size - filled) * 8 // 5))
        accepted = attempt(tries, served, bits)[: size - filled]
        result[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return result
