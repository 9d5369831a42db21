"""Repeating the estimators of Chapter 4 on generated streams.

A stream of length T names users of a universe of U, T = U = 10⁵, uniformly or by Zipf's law with parameter 1. In one
repetition all estimators see the same stream and have the same sample of users, but coins of their own.

Thesis: Chapter 4, section "Experimental Evaluation".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reproduction.contenders import Contender

__all__ = ["EPSILONS", "LENGTH", "STREAMS", "UNIVERSE", "errors_of", "expected_density", "present_users", "zipf_users"]

UNIVERSE: Final = 100_000
LENGTH: Final = 100_000
STREAMS: Final = ("uniform", "zipf")
EPSILONS: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
"""The thesis gives only the range: its theorems need 0 < ε ≤ 1/2."""


_STEPS: Final = 1 << 20


@cache
def _chances(stream: str) -> NDArray[np.float64]:
    weights = np.ones(UNIVERSE) if stream == "uniform" else 1 / np.arange(1, UNIVERSE + 1)
    return np.asarray(weights / weights.sum())


def expected_density(stream: str) -> float:
    """The mean share of the universe that a stream names: 1 − (1 − p)^T on average.

    >>> round(expected_density("uniform"), 3), round(expected_density("zipf"), 3)
    (0.632, 0.244)
    """
    return float(np.mean(-np.expm1(LENGTH * np.log1p(-_chances(stream)))))


def present_users(stream: str, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a stream and tell of every user whether it names them."""
    named = generator.integers(0, UNIVERSE, LENGTH) if stream == "uniform" else zipf_users(generator.random(LENGTH))
    present = np.zeros(UNIVERSE, dtype=np.bool_)
    present[named] = True
    return present


@cache
def _guide() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distribution function of Zipf's users, and where it stands at every multiple of 2⁻²⁰."""
    cumulated = np.cumsum(_chances("zipf"))
    cumulated[-1] = 1.0
    return cumulated, np.searchsorted(cumulated, np.arange(_STEPS) / _STEPS, side="right")


def zipf_users(uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn uniform numbers into users by Zipf's law, as a bisection of the distribution function would."""
    cumulated, guide = _guide()
    users = guide[(uniform * _STEPS).astype(np.int64)]
    while (behind := cumulated[users] <= uniform).any():
        users += behind
    return users


def errors_of(
    compared: Sequence[Contender], *, stream: str, repetitions: int, seed: int
) -> Iterator[tuple[Contender, NDArray[np.float64]]]:
    """Yield every estimator with its errors, estimate minus density, in all repetitions."""
    generator = np.random.default_rng(seed)
    errors = np.empty((len(compared), repetitions))
    for repetition in range(repetitions):
        present = present_users(stream, generator)
        sampled = present[generator.permutation(UNIVERSE)[: compared[0].sample]]
        density, count = float(present.mean()), int(sampled.sum())
        errors[:, repetition] = [one.estimate(count, generator) - density for one in compared]
    yield from zip(compared, errors, strict=True)
