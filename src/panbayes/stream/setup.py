"""What is fixed before a stream starts: universe, sample, statistic, laws, noise, number of releases. All is public."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import msgspec

from panbayes.errors import InputError
from panbayes.privacy.written import MAX_DIGITS, Written, parse_epsilon, parse_ratio
from panbayes.stream.flipped_copy import NO_COPIES, FlippedCopies
from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.ids.sampling import MAX_UNIVERSE, Sampling
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Saved, SizedUniverse, Universe, UniverseSpec, sampling_of
from panbayes.stream.ids.universes.registry import load_universe, read_universe
from panbayes.stream.laws.counter_law import CounterLaw
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.registry import DEFAULT_LAW
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.laws.thinned_law import Panel, ThinnedLaw
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.distinct import Distinct
from panbayes.stream.statistics.methods.statistic import Answer, Budget, SampledStatistic, Statistic
from panbayes.stream.statistics.registry import read_statistic
from panbayes.stream.turns import WHOLE, Window, half_life_of

__all__ = ["StreamSetup", "configure", "configure_hashed", "entries_bytes", "load_setup", "save_setup"]


@dataclass(frozen=True, slots=True, repr=False)
class StreamSetup:
    """A universe with its sample, a calibration and what it is for; nothing in it depends on the stream.

    At every turn each entry is drawn again from the initial law with the chance ``forget`` out of 2³²: 0 where there
    are no turns, 2³² where every period starts anew (:mod:`panbayes.stream.turns`).
    """

    universe: Universe
    calibration: Calibration[Law]
    statistic: Statistic[Answer] = field(default_factory=Density)
    forget: int = 0

    def __post_init__(self) -> None:
        """Refuse a law that the statistic cannot use, and panels that are not the sample."""
        law = self.calibration.law
        if not self.statistic.fits(law):
            raise ValueError("every statistic has a law of its own")
        if isinstance(law, ThinnedLaw) and law.sample != self.universe.entries:
            raise ValueError("every sampled user is in one panel")
        if isinstance(self.universe, HashedUniverse) is not isinstance(self.statistic, Distinct):
            raise ValueError("ids are hashed where distinct users are counted, and nowhere else")
        if not 0 <= self.forget <= COIN or (self.forget and not isinstance(law, StateLaw)):
            raise ValueError("entries that are redrawn are forgotten with a probability")
        if 0 < self.forget < COIN and not (isinstance(law, StateLaw) and law.levels == 2 and self.universe.parts == 1):
            raise ValueError("only bits that are counted together are forgotten bit by bit")
        if isinstance(self.universe, HashedUniverse) and self.universe.rotates and not self.renews:
            raise ValueError("where panels rotate, every period starts anew")

    @property
    def renews(self) -> bool:
        """Whether every period starts anew."""
        return self.forget == COIN

    @property
    def scope(self) -> str:
        """What the total E is for."""
        copies = " and flipped copies" if self.calibration.flipped else ""
        if not self.renews:
            return f"one look at the state and all releases{copies}"
        if isinstance(self.universe, HashedUniverse) and self.universe.rotates:
            cycle = f"a user and a cycle of {self.universe.panels} periods"
            return f"{cycle}, one look in each and its releases{copies}; every further cycle adds as much"
        return f"a user and a period, one look in it and its releases{copies}; every further period adds as much"

    @property
    def panels(self) -> int:
        """How many panels the users fall into, of whom one counts."""
        return self.universe.panels if isinstance(self.universe, HashedUniverse) else 1

    @property
    def cells_for_all(self) -> int | None:
        """Over how many cells all users would be spread as densely as in the state; None where users are known."""
        return max(self.universe.spread) if isinstance(self.universe, HashedUniverse) else None

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
    def state_bytes(self) -> int:
        """The size of the entries."""
        return self.calibration.law.state_bytes(self.universe.entries)

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
) -> StreamSetup:
    """Fix everything that is public before a stream starts.

    ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, ``"graph:VERTICES"``, a file with one id a line, or the
    ids; ``epsilon`` is the total E for one look at the state and all ``releases``; ``sample`` is m (all users by
    default). What will be estimated is ``statistic``, or the density, and then ``law`` names the law of the entries,
    with ``levels`` for the quantized ones; ``state_epsilon`` overrides the best split. ``window`` says who counts
    when, and ``flipped`` which copies may be handed over.

    >>> configure(1000, epsilon=1, releases=7)
    StreamSetup(the integers 0 to 999; E = 1 for one look and 7 releases; optimal-bernoulli)
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    part = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    users = read_universe(universe, sample=sample)
    sampling = sampling_of(users)
    wanted = Density(law, levels) if statistic is None else statistic
    if window.panels > 1:
        raise InputError("panels", found="users are known", remedy="give --universe hashed, or use DistinctCounter")
    budget = Budget(total, sampling.sample, sampling.size, releases, part, flipped.count, flipped.eta)
    if not isinstance(wanted, Density) and window != WHOLE:
        raise InputError("window", found=f"found one with {wanted.name}", remedy="it is for users, not for visits")
    bits = isinstance(wanted, Density) and wanted.levels == 2
    if not bits and (flipped.count or window.half_life is not None):
        asked = "flipped" if flipped.count else "half-life"
        raise InputError(asked, found=f"found it with {wanted.name}", remedy="it is for densities of two levels")
    calibration = wanted.calibrate(budget)
    return StreamSetup(users, calibration, wanted, window.forget)


def configure_hashed(
    users: HashedUniverse,
    *,
    epsilon: Written,
    releases: int = 1,
    state_epsilon: Written | None = None,
    window: Window = WHOLE,
    flipped: FlippedCopies = NO_COPIES,
) -> StreamSetup:
    """Fix everything that is public before a stream of hashed ids starts.

    ``epsilon`` is the total E for one look at the state and all ``releases``; ``state_epsilon`` overrides the best
    split. ``window`` says who counts when, and ``flipped`` which copies may be handed over.

    >>> configure_hashed(HashedUniverse.of_memory(16 * 1024), epsilon=1)
    StreamSetup(any ids, hashed into 21 tiers of 6,208 cells; E = 1 for one look and 1 release; ...)
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    part = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    wanted = Distinct()
    if window.half_life is not None and users.tiers > 1:
        raise InputError("half-life", found="tiers forget at different rates", remedy="give --expect, for one tier")
    users = replace(users, panels=window.panels, panel=window.panel)
    budget = Budget(total, users.entries, None, releases, part, flipped.count, flipped.eta)
    return StreamSetup(users, wanted.calibrate(users, budget), wanted, window.forget)


class _LawForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A law; a counter has one law only, a thinned one has panels (size, keep, weight) and their key."""

    name: str
    init: tuple[int, ...]
    update: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()
    panels: tuple[tuple[int, int, int], ...] = ()
    key: str = ""

    @classmethod
    def of(cls, law: Law) -> _LawForm:
        if isinstance(law, CounterLaw):
            return cls(law.name, law.init)
        if isinstance(law, ThinnedLaw):
            bits, panels = law.law, tuple((panel.size, panel.keep, panel.weight) for panel in law.panels)
            return cls(bits.name, bits.init, bits.update, bits.scores, panels, law.key.hex())
        return cls(law.name, law.init, law.update, law.scores)

    def law(self) -> Law:
        if not self.update:
            counter = CounterLaw(len(self.init), self.init[-1]) if self.init else None
            if counter is None or _LawForm.of(counter) != self:
                raise ValueError("a counter starts anywhere but at 0 with one probability")
            return counter
        bits = StateLaw(self.name, self.init, self.update, self.scores)
        if not self.panels:
            return bits
        return ThinnedLaw(bits, tuple(Panel(*panel) for panel in self.panels), bytes.fromhex(self.key))


class _StatisticForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    most: int | None = None


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    universe: msgspec.Raw
    epsilon: str
    state_epsilon: str
    law: _LawForm
    noise_scale: str
    releases: int
    statistic: _StatisticForm | None = None
    forget: int = 0
    flipped: int = 0
    eta: str | None = None

    def purpose(self) -> Statistic[Answer]:
        """What the stream is for; a setup that does not say is for a density, as all were once."""
        if self.statistic is None:
            return Density(self.law.name, max(2, len(self.law.scores)))
        return read_statistic(self.statistic.name, self.statistic.most)


class _Sample(msgspec.Struct, frozen=True):
    """What the header of every universe says about its sample."""

    sample: int


def save_setup(setup: StreamSetup) -> Saved:
    """Write a setup: its JSON, and the table of its universe."""
    universe, calibration = setup.universe.save(), setup.calibration
    purpose = setup.statistic
    form = _Form(
        msgspec.Raw(universe.header),
        str(calibration.epsilon),
        str(calibration.state_epsilon),
        _LawForm.of(calibration.law),
        str(calibration.noise_scale),
        calibration.releases,
        None if isinstance(purpose, Density) else _StatisticForm(purpose.name, purpose.most),
        setup.forget,
        calibration.flipped,
        str(calibration.eta) if calibration.flipped else None,
    )
    return Saved(msgspec.json.encode(form), universe.table)


def entries_bytes(header: bytes) -> int:
    """Return the size of the entries that belong to a setup's JSON; a ``ValueError`` if no universe has so many."""
    form = msgspec.json.decode(header, type=_Form)
    sample = msgspec.json.decode(form.universe, type=_Sample).sample
    if not 1 <= sample <= MAX_UNIVERSE:
        raise ValueError("a sample that no universe has")
    return form.law.law().state_bytes(sample)


def load_setup(saved: Saved) -> StreamSetup:
    """Read what :func:`save_setup` wrote; the guarantee is proved again on the way.

    What it cannot have written is a ``ValueError``, an ``InputError`` or a ``msgspec.MsgspecError``.
    """
    form = msgspec.json.decode(saved.header, type=_Form)
    universe = load_universe(Saved(bytes(form.universe), saved.table))
    return StreamSetup(
        universe,
        Calibration(
            _exact(form.epsilon),
            _exact(form.state_epsilon),
            form.law.law(),
            _exact(form.noise_scale),
            form.releases,
            form.flipped,
            Fraction(0) if form.eta is None else _exact(form.eta),
        ),
        form.purpose(),
        form.forget,
    )


def _exact(text: str) -> Fraction:
    """Read a ratio; a part of E has some more digits than E."""
    found = parse_ratio(text, digits=2 * MAX_DIGITS)
    if found is None:
        raise ValueError("a setup has exact ratios")
    return found
