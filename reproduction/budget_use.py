"""How much of its budget an estimator uses: its state alone, and state and output together.

A published estimator divides 2ε evenly: ε for the state, ε for the output. What the state loses is max |ln R(b)|,
R(b) = f_upd(b)/f_init(b). What a look and the output lose together is another matter: the output noise is too small
for the claim (errata 1). The continuous Laplace law loses without bound: its entries have the tails of its output
noise, and E exp(ρY) diverges at ρ = ε.

Thesis: Theorems thm_DworkDE_priv, thm_OptBernDE_priv, thm_LaplaceDE_priv; section "On the Use of the Allocated Privacy
Budget"; see errata 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.stream.accuracy.published_error import Published, published_probabilities, truncated_gaussian_moments
from panbayes.stream.guarantee.loss import joint_loss
from panbayes.stream.laws.registry import law_kind
from reproduction.contenders import sound_calibration
from reproduction.published import published_rate
from reproduction.results import Row

__all__ = ["ALLOCATED", "SAMPLE", "published_loss", "state_loss", "use_rows"]

ALLOCATED: Final = tuple(round(0.025 * step, 3) for step in range(1, 21))
"""ε from 0.025 to 1/2."""

SAMPLE: Final = 10_000
"""The sample size for which sound estimators divide their total."""

_NODES: Final = 200


def state_loss(init: float, update: float) -> float:
    """The loss of a look at a bit that is 1 with probability ``init`` or ``update``.

    >>> round(state_loss(0.5, 0.75), 4) == round(math.log(2), 4)
    True
    """
    return max(abs(math.log(update / init)), abs(math.log((1 - update) / (1 - init))))


def published_loss(estimator: Published, epsilon: float) -> float:
    """The loss of one look and the output of a published estimator at ε each, which claims 2ε.

    >>> round(published_loss("dwork", 0.1), 2), round(published_loss("optimal-bernoulli", 0.5), 2)
    (3.42, 2.14)
    """
    match estimator:
        case "laplace":
            return math.inf
        case "truncated-gaussian":
            # Seen at 0, "only before the look" against "only after": ε + ln E exp(ρY), Y drawn from the update law.
            points, masses = np.polynomial.legendre.leggauss(_NODES)
            y = (points + 1) / 2
            density = masses * np.exp(-epsilon * (1 - y) ** 2)
            rate = epsilon / (1 - 2 * truncated_gaussian_moments(epsilon)[0])
            return epsilon + math.log(float(density @ np.exp(rate * y)) / float(density.sum()))
        case "dwork" | "optimal-bernoulli" | "quantized-laplace":
            law = law_kind(estimator).law(Fraction(repr(epsilon)), levels=2)
            return joint_loss(law, published_rate(law, epsilon=epsilon))


def use_rows(estimator: Published, epsilons: Sequence[float] = ALLOCATED) -> list[Row]:
    """Return what a binary estimator and its sound counterpart use of every ε, and of the total 2ε."""
    rows: list[Row] = []
    for epsilon in epsilons:
        init, update = published_probabilities(estimator, epsilon)
        sound = sound_calibration(estimator, epsilon=epsilon, sample=SAMPLE, universe=None)
        rows.append(
            {
                "estimator": estimator,
                "epsilon": epsilon,
                "init": init,
                "update": update,
                "ratio_zero": (1 - update) / (1 - init),
                "ratio_one": update / init,
                "state_loss": state_loss(init, update),
                "claimed": 2 * epsilon,
                "true_loss": published_loss(estimator, epsilon),
                "sound_state": sound.law.loss(),
                "sound_loss": sound.loss(),
            }
        )
    return rows
