"""How many users had an event of each group, of ids without a list."""

from __future__ import annotations

from dataclasses import dataclass, replace

from panbayes.stream.grouped_estimate import GroupedEstimate
from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.ids.universes.grouped import GroupedUniverse
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.laws.law import Law
from panbayes.stream.statistics.methods.distinct import Distinct
from panbayes.stream.statistics.methods.statistic import Released

__all__ = ["ByGroup"]


@dataclass(frozen=True, slots=True)
class ByGroup:
    """The number of users of each group, from cells of its own (:mod:`panbayes.stream.ids.universes.grouped`)."""

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
        return "number of users of a group"

    @property
    def repeatable(self) -> bool:
        """An entry that was drawn twice is distributed like one that was drawn once."""
        return True

    @property
    def deletes(self) -> bool:
        """Users share cells: who is taken out would take the others along."""
        return False

    def answer(
        self, calibration: Calibration[Law], users: Universe, release: Released, *, confidence: float
    ) -> GroupedEstimate:
        """Turn the noisy counts of each group into its number of users with an interval."""
        grouped = _grouped(users)
        tiers, names = grouped.each.tiers, grouped.groups.names
        if len(release.counts) != tiers * len(names):
            raise ValueError("a release has one count for each tier of each group")
        found = {
            name: Distinct().answer(
                calibration,
                grouped.of_group(k),
                replace(release, counts=release.counts[k * tiers : (k + 1) * tiers]),
                confidence=confidence,
            )
            for k, name in enumerate(names)
        }
        return GroupedEstimate(grouped.groups.field, found)

    def error(self, calibration: Calibration[Law], users: Universe) -> float:
        """The largest relative error where the cells of a group fill."""
        return Distinct().error(calibration, _grouped(users).of_group(0))

    def fits(self, law: Law) -> bool:
        """Whether entries of this law can be estimated from."""
        return Distinct().fits(law)

    def remarks(self, calibration: Calibration[Law]) -> list[tuple[str, str]]:
        """Say what an id is, and what it loses in several groups."""
        loses = (
            f"E = {calibration.epsilon} over all groups together, in however many one is: of all groups a hash of "
            "the id chooses one, in which alone the user counts"
        )
        return [*Distinct().remarks(calibration), ("a user loses", loses)]


def _grouped(users: Universe) -> GroupedUniverse:
    if not isinstance(users, GroupedUniverse):
        raise TypeError("users of groups are in groups")
    return users
