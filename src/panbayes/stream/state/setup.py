"""What is fixed before a stream starts, and the little that is written down about its releases.

A :class:`Configuration` is public: universe, sample, laws, noise, number of releases. A :class:`Ledger` says how many
releases are left and what the last one was, which is public too. Neither holds anything about the stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np

from panbayes.stream.accuracy.density_error import Design
from panbayes.stream.guarantee.calibration import Calibration, design_of
from panbayes.stream.guarantee.laws import StateLaw
from panbayes.stream.ids.universe import IntegerUniverse, Ipv4Universe, ListedUniverse, Sampling, Universe
from panbayes.stream.state.entries import state_bytes

__all__ = ["Configuration", "Ledger", "configuration_from_json", "configuration_to_json", "table_bytes"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A universe with its sample, and a calibration."""

    universe: Universe
    calibration: Calibration

    @property
    def sampling(self) -> Sampling:
        """How many users there are and how many have an entry."""
        return self.universe.sampling

    @property
    def state_bytes(self) -> int:
        """The size of the entries."""
        return state_bytes(self.calibration.law.levels, self.sampling.sample)

    def design(self) -> Design:
        """The law of a released statistic."""
        noise = float(self.calibration.noise_scale)
        return design_of(self.calibration.law, noise, sample=self.sampling.sample, universe=self.sampling.size)


@dataclass(frozen=True, slots=True)
class Ledger:
    """How many releases are ``left``, and the ``last`` one: the noisy statistic, which everybody may know."""

    left: int
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse a negative rest."""
        if self.left < 0:
            raise ValueError("no fewer than 0 releases can be left")

    def to_bytes(self) -> bytes:
        """Write the ledger."""
        return json.dumps({"left": self.left, "last": self.last}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Ledger:
        """Read what :meth:`to_bytes` wrote."""
        read = msgspec.json.decode(data, type=_LedgerForm)
        return cls(read.left, read.last)


class _LedgerForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    left: int
    last: int | None


class _UniverseForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    kind: str
    size: int
    sample: int
    key: str = ""
    first: int = 0
    hash_key: str = ""
    capacity: int = 0


class _LawForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    init: tuple[int, ...]
    update: tuple[int, ...]
    scores: tuple[int, ...]


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    universe: _UniverseForm
    epsilon: str
    state_epsilon: str
    law: _LawForm
    noise_scale: str
    releases: int


_TABLE_ENTRY: Final = 12
"""Bytes per place of a listed universe's table: a hash of eight and a slot of four."""


def configuration_to_json(configuration: Configuration) -> tuple[bytes, bytes]:
    """Write a configuration: its JSON, and the table of a listed universe (else nothing)."""
    universe, calibration = configuration.universe, configuration.calibration
    sampling, table = universe.sampling, b""
    form = _UniverseForm("integers", sampling.size, sampling.sample, sampling.key.hex())
    if isinstance(universe, Ipv4Universe):
        form = _UniverseForm("ipv4", sampling.size, sampling.sample, sampling.key.hex(), first=universe.first)
    elif isinstance(universe, ListedUniverse):
        form = _UniverseForm(
            "list",
            sampling.size,
            sampling.sample,
            sampling.key.hex(),
            hash_key=universe.hash_key.hex(),
            capacity=universe.table.size,
        )
        table = universe.table.astype("<u8").tobytes() + universe.values.astype("<u4").tobytes()
    law = calibration.law
    whole = _Form(
        form,
        str(calibration.epsilon),
        str(calibration.state_epsilon),
        _LawForm(law.name, law.init, law.update, law.scores),
        str(calibration.noise_scale),
        calibration.releases,
    )
    return msgspec.json.encode(whole), table


def table_bytes(header: bytes) -> int:
    """The size of the table that belongs to a configuration's JSON."""
    return msgspec.json.decode(header, type=_Form).universe.capacity * _TABLE_ENTRY


def configuration_from_json(header: bytes, table: bytes) -> Configuration:
    """Read what :func:`configuration_to_json` wrote; the guarantee is proved again on the way."""
    form = msgspec.json.decode(header, type=_Form)
    spec = form.universe
    sampling = Sampling(spec.size, spec.sample, bytes.fromhex(spec.key))
    universe: Universe
    match spec.kind:
        case "integers":
            universe = IntegerUniverse(sampling)
        case "ipv4":
            universe = Ipv4Universe(spec.first, sampling)
        case "list":
            hashes = np.frombuffer(table, dtype="<u8", count=spec.capacity)
            values = np.frombuffer(table, dtype="<u4", count=spec.capacity, offset=8 * spec.capacity)
            universe = ListedUniverse(sampling, bytes.fromhex(spec.hash_key), hashes, values)
        case _:
            raise ValueError("a universe of an unknown kind")
    law = StateLaw(form.law.name, form.law.init, form.law.update, form.law.scores)
    return Configuration(
        universe,
        Calibration(
            Fraction(form.epsilon), Fraction(form.state_epsilon), law, Fraction(form.noise_scale), form.releases
        ),
    )
