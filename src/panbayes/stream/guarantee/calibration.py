"""How much noise: from a total budget to a state law and an output noise scale.

The total E covers one look at the state together with all planned outputs. A part of it goes to the state (its law),
the rest to the outputs (their noise). Noise in the state costs O(1/m) in the variance
of the estimate, noise on the output O(1/m²), so the best part for the state grows with the sample size m; it is found
by minimising the worst-case mean squared error. The noise scale is then the smallest multiple of 2⁻²⁰ (or of 2⁻²⁰ of
its own size) for which :func:`panbayes.stream.guarantee.loss.surely_meets` proves the total.
Flipped copies of the state (:mod:`panbayes.stream.flipped_copy`) count with the outputs: ρ = R/σ + K·η.
(Counters have a closed form: :mod:`panbayes.stream.statistics.methods.visits`.)

The thesis's own calibration, ε for the state and Laplace(0, 1/(εm)) on the output, does not keep its claim (errata 1).
It is kept in :mod:`reproduction.published`, for reproducing the thesis's figures.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; see errata 1, 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Generic, TypeVar

from panbayes.dp.sampler import MAX_SCALE, MIN_SCALE
from panbayes.errors import InputError
from panbayes.privacy.written import MAX_EPSILON
from panbayes.stream.accuracy.density_error import Design, worst_rmse
from panbayes.stream.guarantee.loss import binary_rate, joint_loss, surely_meets
from panbayes.stream.guarantee.proof import loss_of, surely_keeps
from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.registry import DEFAULT_LAW, law_kind
from panbayes.stream.laws.state_law import COIN, MIN_STATE_EPSILON, StateLaw

__all__ = [
    "MAX_RELEASES",
    "MIN_TOTAL",
    "Calibration",
    "bounds_of_part",
    "calibrate",
    "calibrate_for",
    "check_planned",
    "design_of",
    "drawable_scale",
    "largest_rate",
]

MAX_RELEASES: Final = 10_000

MIN_TOTAL: Final = 10 * MIN_STATE_EPSILON
"""The least E: it leaves room for a state and for outputs."""

_HOPELESS: Final = 1e6
"""In place of the logarithm of an error that no noise can have: it leads a search back."""

AnyLaw = TypeVar("AnyLaw", bound=Law, covariant=True)


@dataclass(frozen=True, slots=True)
class Calibration(Generic[AnyLaw]):
    """A law of entries and an output noise that together lose at most ``epsilon``.

    ``epsilon`` is E, the total for one look and all ``releases``; ``state_epsilon`` bounds the look alone;
    ``noise_scale`` is σ of the two-sided geometric noise on every count of each release. ``flipped`` copies of the
    state may be handed over (K), each with every bit flipped so often that it adds ``eta`` (η) to ρ. An estimate adds
    up the counts of so many ``parts`` of the state (:mod:`panbayes.stream.ids.part`), each with noise of its own; where
    these are stretches, ``terms`` says how many noises the count of each tier has. Both decide the error, never the
    guarantee.
    """

    epsilon: Fraction
    state_epsilon: Fraction
    law: AnyLaw
    noise_scale: Fraction
    releases: int
    flipped: int = 0
    eta: Fraction = Fraction(0)
    parts: int = 1
    terms: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Prove the guarantee again, whoever made the numbers: a calibration that does not meet it cannot exist."""
        if not 1 <= self.releases <= MAX_RELEASES or not MIN_SCALE <= self.noise_scale <= MAX_SCALE:
            raise ValueError("a calibration needs a noise scale that can be drawn and 1 to 10000 releases")
        if (
            self.parts < 1
            or not 0 <= self.flipped <= MAX_RELEASES
            or (self.eta > 0) is not (self.flipped > 0)
            or self.eta < 0
        ):
            raise ValueError("flipped copies have a positive eta, and nothing else has")
        if self.flipped and not (isinstance(self.law, StateLaw) and self.law.levels == 2):
            raise ValueError("only bits can be flipped")
        if not 0 < self.state_epsilon <= self.epsilon <= MAX_EPSILON:
            raise ValueError("the state's part is at most the total, and that at most 1000")
        if not self.law.surely_within(self.state_epsilon):
            raise ValueError("the state law loses more than the state's part")
        if not surely_keeps(self.law, self.rate, self.epsilon):
            raise ValueError("the state law and the output noise together lose more than the total")

    @property
    def rate(self) -> Fraction:
        """ρ of the theorem: what all releases and all flipped copies add up to."""
        return self.releases / self.noise_scale + self.flipped * self.eta

    def loss(self) -> float:
        """The joint loss actually spent, at most ``epsilon``."""
        return loss_of(self.law, float(self.rate))


def design_of(law: StateLaw, noise_scale: float, *, sample: int, universe: int | None, parts: int = 1) -> Design:
    """The law of the released statistic, added up over ``parts``, for predicting its error."""
    init, update = (tuple(w / COIN for w in weights) for weights in (law.init, law.update))
    return Design(init, update, law.scores, sample, universe, noise_scale, parts)


def largest_rate(law: StateLaw, total: float) -> float:
    """Return the largest ρ with joint loss ≤ ``total``, to machine precision (0 if the state alone exceeds it)."""
    if law.loss() >= total:
        return 0.0
    if law.levels == 2 and law.init[1] <= COIN // 2 <= law.update[1]:
        return binary_rate(p_init=law.init[1] / COIN, p_update=law.update[1] / COIN, total=total)
    high = total / law.scores[-1]
    while joint_loss(law, high) < total:
        high *= 2
    # Loaded here: a state that is only fed needs none of its 20 MB.
    from scipy import optimize

    return float(optimize.brentq(lambda rate: joint_loss(law, rate) - total, 0.0, high, xtol=1e-14))


def _scale_for(law: StateLaw, total: Fraction, releases: int, beside: Fraction) -> Fraction:
    """Return the least dyadic noise scale that provably meets the total, where ``beside`` adds to ρ."""
    left = largest_rate(law, float(total)) - float(beside)
    if left <= 0:
        raise _nothing_left(beside)
    wanted = releases / left
    grain = Fraction(2) ** (max(0, math.frexp(wanted)[1]) - 20)
    steps = math.floor(Fraction(wanted) / grain)
    while not surely_meets(law, releases / (steps * grain) + beside, total):
        steps += 1
    return steps * grain


def calibrate(
    *,
    epsilon: Fraction,
    sample: int,
    universe: int | None,
    releases: int = 1,
    law: str = DEFAULT_LAW,
    levels: int = 2,
    state_epsilon: Fraction | None = None,
    flipped: int = 0,
    eta: Fraction = Fraction(0),
    parts: int = 1,
) -> Calibration[StateLaw]:
    """Calibrate for a total of ``epsilon`` (E): find a state law and the least output noise that provably keep it.

    ``releases`` outputs are planned. ``law`` names the state law, on ``levels`` levels. ``state_epsilon`` is its
    part of E, by default chosen for the least error. So many ``flipped`` copies add ``eta`` each to ρ. ``sample`` and
    ``universe`` are m and U, and an estimate adds up ``parts``: they decide the best part, never the guarantee.

    >>> c = calibrate(epsilon=Fraction(1), sample=10_000, universe=None)
    >>> round(float(c.state_epsilon), 3), c.loss() <= 1
    (0.925, True)
    """

    def error(chosen: StateLaw, noise_scale: float) -> float:
        return worst_rmse(design_of(chosen, noise_scale, sample=sample, universe=universe, parts=parts))

    return calibrate_for(
        error,
        epsilon=epsilon,
        releases=releases,
        law=law,
        levels=levels,
        state_epsilon=state_epsilon,
        flipped=flipped,
        eta=eta,
        parts=parts,
    )


def calibrate_for(
    error: Callable[[StateLaw, float], float],
    *,
    epsilon: Fraction,
    releases: int = 1,
    law: str = DEFAULT_LAW,
    levels: int = 2,
    state_epsilon: Fraction | None = None,
    flipped: int = 0,
    eta: Fraction = Fraction(0),
    parts: int = 1,
    terms: tuple[int, ...] = (),
) -> Calibration[StateLaw]:
    """Calibrate as :func:`calibrate` does, for the least ``error`` of a state law and a noise scale."""
    check_planned(epsilon, releases)
    kind = law_kind(law)
    if state_epsilon is None:
        state_epsilon = _best_state_epsilon(error, kind, levels, epsilon, releases, flipped * eta)
    elif not 0 < state_epsilon < epsilon:
        raise InputError(
            "state epsilon",
            found=f"found {float(state_epsilon):.6g}",
            remedy=f"the state's part must lie between 0 and the total {float(epsilon):.6g}",
        )
    chosen = kind.law(state_epsilon, levels=levels)
    scale = drawable_scale(_scale_for(chosen, epsilon, releases, flipped * eta), epsilon, releases)
    return Calibration(epsilon, state_epsilon, chosen, scale, releases, flipped, eta, parts, terms)


def check_planned(epsilon: Fraction, releases: int) -> None:
    """Refuse a total that no law can be drawn for, and a number of releases that nobody can plan."""
    if epsilon < MIN_TOTAL:
        raise InputError(
            "epsilon", found=f"found {float(epsilon):g}", remedy=f"the least a stream can keep is {float(MIN_TOTAL):g}"
        )
    if not 1 <= releases <= MAX_RELEASES:
        raise InputError("releases", found=f"found {releases}", remedy=f"plan 1 to {MAX_RELEASES} releases")


def drawable_scale(scale: Fraction, epsilon: Fraction, releases: int) -> Fraction:
    """Return the noise scale, or the least that can be drawn; refuse one that is too large to be."""
    if scale > MAX_SCALE:
        raise InputError(
            "epsilon",
            found=f"{float(epsilon):.3g} for {releases} releases needs noise of scale {float(scale):.3g}",
            remedy=f"at most {MAX_SCALE} can be drawn: give a larger ε, or plan fewer releases",
        )
    return max(MIN_SCALE, scale)


def _best_state_epsilon(
    error: Callable[[StateLaw, float], float],
    kind: LawKind,
    levels: int,
    epsilon: Fraction,
    releases: int,
    beside: Fraction,
) -> Fraction:
    """Minimise the error over the state's part of the total, to a millionth of it."""
    total = float(epsilon)
    bounds = bounds_of_part(epsilon, kind.largest_epsilon)

    def log_error(fraction: float) -> float:
        law = kind.law(_part_of(epsilon, fraction), levels=levels)
        rate = largest_rate(law, total) - float(beside)
        if rate <= 0:
            return float(_HOPELESS - rate)
        return math.log(error(law, releases / rate))

    # Loaded here: a state that is only fed needs none of its 20 MB.
    from scipy import optimize

    found = optimize.minimize_scalar(log_error, bounds=bounds, method="bounded")
    return _part_of(epsilon, float(found.x))


def bounds_of_part(epsilon: Fraction, most: Fraction) -> tuple[float, float]:
    """Between which parts of a total to search for the state's, which is at most ``most`` and not too small to draw."""
    ceiling = min(1.0, float(most / epsilon))
    # A part is rounded down to a millionth of the total, so twice the least is surely enough.
    return max(ceiling * 1e-3, 2 * float(MIN_STATE_EPSILON / epsilon)), ceiling * (1 - 1e-6)


def _nothing_left(beside: Fraction) -> InputError:
    return InputError(
        "eta",
        found=f"the flipped copies alone take {float(beside):.4g} of the budget",
        remedy="plan fewer copies, a smaller eta or a larger epsilon",
    )


def _part_of(epsilon: Fraction, fraction: float) -> Fraction:
    return epsilon * max(1, math.floor(fraction * 10**6)) / 10**6
