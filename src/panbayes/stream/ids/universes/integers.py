"""The integers 0 … U−1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.canonical import canonical
from panbayes.stream.ids.chunk import Block, Integers
from panbayes.stream.ids.kernels.numbers import read_decimal
from panbayes.stream.ids.sampling import Sampling, SamplingHeader
from panbayes.stream.ids.universes.kind import Example, Saved, SizedUniverse, UniverseKind, UniverseSpec

__all__ = ["INTEGERS", "IntegerUniverse"]


class _Header(
    SamplingHeader, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="integers"
):
    """The universe in a state file."""


@dataclass(frozen=True, slots=True)
class IntegerUniverse(SizedUniverse):
    """The integers 0 … U−1, as numbers or as decimal text."""

    sampling: Sampling

    def slots(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids."""
        if isinstance(ids, Integers):
            return self.sampling.slots(ids.numbers(arena), arena)
        texts, numbers = canonical(ids, arena), arena.array(ids.size, np.int64)
        read_decimal(texts.data, texts.starts, texts.lengths, numbers)
        return self.sampling.slots(numbers, arena)

    def slot(self, one: object) -> int | None:
        """Return the slot of one integer; a text goes the long way."""
        return self.sampling.slot(one) if type(one) is int else None

    def describe(self) -> str:
        """Name the universe for people."""
        return f"the integers 0 to {self.sampling.size - 1}"

    def save(self) -> Saved:
        """Return what a state file keeps."""
        chosen = self.sampling
        return Saved(msgspec.json.encode(_Header(chosen.size, chosen.sample, chosen.key.hex())))


_NUMBER: Final = re.compile(r"[+-]?[0-9]+([_,]?[0-9]+)*")


def _claims(spec: UniverseSpec) -> bool:
    return isinstance(spec, int | np.integer) or (isinstance(spec, str) and _NUMBER.fullmatch(spec) is not None)


def _read(spec: UniverseSpec, sample: int | None) -> IntegerUniverse:
    return IntegerUniverse(Sampling.of(int(str(spec).replace(",", "")), sample))


def _load(saved: Saved) -> IntegerUniverse:
    if saved.table:
        raise ValueError("a universe of integers has no table")
    return IntegerUniverse(msgspec.json.decode(saved.header, type=_Header).sampling())


INTEGERS: Final = UniverseKind(
    "integers",
    "a number U of users, whose ids are 0 to U-1",
    _claims,
    _read,
    _load,
    Example("300", tuple(str(i) for i in range(300)), ("300", "-1", "1.5", "9" * 30, "somebody")),
)
