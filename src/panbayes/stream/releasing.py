"""From what a state wrote down about its last release to the release as it is published."""

from __future__ import annotations

from panbayes.errors import InputError
from panbayes.stream.ids.universes.grouped import GroupedUniverse
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import SizedUniverse
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.release import Section, StreamRelease
from panbayes.stream.saved_setup import digest_of
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.by_group import ByGroup
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.distinct import Distinct

__all__ = ["release_of", "require_releasable"]


def require_releasable(setup: StreamSetup) -> StateLaw:
    """Return the law of the entries; refuse a statistic whose releases have no form yet."""
    law = setup.calibration.law
    if not isinstance(setup.statistic, Density | Distinct | ByGroup) or not isinstance(law, StateLaw):
        raise InputError(
            "release",
            found=f"it is for {setup.statistic.name}",
            remedy="releases of densities and distinct users can be written; publish the estimate instead",
        )
    return law


def release_of(setup: StreamSetup, count: ReleaseCount, *, fresh: bool, private: bool) -> StreamRelease:
    """Return the last release of a state; refused where it is not known of which period it is."""
    law, calibration, users = require_releasable(setup), setup.calibration, setup.universe
    if count.last is None:
        raise InputError("releases", found="nothing was released yet", remedy="release an estimate first")
    if not fresh and count.turn and (not setup.renews or count.left == calibration.releases):
        raise InputError(
            "release",
            found="a period may have ended since the last one was made",
            remedy="write releases when they are made: panbayes stream estimate --release, or turn --release",
        )
    return StreamRelease(
        stream=digest_of(setup),
        about=users.describe(),
        where=tuple(str(condition) for condition in setup.where),
        statistic="density" if isinstance(setup.statistic, Density) else "distinct",
        users=users.sampling.size if isinstance(users, SizedUniverse) else None,
        by=users.groups.field if isinstance(users, GroupedUniverse) else None,
        sections=_sections(setup),
        scores=law.scores,
        init=law.init,
        update=law.update,
        noise_scale=calibration.noise_scale,
        forget=setup.forget,
        part=None if setup.part is None else setup.part.number,
        parts=calibration.parts,
        turn=count.turn,
        period=None if setup.forget else count.period,
        number=calibration.releases - count.left,
        releases=calibration.releases,
        counts=count.last,
        epsilon=calibration.epsilon,
        scope=setup.scope,
        private=private,
        fresh=fresh,
    )


def _sections(setup: StreamSetup) -> tuple[Section, ...]:
    users = setup.universe
    if isinstance(users, HashedUniverse):
        return tuple(Section(users.cells, spread) for spread in users.spread)
    if isinstance(users, GroupedUniverse):
        each = users.each
        return tuple(Section(each.cells, spread, name) for name in users.groups.names for spread in each.spread)
    return (Section(users.entries),)
