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
from panbayes.stream.accuracy.sparse import least_density
from panbayes.stream.guarantee.calibration import Calibration, design_of
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.statistic import Answer, Budget, SampledStatistic

__all__ = ["MAX_SAMPLE", "RELATIVE", "SamplePlan", "plan_sample"]

MAX_SAMPLE: Final = 1 << 36

RELATIVE: Final = 0.1
"""The relative error from which on a density is no longer called sparse."""

_GUARD: Final = 0.995
"""The part of β to aim at: covers the resolution of the search for the worst density."""


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """A sample size for (α, β) and what it takes.

    ``sparse`` is the least density that is estimated within 10 % of itself with probability 1 − β (``None`` if there is
    none, and for other statistics).

    ``failure`` is the exact worst-case probability of an error of α or more, ``rmse`` the worst-case root mean squared
    error, ``state_bytes`` the size of the entries, ``sample_thesis`` m* of the published bounds (for a density).
    """

    sample: int
    sample_thesis: int | None
    calibration: Calibration[Law]
    failure: float
    rmse: float
    state_bytes: int
    sparse: float | None


def plan_sample(
    *,
    epsilon: Written,
    alpha: float,
    beta: float,
    universe: int | None = None,
    releases: int = 1,
    statistic: SampledStatistic[Answer] | None = None,
) -> SamplePlan:
    """Find the least sample size for which every release errs by α or more with probability at most β.

    ``epsilon`` is E, the total for one look and all ``releases``. ``universe`` is U; ``None`` means infinite.
    ``statistic`` is what will be estimated, by default the density.

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

    wanted: SampledStatistic[Answer] = Density() if statistic is None else statistic

    def calibrated(sample: int) -> Calibration[Law]:
        return wanted.calibrate(Budget(total, sample, universe, releases))

    def fails(sample: int, *, everywhere: bool) -> float:
        return wanted.failure(calibrated(sample), sample=sample, universe=universe, alpha=alpha, everywhere=everywhere)

    def refuse(sample: int, failure: float) -> InputError:
        return InputError(
            "universe" if universe is not None else "alpha",
            found=f"even a sample of {sample} users errs by {alpha:g} or more with probability {failure:.3g}",
            remedy="allow a larger alpha, beta or epsilon",
        )

    if (hopeless := fails(most, everywhere=False)) > beta:
        raise refuse(most, hopeless)
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
        raise refuse(low, failure)
    calibration = calibrated(low)
    bound = sample_size_bound if isinstance(wanted, Density) else None
    return SamplePlan(
        sample=low,
        sample_thesis=bound and bound("optimal-bernoulli", epsilon=float(total) / 2, alpha=alpha, beta=beta).sample,
        calibration=calibration,
        failure=failure,
        rmse=wanted.rmse(calibration, sample=low, universe=universe),
        state_bytes=calibration.law.state_bytes(low),
        sparse=_sparse(calibration, low, universe, beta),
    )


def _sparse(calibration: Calibration[Law], sample: int, universe: int | None, beta: float) -> float | None:
    law = calibration.law
    if not isinstance(law, StateLaw):
        return None
    design = design_of(law, float(calibration.noise_scale), sample=sample, universe=universe)
    return least_density(design, relative=RELATIVE, beta=beta)


def _bisect(low: int, high: int, good: Callable[[int], bool]) -> int:
    """Return the least good number above ``low``, at most ``high``, to half a thousandth."""
    while high - low > max(1, high // 2000):
        middle = (low + high) // 2
        if good(middle):
            high = middle
        else:
            low = middle
    return high
