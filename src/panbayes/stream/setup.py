"""What is fixed before a stream starts: universe, sample, laws, noise, number of releases. All of it is public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import msgspec

from panbayes.privacy.written import MAX_DIGITS, Written, parse_epsilon, parse_ratio
from panbayes.stream.accuracy.density_error import Design
from panbayes.stream.guarantee.calibration import Calibration, calibrate, design_of
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.kind import Saved, Universe, UniverseSpec
from panbayes.stream.ids.universes.registry import load_universe, read_universe
from panbayes.stream.laws.registry import DEFAULT_LAW
from panbayes.stream.laws.state_law import StateLaw

__all__ = ["StreamSetup", "configure", "entries_bytes", "load_setup", "save_setup"]


@dataclass(frozen=True, slots=True, repr=False)
class StreamSetup:
    """A universe with its sample, and a calibration; nothing in it depends on the stream."""

    universe: Universe
    calibration: Calibration

    @property
    def sampling(self) -> Sampling:
        """How many users there are and how many have an entry."""
        return self.universe.sampling

    @property
    def state_bytes(self) -> int:
        """The size of the entries."""
        return self.calibration.law.state_bytes(self.sampling.sample)

    def design(self) -> Design:
        """The law of a released statistic."""
        noise = float(self.calibration.noise_scale)
        return design_of(self.calibration.law, noise, sample=self.sampling.sample, universe=self.sampling.size)

    def __repr__(self) -> str:
        """Name universe, guarantee and law on one line."""
        chosen, law = self.calibration, self.calibration.law
        sample = "" if not self.sampling.key else f", a sample of {self.sampling.sample:,}"
        releases = "1 release" if chosen.releases == 1 else f"{chosen.releases:,} releases"
        levels = "" if law.levels == 2 else f" on {law.levels} levels"
        return (
            f"StreamSetup({self.universe.describe()}{sample}; E = {chosen.epsilon} for one look and {releases}; "
            f"{law.name}{levels})"
        )


def configure(
    universe: UniverseSpec,
    *,
    epsilon: Written,
    releases: int = 1,
    sample: int | None = None,
    law: str = DEFAULT_LAW,
    levels: int = 2,
    state_epsilon: Written | None = None,
) -> StreamSetup:
    """Fix everything that is public before a stream starts.

    ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, a file with one id a line, or the ids; ``epsilon`` is
    the total E for one look at the state and all ``releases``; ``sample`` is m (all users by default); ``law`` names
    the law of the entries, with ``levels`` for the quantized ones; ``state_epsilon`` overrides the best split.

    >>> configure(1000, epsilon=1, releases=7)
    StreamSetup(the integers 0 to 999; E = 1 for one look and 7 releases; optimal-bernoulli)
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    part = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    users = read_universe(universe, sample=sample)
    calibration = calibrate(
        epsilon=total,
        sample=users.sampling.sample,
        universe=users.sampling.size,
        releases=releases,
        law=law,
        levels=levels,
        state_epsilon=part,
    )
    return StreamSetup(users, calibration)


class _LawForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    init: tuple[int, ...]
    update: tuple[int, ...]
    scores: tuple[int, ...]

    def law(self) -> StateLaw:
        return StateLaw(self.name, self.init, self.update, self.scores)


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    universe: msgspec.Raw
    epsilon: str
    state_epsilon: str
    law: _LawForm
    noise_scale: str
    releases: int


class _Sample(msgspec.Struct, frozen=True):
    """What the header of every universe says about its sample."""

    sample: int


def save_setup(setup: StreamSetup) -> Saved:
    """Write a setup: its JSON, and the table of its universe."""
    universe, calibration = setup.universe.save(), setup.calibration
    law = calibration.law
    form = _Form(
        msgspec.Raw(universe.header),
        str(calibration.epsilon),
        str(calibration.state_epsilon),
        _LawForm(law.name, law.init, law.update, law.scores),
        str(calibration.noise_scale),
        calibration.releases,
    )
    return Saved(msgspec.json.encode(form), universe.table)


def entries_bytes(header: bytes) -> int:
    """Return the size of the entries that belong to a setup's JSON."""
    form = msgspec.json.decode(header, type=_Form)
    return form.law.law().state_bytes(msgspec.json.decode(form.universe, type=_Sample).sample)


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
        ),
    )


def _exact(text: str) -> Fraction:
    """Read a ratio; a part of E has some more digits than E."""
    found = parse_ratio(text, digits=2 * MAX_DIGITS)
    if found is None:
        raise ValueError("a setup has exact ratios")
    return found
