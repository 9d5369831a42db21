"""How many users came, of ids without a list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.accuracy.tier_design import TierDesign, estimate_users, relative_error
from panbayes.stream.accuracy.tier_law import user_interval
from panbayes.stream.distinct_estimate import DistinctEstimate
from panbayes.stream.guarantee.calibration import Calibration, calibrate_for
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.statistics.methods.statistic import Budget, Released

__all__ = ["Distinct", "distinct_answer", "tier_design"]

_THIN: Final = 256


@dataclass(frozen=True, slots=True)
class Distinct:
    """The number of users, from the cells of a hashed universe."""

    @property
    def name(self) -> str:
        """What users and state files call it."""
        return "distinct"

    @property
    def most(self) -> int | None:
        """None: who came once and who came often are one."""
        return None

    @property
    def figure(self) -> str:
        """What its error is the error of."""
        return "number of users"

    @property
    def repeatable(self) -> bool:
        """An entry that was drawn twice is distributed like one that was drawn once."""
        return True

    @property
    def deletes(self) -> bool:
        """Users share cells: who is taken out would take the others along."""
        return False

    def calibrate(self, users: HashedUniverse, budget: Budget) -> Calibration[StateLaw]:
        """Choose the law and the least noise that keep the budget, for the least error where tiers fill.

        That is in the middle of the range; for one tier, where it has as many cells as there are users.
        """
        typical = users.panels * users.of << users.tiers // 2

        def error(law: StateLaw, noise_scale: float) -> float:
            chances = law.init[1] / COIN, law.update[1] / COIN
            design = TierDesign(*chances, users.cells, users.spread, noise_scale, budget.terms or budget.parts)
            return relative_error(design, typical) * relative_error(design, 1.5 * typical)

        return calibrate_for(
            error,
            epsilon=budget.epsilon,
            releases=budget.releases,
            state_epsilon=budget.state_epsilon,
            flipped=budget.flipped,
            eta=budget.eta,
            parts=budget.parts,
            terms=budget.terms,
        )

    def answer(
        self, calibration: Calibration[Law], users: Universe, release: Released, *, confidence: float
    ) -> DistinctEstimate:
        """Turn noisy counts of ones into a number of users with its interval."""
        design = tier_design(calibration, users)
        return distinct_answer(design, release, epsilon=calibration.epsilon, confidence=confidence)

    def error(self, calibration: Calibration[Law], users: Universe) -> float:
        """The largest relative error between the numbers of users that fill half of the first and of the last tier."""
        design = tier_design(calibration, users)
        first, last = min(design.spread) // 2, max(design.spread) // 2
        return max(relative_error(design, first * 2 ** (k / 2)) for k in range(2 * (last // first).bit_length() - 1))

    def fits(self, law: Law) -> bool:
        """Whether entries of this law can be estimated from: bits that are redrawn."""
        return isinstance(law, StateLaw) and law.levels == 2

    def remarks(self, _calibration: Calibration[Law]) -> list[tuple[str, str]]:
        """Say what an id is."""
        return [("one id", "is one user; who uses several is protected for each, and counted as many")]


def distinct_answer(design: TierDesign, release: Released, *, epsilon: Fraction, confidence: float) -> DistinctEstimate:
    """Turn noisy counts of ones of this law into a number of users with its interval."""
    times = 1
    if len(release.counts) != len(design.spread):
        raise ValueError("a release has one count for each tier")
    if release.half_life is not None:
        # As if far more users were spread as much thinner: then cells are independent, as forgetting makes them.
        design, times = replace(design, spread=tuple(_THIN * v for v in design.spread)), _THIN
    found = round(estimate_users(design, release.counts) / times)
    low, high = user_interval(design, release.counts, confidence=confidence)
    low, high = low // times, None if high is None else -(-high // times)
    return DistinctEstimate(
        users=found,
        low=min(low, found),
        high=None if high is None else max(high, found),
        confidence=confidence,
        interval="exact" if len(design.spread) == 1 and times == 1 else "tested",
        relative_error=relative_error(design, times * max(1, found)),
        counts=release.counts,
        fresh=release.fresh,
        releases_left=release.left,
        epsilon=epsilon,
        private=release.private,
        scope=release.scope,
    )


def tier_design(calibration: Calibration[Law], users: Universe) -> TierDesign:
    """The law of the counts that a hashed universe releases; refused for another."""
    law = calibration.law
    if not isinstance(users, HashedUniverse) or not isinstance(law, StateLaw) or law.levels != 2:
        raise InputError(
            "universe",
            found=f"it is {users.describe()}",
            remedy="count distinct users where ids are hashed; of known users estimate the density",
        )
    scale = float(calibration.noise_scale)
    chances = law.init[1] / COIN, law.update[1] / COIN
    return TierDesign(*chances, users.cells, users.spread, scale, calibration.terms or calibration.parts)
