"""What is fixed before a stream starts: universe, sample, statistic, laws, noise, number of releases. All is public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.privacy.written import Written, parse_epsilon
from panbayes.stream.flipped_copy import NO_COPIES, FlippedCopies
from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.part import Part, noises
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.graph import GraphUniverse
from panbayes.stream.ids.universes.grouped import GroupedUniverse
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.integers import IntegerUniverse
from panbayes.stream.ids.universes.ipv4 import Ipv4Universe
from panbayes.stream.ids.universes.kind import SizedUniverse, Universe, UniverseSpec, sampling_of
from panbayes.stream.ids.universes.listed import ListedUniverse
from panbayes.stream.ids.universes.registry import read_universe
from panbayes.stream.ids.where import MOST_CONDITIONS, Where, describe, parse_where
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.registry import DEFAULT_LAW
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.laws.thinned_law import ThinnedLaw
from panbayes.stream.schedule import Schedule, read_schedule
from panbayes.stream.statistics.methods.by_group import ByGroup
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.distinct import Distinct
from panbayes.stream.statistics.methods.statistic import Answer, Budget, SampledStatistic, Statistic
from panbayes.stream.turns import WHOLE, Window, half_life_of

__all__ = [
    "MAX_COUNTS",
    "StreamSetup",
    "configure",
    "configure_groups",
    "configure_hashed",
    "require_same_elsewhere",
    "with_rules",
]

MAX_COUNTS: Final = 256
"""The most counts of one release: a state file keeps the last one on a page."""


@dataclass(frozen=True, slots=True, repr=False)
class StreamSetup:
    """A universe with its sample, a calibration and what it is for; nothing in it depends on the stream.

    At every turn each entry is drawn again from the initial law with the chance ``forget`` out of 2³²: 0 where there
    are no turns, 2³² where every period starts anew (:mod:`panbayes.stream.turns`). Only events that meet all
    conditions of ``where`` count. A ``schedule`` says when releases are due or, where there are turns, these. Of the
    entries a state may have one ``part`` only; everything else is about the whole.
    """

    universe: Universe
    calibration: Calibration[Law]
    statistic: Statistic[Answer] = field(default_factory=Density)
    forget: int = 0
    where: Where = ()
    schedule: Schedule | None = None
    part: Part | None = None

    def __post_init__(self) -> None:
        """Refuse a law that the statistic cannot use, and panels that are not the sample."""
        law = self.calibration.law
        if not self.statistic.fits(law):
            raise ValueError("every statistic has a law of its own")
        if isinstance(law, ThinnedLaw) and law.sample != self.universe.entries:
            raise ValueError("every sampled user is in one panel")
        if isinstance(self.universe, HashedUniverse) is not isinstance(self.statistic, Distinct):
            raise ValueError("ids are hashed where distinct users are counted, and nowhere else")
        if not 0 <= self.forget <= COIN or (0 < self.forget < COIN and not isinstance(law, StateLaw)):
            raise ValueError("entries that are redrawn are forgotten with a probability")
        if 0 < self.forget < COIN and not (
            isinstance(law, StateLaw) and law.levels == 2 and self.universe.sections == 1
        ):
            raise ValueError("only bits that are counted together are forgotten bit by bit")
        if isinstance(self.universe, HashedUniverse) and self.universe.rotates and not self.renews:
            raise ValueError("where panels rotate, every period starts anew")
        if isinstance(self.universe, GroupedUniverse) is not isinstance(self.statistic, ByGroup):
            raise ValueError("users of groups are counted by group")
        if isinstance(self.universe, GroupedUniverse) and (self.calibration.flipped or 0 < self.forget < COIN):
            raise ValueError("groups are not forgotten bit by bit, and not handed over")
        if len(self.where) > MOST_CONDITIONS:
            raise ValueError("no more conditions than a file has room for")
        if self.calibration.parts != (1 if self.part is None else self.part.of):
            raise ValueError("a calibration is for the parts that there are")
        if self.calibration.terms != tier_noises(self.universe, self.part):
            raise ValueError("a calibration is for the noises that stretches of parts have")
        if self.part is not None:
            self._check_part(self.part)

    def _check_part(self, part: Part) -> None:
        users = self.universe
        cells = users.each if isinstance(users, GroupedUniverse) else users
        if not isinstance(self.statistic, Density | Distinct | ByGroup) or self.calibration.flipped:
            raise ValueError("densities and distinct users are counted in parts, without flipped copies")
        if isinstance(cells, HashedUniverse) and cells.key != part.key:
            raise ValueError("parts have the key of the hash")
        if part.stretches is not (users.sections > 1):
            raise ValueError("a part is a stretch where there are several sections, and nowhere else")
        if users.entries // (64 if part.stretches else 1) < part.of:
            raise ValueError("every part has an entry")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a record that say whether it counts."""
        by = (self.universe.groups.field,) if isinstance(self.universe, GroupedUniverse) else ()
        return tuple(dict.fromkeys((*(condition.field for condition in self.where), *by)))

    @property
    def renews(self) -> bool:
        """Whether every period starts anew."""
        return self.forget == COIN

    @property
    def scope(self) -> str:
        """What the total E is for."""
        copies = " and flipped copies" if self.calibration.flipped else ""
        parts = "" if self.part is None else " at each part"
        if not self.renews:
            looks = "the state" if self.part is None else "each part"
            return f"one look at {looks} and all releases{copies}"
        if isinstance(self.universe, HashedUniverse) and self.universe.rotates:
            cycle = f"a user and a cycle of {self.universe.panels} periods"
            return f"{cycle}, one look{parts} in each and its releases{copies}; every further cycle adds as much"
        return f"a user and a period, one look{parts} in it and its releases{copies}; every further period adds as much"

    @property
    def panels(self) -> int:
        """How many panels the users fall into, of whom one counts."""
        if isinstance(self.universe, GroupedUniverse):
            return self.universe.each.panels
        return self.universe.panels if isinstance(self.universe, HashedUniverse) else 1

    @property
    def cells_for_all(self) -> int | None:
        """Over how many cells all users would be spread as densely as in the state; None where users are known."""
        return max(self.universe.spread) if isinstance(self.universe, HashedUniverse) else None

    @property
    def lists_users(self) -> bool:
        """Whether it is known who could appear."""
        return isinstance(self.universe, SizedUniverse)

    @property
    def half_life(self) -> float | None:
        """After how many turns half is forgotten, if entries are forgotten one by one."""
        return half_life_of(self.forget)

    def users_at(self, turn: int) -> Universe:
        """The users who count in the period after so many turns."""
        return self.universe.at(turn) if isinstance(self.universe, HashedUniverse) else self.universe

    @property
    def sampling(self) -> Sampling:
        """How many users there are and how many have an entry; refused where ids are hashed."""
        return sampling_of(self.universe)

    @property
    def entries(self) -> int:
        """How many entries the state has: those of its part of the whole."""
        whole = self.universe.entries
        return whole if self.part is None else self.part.entries(whole)

    def own_slots(self, blocks: Iterator[NDArray[np.int64]], arena: Arena) -> Iterator[NDArray[np.int64]]:
        """Yield the slots of the state, from blocks of slots of the whole."""
        return blocks if self.part is None else self.part.slots(blocks, self.universe.entries, arena)

    @property
    def state_bytes(self) -> int:
        """The size of the entries."""
        return self.calibration.law.state_bytes(self.entries)

    def error(self) -> float:
        """The error to expect, at worst."""
        if isinstance(self.statistic, Density) and self.half_life is not None:
            return self.statistic.rmse(self.calibration, sample=self.universe.entries, universe=None)
        return self.statistic.error(self.calibration, self.universe)

    def flipped_cost(self) -> float:
        """How many times as large the variance is because flipped copies were planned."""
        chosen, users = self.calibration, self.universe
        budget = Budget(chosen.epsilon, users.entries, None, chosen.releases)
        if isinstance(self.statistic, Distinct) and isinstance(users, HashedUniverse):
            plain: Calibration[Law] = self.statistic.calibrate(users, budget)
        elif isinstance(self.statistic, Density):
            plain = self.statistic.calibrate(replace(budget, universe=self.sampling.size))
        else:
            return 1.0
        return (self.error() / replace(self, calibration=plain).error()) ** 2

    def __repr__(self) -> str:
        """Name universe, guarantee and law on one line."""
        chosen, law = self.calibration, self.calibration.law
        users = self.universe
        sampled = isinstance(users, SizedUniverse) and users.sampling.key
        sample = f", a sample of {users.entries:,}" if sampled else ""
        releases = "1 release" if chosen.releases == 1 else f"{chosen.releases:,} releases"
        levels = "" if law.levels == 2 else f" on {law.levels} levels"
        most = "" if self.statistic.most is None else f" up to {self.statistic.most}"
        purpose = "" if isinstance(self.statistic, Density) else f"{self.statistic.name}{most}; "
        purpose += f"where {describe(self.where)}; " if self.where else ""
        purpose += "" if self.part is None else f"{self.part}; "
        return (
            f"StreamSetup({self.universe.describe()}{sample}; E = {chosen.epsilon} for one look and {releases}; "
            f"{purpose}{law.name}{levels})"
        )


def configure(
    universe: UniverseSpec,
    *,
    epsilon: Written,
    releases: int = 1,
    sample: int | None = None,
    law: str = DEFAULT_LAW,
    levels: int = 2,
    statistic: SampledStatistic[Answer] | None = None,
    state_epsilon: Written | None = None,
    window: Window = WHOLE,
    flipped: FlippedCopies = NO_COPIES,
    part: Part | None = None,
) -> StreamSetup:
    """Fix everything that is public before a stream starts.

    ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, ``"graph:VERTICES"``, a file with one id a line, or the
    ids; ``epsilon`` is the total E for one look at the state and all ``releases``; ``sample`` is m (all users by
    default). What will be estimated is ``statistic``, or the density, and then ``law`` names the law of the entries,
    with ``levels`` for the quantized ones; ``state_epsilon`` overrides the best split. ``window`` says who counts
    when, and ``flipped`` which copies may be handed over; the state is one ``part`` of a whole, if that is given.

    >>> configure(1000, epsilon=1, releases=7)
    StreamSetup(the integers 0 to 999; E = 1 for one look and 7 releases; optimal-bernoulli)
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    share = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    users = read_universe(universe, sample=sample)
    if part is not None:
        users = _in_parts(users, part)
    sampling = sampling_of(users)
    wanted = Density(law, levels) if statistic is None else statistic
    if window.panels > 1:
        raise InputError("panels", found="users are known", remedy="give --universe hashed, or use DistinctCounter")
    budget = Budget(total, sampling.sample, sampling.size, releases, share, flipped.count, flipped.eta, _count(part))
    _check_parts(part, wanted, flipped)
    bits = isinstance(wanted, Density) and wanted.levels == 2
    if not bits and (flipped.count or window.half_life is not None):
        asked = "flipped" if flipped.count else "half-life"
        raise InputError(asked, found=f"found it with {wanted.name}", remedy="it is for densities of two levels")
    calibration = wanted.calibrate(budget)
    return StreamSetup(users, calibration, wanted, window.forget, part=part)


def configure_hashed(
    users: HashedUniverse,
    *,
    epsilon: Written,
    releases: int = 1,
    state_epsilon: Written | None = None,
    window: Window = WHOLE,
    flipped: FlippedCopies = NO_COPIES,
    part: Part | None = None,
) -> StreamSetup:
    """Fix everything that is public before a stream of hashed ids starts.

    ``epsilon`` is the total E for one look at the state and all ``releases``; ``state_epsilon`` overrides the best
    split. ``window`` says who counts when, and ``flipped`` which copies may be handed over; the state is one ``part``
    of a whole, if that is given.

    >>> configure_hashed(HashedUniverse.of_memory(16 * 1024), epsilon=1)
    StreamSetup(any ids, hashed into 21 tiers of 6,208 cells; E = 1 for one look and 1 release; ...)
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    share = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    wanted = Distinct()
    if window.half_life is not None and users.tiers > 1:
        raise InputError("half-life", found="tiers forget at different rates", remedy="give --expect, for one tier")
    users = replace(users, panels=window.panels, panel=window.panel)
    _check_parts(part, wanted, flipped)
    part = _laid_out(part, users)
    terms = tier_noises(users, part)
    budget = Budget(total, users.entries, None, releases, share, flipped.count, flipped.eta, _count(part), terms)
    return StreamSetup(users, wanted.calibrate(users, budget), wanted, window.forget, part=part)


def configure_groups(
    users: GroupedUniverse,
    *,
    epsilon: Written,
    releases: int = 1,
    state_epsilon: Written | None = None,
    window: Window = WHOLE,
    part: Part | None = None,
) -> StreamSetup:
    """Fix everything that is public before a stream of hashed ids starts that are counted by group.

    ``epsilon`` is the total E for one look at the state and all ``releases``, over all groups together; the state is
    one ``part`` of a whole, if that is given.
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    share = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    for argument, found in (("panels", window.panels > 1), ("half-life", window.half_life is not None)):
        if found:
            raise InputError(argument, found="found with groups", remedy="leave it out; periods can have groups")
    if users.sections > MAX_COUNTS:
        raise InputError(
            "groups",
            found=f"{users.each.panels} groups of {users.each.tiers} tiers are more counts than a release has",
            remedy=f"give --expect, for one tier a group, or at most {MAX_COUNTS // users.each.tiers} groups",
        )
    part = _laid_out(part, users)
    budget = Budget(total, users.entries, None, releases, share, parts=_count(part), terms=tier_noises(users, part))
    return StreamSetup(users, Distinct().calibrate(users.each, budget), ByGroup(), window.forget, part=part)


def _count(part: Part | None) -> int:
    return 1 if part is None else part.of


def _laid_out(part: Part | None, users: Universe) -> Part | None:
    """Return a part as parts of such users are: stretches where there are several sections."""
    return None if part is None else replace(part, stretches=users.sections > 1)


def tier_noises(users: Universe, part: Part | None) -> tuple[int, ...]:
    """How many noises the count of every tier has where parts are stretches; of groups, the most that any has."""
    cells = users.each if isinstance(users, GroupedUniverse) else users
    if part is None or not part.stretches or not isinstance(cells, HashedUniverse):
        return ()
    found = noises(users.sections, cells.cells, part.of)
    return tuple(max(found[tier :: cells.tiers]) for tier in range(cells.tiers))


def _check_parts(part: Part | None, wanted: Statistic[Answer], flipped: FlippedCopies) -> None:
    """Refuse what is not counted in parts."""
    if part is None:
        return
    if not isinstance(wanted, Density | Distinct):
        raise InputError(
            "part", found=f"found it with {wanted.name}", remedy="densities and distinct users are counted in parts"
        )
    if flipped.count:
        raise InputError("flipped", found="found it with parts", remedy="leave it out: copies are of whole states")


def _in_parts(users: Universe, part: Part) -> Universe:
    """Return known users as all parts of one whole see them: a sample is drawn by the key of the whole."""
    sampling = sampling_of(users)
    if sampling.sample < part.of:
        raise InputError(
            "part", found=f"{sampling.sample} entries are fewer than {part.of} parts", remedy="give fewer parts"
        )
    if not sampling.key:
        return users
    chosen = replace(sampling, key=sampling.derived_key(part.key))
    if isinstance(users, IntegerUniverse | Ipv4Universe | GraphUniverse):
        return replace(users, sampling=chosen)
    raise InputError("sample", found="found it with parts of a list", remedy="leave it out: give every id an entry")


def require_same_elsewhere(setup: StreamSetup) -> StreamSetup:
    """Return a setup; refuse one of a part that does not come out the same wherever it is made."""
    users = setup.universe
    if setup.part is not None and isinstance(
        users.vertices if isinstance(users, GraphUniverse) else users, ListedUniverse
    ):
        raise InputError(
            "part",
            found="the table of a list has a key of its own, which parts made one by one would not share",
            remedy="make all parts at once, with: panbayes stream open --parts",
        )
    return setup


def with_rules(setup: StreamSetup, *, where: str | Sequence[str] = (), at: str | None = None) -> StreamSetup:
    """Return a setup that counts only events ``where`` something is so, and releases ``at`` the clock.

    >>> with_rules(configure(1000, epsilon=1), where="kind=buy", at="daily")
    StreamSetup(the integers 0 to 999; E = 1 for one look and 1 release; where kind=buy; optimal-bernoulli)
    """
    conditions = parse_where([where] if isinstance(where, str) else where, argument="where")
    return replace(setup, where=conditions, schedule=None if at is None else read_schedule(at, argument="at"))
