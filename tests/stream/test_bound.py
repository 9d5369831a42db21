"""The theorem's bound as it stands in the docstring, term by term, beside both ways in which it is computed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.exact.bounds import exp_bounds
from panbayes.stream.guarantee import loss
from panbayes.stream.guarantee.loss import joint_loss, surely_meets
from panbayes.stream.laws.state_law import COIN, StateLaw
from tests.effort import often


def bound(law: StateLaw, rate: float, *, retained: bool = True) -> float:
    """ln max_x max(f(x)/g(x), g(x)/f(x))·max_{q, q'} Σ_y q(y)·exp(ρ·Σ_z q'(z)·|a(y) − a(z)|), q, q' ∈ {x, f, g}."""
    f, g = (np.array(weights) / COIN for weights in (law.init, law.update))
    apart = np.abs(np.subtract.outer(law.scores, law.scores))

    def growth(q: NDArray[np.float64], other: NDArray[np.float64]) -> float:
        return sum(float(q[y]) * math.exp(rate * float(other @ apart[y])) for y in range(law.levels))

    worst = 0.0
    for x in range(law.levels):
        three = (np.eye(law.levels)[x], f, g) if retained else (f, g)
        most = max(growth(q, other) for q, other in product(three, three))
        worst = max(worst, max(f[x] / g[x], g[x] / f[x]) * most)
    return math.log(worst)


def made_up(seed: int) -> tuple[StateLaw, float]:
    """Some law of two to five levels, lopsided and with gaps between its scores, and some rate."""
    random = np.random.default_rng(seed)
    levels = int(random.integers(2, 6))
    scores = (0, *np.cumsum(random.integers(1, 6, levels - 1)).tolist())
    both = []
    for _ in range(2):
        weights = np.floor(random.dirichlet(np.full(levels, 0.5)) * (COIN - 10**6 * levels)).astype(int) + 10**6
        weights[random.integers(levels)] += COIN - weights.sum()
        both.append(tuple(weights.tolist()))
    both.sort(key=lambda weights: sum(w * a for w, a in zip(weights, scores, strict=True)))
    return StateLaw("made up", both[0], both[1], scores), float(random.uniform(0.01, 4) / scores[-1])


@pytest.mark.parametrize(
    "seeds", [range(start, start + 50) for start in range(0, often(100, 300), 50)], ids=lambda s: f"{s.start}"
)
def test_both_ways_to_compute_the_bound_are_the_theorem(seeds: range) -> None:
    for seed in seeds:
        law, rate = made_up(seed)
        exact = bound(law, rate)
        assert joint_loss(law, rate) == pytest.approx(exact, rel=1e-12)
        assert surely_meets(law, Fraction(rate), Fraction(exact * (1 + 1e-9)))
        assert not surely_meets(law, Fraction(rate), Fraction(exact * (1 - 1e-9)))


@pytest.mark.parametrize("side", ["below", "above"])
def test_a_yes_takes_the_powers_from_the_safe_side(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What e^E is at least, and what every other power is at most: with bounds a hair apart the edge is a no."""
    below, above = (Fraction(999, 1000), 1) if side == "below" else (1, Fraction(1001, 1000))

    def apart(exponent: Fraction) -> tuple[Fraction, Fraction]:
        low, high = exp_bounds(exponent)
        return low * below, high * above

    monkeypatch.setattr(loss, "exp_bounds", apart)
    always = 0
    for seed in range(often(100, 300)):
        law, rate = made_up(seed)
        exact = bound(law, rate)
        assert not surely_meets(law, Fraction(rate), Fraction(exact * (1 + 1e-9)))
        always += bound(law, rate, retained=False) == exact
    assert always > often(1, 5), "where the entry was drawn again before and after, nothing else counts"


def test_a_rate_far_beyond_the_total_is_refused_like_any_other() -> None:
    """Before the powers are computed, which would have as many digits as the rate; and not too early."""
    for seed in range(40):
        law, _ = made_up(seed)
        assert not surely_meets(law, Fraction(10**12), Fraction(1))
        for total in (1, 5, 40):
            # The largest rate that can be served lies below (E + 22.2)/a: nothing below is refused unseen.
            rate = 1.0 / law.scores[-1]
            while bound(law, rate) < total and rate < 200:
                rate *= 1.1
            least = rate / 1.1
            if bound(law, least) < total:
                assert surely_meets(law, Fraction(least), Fraction(total))
