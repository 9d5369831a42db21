"""How many users to sample: the exact answer for the sound calibration, beside the thesis's bound.

For each candidate sample size the budget is split for the least error, the law of the released statistic is
computed by numeric convolution, and the failure probability P(|estimate − density| ≥ α) is maximised over the density.
The least sample size that keeps it at or below β is found by bisection. The thesis's m* for Optimal Bernoulli at
ε = E/2 (whose guarantee would be 2ε = E if its claim held) stands beside it for comparison.

Thesis: section subSEC_sample_size; see errata 1, 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from panbayes.errors import InputError
from panbayes.privacy.written import Written, parse_epsilon
from panbayes.stream.accuracy.density_bounds import sample_size_bound
from panbayes.stream.accuracy.density_error import worst_rmse
from panbayes.stream.accuracy.statistic_law import failure_probability, worst_failure
from panbayes.stream.guarantee.calibration import Calibration, calibrate, design_of
from panbayes.stream.laws.registry import DEFAULT_LAW

__all__ = ["MAX_SAMPLE", "SamplePlan", "plan_sample"]

MAX_SAMPLE: Final = 1 << 36

_GUARD: Final = 0.995
"""The part of β to aim at: covers the resolution of the search for the worst density."""


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """A sample size for (α, β) and what it takes.

    ``failure`` is the exact worst-case probability of an error of α or more, ``rmse`` the worst-case root mean squared
    error, ``state_bytes`` the size of the entries, ``sample_thesis`` m* of the published bounds.
    """

    sample: int
    sample_thesis: int
    calibration: Calibration
    failure: float
    rmse: float
    state_bytes: int


def plan_sample(
    *,
    epsilon: Written,
    alpha: float,
    beta: float,
    universe: int | None = None,
    releases: int = 1,
    law: str = DEFAULT_LAW,
    levels: int = 2,
) -> SamplePlan:
    """Find the least sample size for which every release errs by α or more with probability at most β.

    ``epsilon`` is E, the total for one look and all ``releases``. ``universe`` is U; ``None`` means infinite. ``law``
    names the state law, on ``levels`` levels.

    >>> plan_sample(epsilon=1, alpha=0.1, beta=0.05).sample
    760
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < 1:
            raise InputError(name, found=f"found {value:g}", remedy="give a number between 0 and 1, such as 0.05")
    if universe is not None and universe < 1:
        raise InputError("universe", found=f"found {universe}", remedy="give the number of users, at least 1")
    most = min(MAX_SAMPLE, universe if universe is not None else MAX_SAMPLE)

    def calibrated(sample: int) -> Calibration:
        return calibrate(epsilon=total, sample=sample, universe=universe, releases=releases, law=law, levels=levels)

    def fails(sample: int, *, everywhere: bool) -> float:
        calibration = calibrated(sample)
        design = design_of(calibration.law, float(calibration.noise_scale), sample=sample, universe=universe)
        if everywhere:
            return worst_failure(design, alpha=alpha)
        return failure_probability(design, alpha=alpha, density=_middle(universe))

    low, high = 0, 16
    while high < most and fails(high, everywhere=False) > beta:
        low, high = high, 2 * high
    high = min(high, most)
    low = _bisect(low, high, lambda m: fails(m, everywhere=False) <= beta * _GUARD)
    step = max(1, low // 200)
    while low < most and fails(low, everywhere=True) > beta * _GUARD:
        low = min(most, low + step)
    failure = fails(low, everywhere=True)
    if failure > beta:
        raise InputError(
            "universe" if universe is not None else "alpha",
            found=f"even a sample of {low} users errs by {alpha:g} or more with probability {failure:.3g}",
            remedy="allow a larger alpha, beta or epsilon",
        )
    calibration = calibrated(low)
    design = design_of(calibration.law, float(calibration.noise_scale), sample=low, universe=universe)
    return SamplePlan(
        sample=low,
        sample_thesis=sample_size_bound("optimal-bernoulli", epsilon=float(total) / 2, alpha=alpha, beta=beta).sample,
        calibration=calibration,
        failure=failure,
        rmse=worst_rmse(design),
        state_bytes=calibration.law.state_bytes(low),
    )


def _middle(universe: int | None) -> float:
    return 0.5 if universe is None else (universe // 2) / universe


def _bisect(low: int, high: int, good: Callable[[int], bool]) -> int:
    """Return the least good number above ``low``, at most ``high``, to half a thousandth."""
    while high - low > max(1, high // 2000):
        middle = (low + high) // 2
        if good(middle):
            high = middle
        else:
            low = middle
    return high
