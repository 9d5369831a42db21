"""A setup as a state file keeps it: JSON, from which the guarantee is proved again."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction

import msgspec

from panbayes.privacy.written import MAX_DIGITS, parse_ratio
from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.ids.part import Part
from panbayes.stream.ids.sampling import MAX_UNIVERSE
from panbayes.stream.ids.universes.grouped import GroupedUniverse, Groups
from panbayes.stream.ids.universes.hashed import hashed
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.ids.universes.registry import load_universe
from panbayes.stream.ids.where import Condition
from panbayes.stream.laws.counter_law import CounterLaw
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.laws.thinned_law import Panel, ThinnedLaw
from panbayes.stream.schedule import read_schedule
from panbayes.stream.setup import StreamSetup, tier_noises
from panbayes.stream.statistics.methods.by_group import ByGroup
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.statistic import Answer, Statistic
from panbayes.stream.statistics.registry import read_statistic

__all__ = ["digest_of", "entries_bytes", "load_setup", "save_setup"]


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


class _GroupsForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    field: str
    names: tuple[str, ...]


class _PartForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    number: int
    of: int
    key: str
    stretches: bool = False

    @classmethod
    def of_part(cls, part: Part) -> _PartForm:
        return cls(part.number, part.of, part.key.hex(), part.stretches)

    def part(self) -> Part:
        return Part(self.number, self.of, bytes.fromhex(self.key), self.stretches)


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
    where: tuple[tuple[str, str, str], ...] = ()
    groups: _GroupsForm | None = None
    at: str | None = None
    part: _PartForm | None = None

    @property
    def times(self) -> int:
        """How many times the cells of the universe are there."""
        return 1 if self.groups is None else len(self.groups.names)

    def purpose(self) -> Statistic[Answer]:
        """What the stream is for; a setup that does not say is for a density."""
        if self.groups is not None and self.statistic == _StatisticForm("distinct"):
            return ByGroup()
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
    groups = setup.universe.groups if isinstance(setup.universe, GroupedUniverse) else None
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
        tuple((condition.field, condition.sign, condition.value) for condition in setup.where),
        _GroupsForm(groups.field, groups.names) if groups is not None else None,
        None if setup.schedule is None else setup.schedule.name,
        None if setup.part is None else _PartForm.of_part(setup.part),
    )
    return Saved(msgspec.json.encode(form), universe.table)


def entries_bytes(header: bytes) -> int:
    """Return the size of the entries that belong to a setup's JSON; a ``ValueError`` if no universe has so many."""
    form = msgspec.json.decode(header, type=_Form)
    sample = msgspec.json.decode(form.universe, type=_Sample).sample
    if not 1 <= sample * form.times <= MAX_UNIVERSE:
        raise ValueError("a sample that no universe has")
    entries = sample * form.times if form.part is None else form.part.part().entries(sample * form.times)
    if entries < 1:
        raise ValueError("a part without an entry")
    return form.law.law().state_bytes(entries)


def digest_of(setup: StreamSetup) -> str:
    """Return a digest of what is public about a stream: of the whole, the same for all its parts."""
    whole = setup if setup.part is None else replace(setup, part=replace(setup.part, number=1))
    return hashlib.sha256(save_setup(whole).header).hexdigest()


def load_setup(saved: Saved) -> StreamSetup:
    """Read what :func:`save_setup` wrote; the guarantee is proved again on the way.

    What it cannot have written is a ``ValueError``, an ``InputError`` or a ``msgspec.MsgspecError``.
    """
    form = msgspec.json.decode(saved.header, type=_Form)
    universe = load_universe(Saved(bytes(form.universe), saved.table))
    if form.groups is not None:
        universe = GroupedUniverse(hashed(universe), Groups(form.groups.field, form.groups.names))
    part = None if form.part is None else form.part.part()
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
            1 if part is None else part.of,
            tier_noises(universe, part),
        ),
        form.purpose(),
        form.forget,
        tuple(Condition(*written) for written in form.where),
        None if form.at is None else read_schedule(form.at),
        part,
    )


def _exact(text: str) -> Fraction:
    """Read a ratio; a part of E has some more digits than E."""
    found = parse_ratio(text, digits=2 * MAX_DIGITS)
    if found is None:
        raise ValueError("a setup has exact ratios")
    return found
