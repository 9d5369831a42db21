"""Randomized response, as the thesis introduces differential privacy with it.

Thesis: Algorithm Alg_rand_resp; Theorem thm_rand_resp.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.exact.bounds import log_above
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.written import MAX_EPSILON

__all__ = [
    "randomized_response",
    "randomized_response_error",
    "randomized_response_fraction",
    "randomized_response_loss",
]


def randomized_response(bits: NDArray[np.bool_], *, truth: Fraction, noise: Noise) -> NDArray[np.bool_]:
    """Answer for each person: with probability ``truth`` the person's bit, else a fair coin.

    At ``truth`` = 1/2 this is the thesis's version and loses exactly ln 3.

    Thesis: Algorithm Alg_rand_resp; Theorem thm_rand_resp.
    """
    probability = _truth(truth)
    if bits.dtype != np.bool_:
        raise TypeError(f"bits must be an array of bool, found {bits.dtype}")
    keep = noise.bernoulli(bits.size, probability=probability).reshape(bits.shape)
    coin = noise.bernoulli(bits.size, probability=Fraction(1, 2)).reshape(bits.shape)
    return (keep & bits) | (~keep & coin)


def randomized_response_loss(*, truth: Fraction) -> Pure:
    """Return ln((1 + p)/(1 − p)) for p = ``truth``, rounded up to a multiple of 10⁻¹²; p = 1/2 gives ln 3.

    >>> float(randomized_response_loss(truth=Fraction(1, 2)).epsilon) - math.log(3) < 2e-12
    True
    """
    p = _truth(truth)
    return Pure(log_above((1 + p) / (1 - p)))


def randomized_response_fraction(answers: NDArray[np.bool_], *, truth: Fraction) -> float:
    """Estimate without bias the fraction of ones among the bits behind the ``answers``.

    An answer is 1 with probability p·bit + (1 − p)/2, p = ``truth``, so the estimate is
    (mean answer − (1 − p)/2)/p. It may fall outside [0, 1]; clamping it would bias it.
    """
    p = _truth(truth, positive=True)
    if not answers.size:
        raise ValueError("there are no answers to estimate from")
    mean = Fraction(int(np.count_nonzero(answers)), answers.size)
    return float((mean - (1 - p) / 2) / p)


def randomized_response_error(people: int, *, truth: Fraction) -> float:
    """Return the standard error that the coins give to :func:`randomized_response_fraction`.

    Whatever the bit, an answer has variance (1 − p²)/4, p = ``truth``; so the error, √((1 − p²)/(4n))/p for
    n = ``people``, is known beforehand and does not depend on the data.
    """
    p = _truth(truth, positive=True)
    if people < 1:
        raise ValueError(f"the number of people must be positive, found {people}")
    return math.sqrt((1 - p**2) / (4 * people)) / float(p)


def _truth(truth: Fraction, *, positive: bool = False) -> Fraction:
    """Return the probability of a true answer, or refuse one that protects nobody (or tells nothing)."""
    if not 0 <= truth < 1 or (positive and truth == 0):
        low = "above 0" if positive else "from 0"
        raise InputError("truth", found=f"found {truth}", remedy=f"give a fraction {low} to below 1, such as 1/2")
    exact = Fraction(truth)
    if (1 + exact) / (1 - exact) > 2**MAX_EPSILON:
        raise InputError("truth", found="found a number next to 1", remedy="give a fraction such as 1/2")
    return exact
