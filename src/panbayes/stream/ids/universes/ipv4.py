"""The IPv4 addresses, all of them or those of one network; a user is an address."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.canonical import canonical, canonical_bytes
from panbayes.stream.ids.chunk import Block, Integers
from panbayes.stream.ids.kernels.addresses import dot_places, read_ipv4
from panbayes.stream.ids.sampling import Sampling, SamplingHeader
from panbayes.stream.ids.universes.kind import Example, Saved, SizedUniverse, UniverseKind, UniverseSpec

__all__ = ["IPV4", "Ipv4Universe"]


class _Header(
    SamplingHeader, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="ipv4"
):
    """The universe in a state file."""

    first: int = 0


@dataclass(frozen=True, slots=True)
class Ipv4Universe(SizedUniverse):
    """The IPv4 addresses from ``first`` on, as dotted text or as numbers."""

    first: int
    sampling: Sampling

    def __post_init__(self) -> None:
        """Refuse addresses that there are not."""
        if not 0 <= self.first <= self.first + self.sampling.size <= 1 << 32:
            raise ValueError("an IPv4 address has 32 bits")

    def slots(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids."""
        numbers = ids.numbers(arena) if isinstance(ids, Integers) else arena.array(ids.size, np.int64)
        if not isinstance(ids, Integers):
            texts = canonical(ids, arena)
            read_ipv4(texts.data, texts.starts, texts.lengths, _dot_places(), numbers)
        if self.first:
            numbers = np.subtract(numbers, self.first, out=arena.array(ids.size, np.int64))
        return self.sampling.slots(numbers, arena)

    def slot(self, one: object) -> int | None:
        """Return the slot of one address in text; whatever else goes the long way."""
        if not isinstance(one, str):
            return None
        parts = canonical_bytes(one.encode("utf-8", "surrogatepass")).split(b".")
        if len(parts) != 4:
            return -1
        number = 0
        for part in parts:
            # Of bytes only ASCII's digits are digits.
            if not part.isdigit() or len(part) > 3 or (octet := int(part)) > 255:
                return -1
            number = number << 8 | octet
        return self.sampling.slot(number - self.first)

    def describe(self) -> str:
        """Name the universe for people."""
        bits = 32 - (self.sampling.size - 1).bit_length()
        return f"the IPv4 addresses of {ipaddress.IPv4Address(self.first)}/{bits}"

    def save(self) -> Saved:
        """Return what a state file keeps."""
        chosen = self.sampling
        return Saved(msgspec.json.encode(_Header(chosen.size, chosen.sample, chosen.key.hex(), self.first)))


@cache
def _dot_places() -> NDArray[np.uint16]:
    return dot_places()


def _claims(spec: UniverseSpec) -> bool:
    return isinstance(spec, str) and spec.lower().partition(":")[0] == "ipv4"


def _read(spec: UniverseSpec, sample: int | None) -> Ipv4Universe:
    network = str(spec).partition(":")[2]
    try:
        read = ipaddress.IPv4Network(network or "0.0.0.0/0")
    except ValueError:
        raise InputError(
            "universe", found=f"found the network {network!r}", remedy="write it like ipv4:10.0.0.0/8, or just ipv4"
        ) from None
    return Ipv4Universe(int(read.network_address), Sampling.of(read.num_addresses, sample))


def _load(saved: Saved) -> Ipv4Universe:
    if saved.table:
        raise ValueError("a universe of addresses has no table")
    header = msgspec.json.decode(saved.header, type=_Header)
    return Ipv4Universe(header.first, header.sampling())


IPV4: Final = UniverseKind(
    "ipv4",
    "ipv4 or ipv4:NETWORK",
    _claims,
    _read,
    _load,
    Example(
        "ipv4:10.1.2.0/24",
        tuple(f"10.1.2.{i}" for i in range(256)),
        ("10.1.3.0", "10.1.1.255", "10.1.2", "10.1.2.256", "0.0.0.7", "somebody"),
    ),
)
