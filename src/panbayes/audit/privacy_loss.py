"""How much the discrete mechanisms really reveal: laws of outputs, and divergences between them.

Two neighbouring inputs give two laws p and q on the same outcomes. Whoever sees the outcome o learns at most
ln p(o)/q(o), the privacy loss; its largest value is the ε of pure differential privacy (thesis: Definition
defn_dp), and δ(ε) = Σ max(0, p − e^ε·q) is how far ε fails. Tests hold every mechanism against these
functions, and the audit measures our claims with them.

Two kinds of arithmetic, and each function says which is its own:

* *exact*: laws are tuples of :class:`~fractions.Fraction`. Where a law contains powers of e, the caller names
  the base: with the ratio r = exp(−1/scale), or the weights wᵢ = exp((scoreᵢ − best)/scale), given as any
  rational numbers, the laws are rational functions of them, and so are all divergences. The promises hold for
  every base, so that checking them at rational bases involves no rounding;
* *floats*: laws are arrays of float64, with the error stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.privacy.events import Rule

__all__ = [
    "Law",
    "compose",
    "composed_ratio",
    "discrete_laplace_pmf",
    "discrete_laplace_shift_loss",
    "discrete_laplace_tail",
    "exponential_law",
    "hockey_stick",
    "hockey_stick_at",
    "max_divergence",
    "max_ratio",
    "permute_and_flip_law",
    "randomized_response_law",
    "selection_pmf",
    "two_sided_geometric_pmf",
]

Law: TypeAlias = tuple[Fraction, ...]
"""An exact law on finitely many outcomes: their probabilities, in a fixed order."""

Floats: TypeAlias = NDArray[np.float64]

_NODES: Final = 64


def two_sided_geometric_pmf(z: int, *, ratio: Fraction) -> Fraction:
    """Return P(Z = z) = (1 − r)/(1 + r)·r^|z| of discrete Laplace noise, r = ``ratio`` (exact).

    >>> two_sided_geometric_pmf(-2, ratio=Fraction(1, 2))
    Fraction(1, 12)
    """
    return (1 - ratio) / (1 + ratio) * ratio ** abs(z)


def discrete_laplace_pmf(z: NDArray[np.int64], *, scale: Fraction) -> Floats:
    """Return P(Z = z) of discrete Laplace noise at each ``z`` (floats).

    The same law at r = exp(−1/``scale``), where (1 − r)/(1 + r) = tanh(1/(2·``scale``)). Relative error at
    most (|z|/``scale`` + 8)·2⁻⁵² down to probabilities of 10⁻³⁰⁰.
    """
    b = float(scale)
    result: Floats = math.tanh(0.5 / b) * np.exp(-np.abs(z) / b)
    return result


def discrete_laplace_tail(z: NDArray[np.int64], *, scale: Fraction) -> Floats:
    """Return P(Z ≥ z) of discrete Laplace noise at each ``z`` (floats).

    It is r^z/(1 + r) for z ≥ 1 and 1 − r^(1−z)/(1 + r) below, r = exp(−1/``scale``). Absolute error at most
    2⁻⁵⁰; relative error as for the pmf where z ≥ 1.
    """
    b = float(scale)
    far = np.exp(-np.where(z >= 1, z, 1 - z) / b) / (1 + math.exp(-1 / b))
    result: Floats = np.where(z >= 1, far, 1 - far)
    return result


def discrete_laplace_shift_loss(shift: Iterable[int], *, scale: Fraction) -> Fraction:
    """Return the worst loss between counts that differ by ``shift`` under noise of this ``scale`` (exact).

    Each cell loses at most |shiftᵢ|/``scale``, and exactly that at every outcome beyond both counts; the
    cells are independent, so the worst outcomes add: ‖shift‖₁/``scale``.

    >>> discrete_laplace_shift_loss([1, -1], scale=Fraction(20))
    Fraction(1, 10)
    """
    return sum(map(abs, shift)) / Fraction(scale)


def randomized_response_law(bit: bool, *, truth: Fraction) -> Law:
    """Return (P(answer 0), P(answer 1)) of a respondent with this ``bit`` (exact).

    With probability p = ``truth`` the answer is the bit, else a fair coin, so it is the bit with (1 + p)/2.

    >>> randomized_response_law(True, truth=Fraction(1, 2))
    (Fraction(1, 4), Fraction(3, 4))
    """
    same, other = (1 + truth) / 2, (1 - truth) / 2
    return (other, same) if bit else (same, other)


def exponential_law(weights: Sequence[Fraction]) -> Law:
    """Return the law of the exponential mechanism (exact): P(i) = wᵢ/Σwⱼ, w = ``weights`` exp(scoreᵢ/scale).

    Thesis: Theorem defn_expo_mech, with scale = 2Δq/ε.
    """
    total = sum(weights)
    return tuple(w / total for w in weights)


def permute_and_flip_law(weights: Sequence[Fraction]) -> Law:
    """Return the law of permute-and-flip (exact), w = ``weights`` exp(scoreᵢ/scale) up to a common factor.

    Candidates come in random order, each is taken with probability wᵢ/max w, and the first taken is the
    result. Let every candidate arrive at a uniform time; i is the result if it is taken and, of the others,
    none that arrived earlier was: P(i) = wᵢ·∫₀¹ Π_{j≠i} (1 − wⱼ·u) du with max w = 1. Multiplying the product
    out gives the formula of inclusion and exclusion, wᵢ·Σ_{S ∌ i} (−1)^|S| Π_{j∈S} wⱼ/(|S| + 1), here in a
    number of steps that is quadratic, not exponential, in the number of candidates.

    >>> permute_and_flip_law([Fraction(1), Fraction(1, 2)])
    (Fraction(3, 4), Fraction(1, 4))
    """
    best = max(weights)
    scaled = [w / best for w in weights]
    product = [Fraction(1)]
    for w in scaled:
        product = [a - w * b for a, b in zip([*product, Fraction(0)], [Fraction(0), *product], strict=True)]
    law = []
    for w in scaled:
        coefficient = integral = Fraction(0)
        for power, total in enumerate(product[:-1]):  # divide by 1 − w·u, integrate term by term
            coefficient = total + w * coefficient
            integral += coefficient / (power + 1)
        law.append(w * integral)
    return tuple(law)


def selection_pmf(scores: Floats, *, scale: Fraction, mechanism: Rule) -> Floats:
    """Return the law of a selection among many candidates (floats, relative error below 10⁻¹²).

    The exponential mechanism's is a softmax. Permute-and-flip's integral has no cancellation if it is left
    undivided: the integrand is positive and falls like exp(−u·Σw), so Gauss–Legendre sums over the panels
    [½, 1], [¼, ½], … down to the reciprocal of the number of candidates see every part of it.
    """
    weights: Floats = np.exp((scores - scores.max()) / float(scale))
    match mechanism:
        case "exponential":
            softmax: Floats = weights / math.fsum(weights)
            return softmax
        case "permute-and-flip":
            return _permute_and_flip_pmf(weights)


def _permute_and_flip_pmf(weights: Floats) -> Floats:
    points, masses = np.polynomial.legendre.leggauss(_NODES)
    result: Floats = np.zeros(weights.size)
    edge = 1.0
    for _ in range(weights.size.bit_length() + 6):
        result += _panel(weights, edge / 2, edge, points, masses)
        edge /= 2
    result += _panel(weights, 0.0, edge, points, masses)
    return result


def _panel(weights: Floats, low: float, high: float, points: Floats, masses: Floats) -> Floats:
    """Integrate wᵢ·Π_{j≠i} (1 − wⱼ·u) over ``low`` < u < ``high`` for every i."""
    half = (high - low) / 2
    logs = np.log1p(-np.outer(low + half * (points + 1), weights))
    products = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    result: Floats = weights * (half * masses @ products)
    return result


def max_ratio(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction | None:
    """Return e^ε, the largest p(o)/q(o) over the outcomes of ``p`` (exact); None if it is unbounded.

    >>> max_ratio(randomized_response_law(True, truth=Fraction(1, 2)),
    ...           randomized_response_law(False, truth=Fraction(1, 2)))
    Fraction(3, 1)
    """
    if any(a > 0 and b == 0 for a, b in zip(p, q, strict=True)):
        return None
    return max(a / b for a, b in zip(p, q, strict=True) if a > 0)


def max_divergence(p: Floats, q: Floats) -> float:
    """Return ε = max ln p(o)/q(o) over the outcomes of ``p`` (floats), infinite if ``q`` misses one.

    Error at most 2⁻⁵¹·(1 + result) plus the relative errors of ``p`` and ``q``.
    """
    seen = p > 0
    if not (q[seen] > 0).all():
        return math.inf
    return float(np.log(p[seen] / q[seen]).max())


def hockey_stick_at(p: Sequence[Fraction], q: Sequence[Fraction], *, ratio: Fraction) -> Fraction:
    """Return δ(ε) = Σ max(0, p(o) − e^ε·q(o)) with e^ε = ``ratio`` (exact)."""
    return sum((max(a - ratio * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def hockey_stick(p: Floats, q: Floats, *, epsilon: float) -> float:
    """Return δ(``epsilon``) = Σ max(0, p(o) − e^ε·q(o)) (floats).

    Error at most (1 + e^ε)·(2⁻⁵² plus the relative errors of ``p`` and ``q``); the sum itself is exact.
    """
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0).tolist())


def compose(pairs: Iterable[tuple[Law, Law]]) -> tuple[Law, Law]:
    """Return the joint laws of independent releases, given the pair of laws of each (exact).

    Outcomes with the same ratio p/q are merged: the ratio is all that a divergence looks at, so none changes,
    and n releases of the same kind have polynomially many outcomes, not exponentially many.

    >>> response = tuple(randomized_response_law(bit, truth=Fraction(1, 2)) for bit in (False, True))
    >>> p, q = compose([(response[0], response[1])] * 10)
    >>> len(p), max_ratio(p, q) == 3**10
    (11, True)
    """
    joint: dict[Fraction | None, tuple[Fraction, Fraction]] = {Fraction(1): (Fraction(1), Fraction(1))}
    for p, q in pairs:
        merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for a, b in joint.values():
            for c, d in zip(p, q, strict=True):
                if a * c or b * d:
                    key = a * c / (b * d) if b * d else None
                    x, y = merged.get(key, (Fraction(0), Fraction(0)))
                    merged[key] = (x + a * c, y + b * d)
        joint = merged
    return tuple(a for a, _ in joint.values()), tuple(b for _, b in joint.values())


def composed_ratio(pairs: Iterable[tuple[Law, Law]]) -> Fraction | None:
    """Return e^ε of independent releases together (exact): the product of their largest ratios.

    Thesis: Theorem thm_composition, with equality because every release can show its worst outcome at once.
    """
    total = Fraction(1)
    for p, q in pairs:
        ratio = max_ratio(p, q)
        if ratio is None:
            return None
        total *= ratio
    return total
