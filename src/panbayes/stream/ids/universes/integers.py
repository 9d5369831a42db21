"""The integers 0 … U−1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.canonical import canonical
from panbayes.stream.ids.chunk import Chunk, Integers
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

    def slots(self, chunk: Chunk) -> Iterator[NDArray[np.int64]]:
        """Yield the slots of a chunk of ids."""
        if isinstance(chunk, Integers):
            for block in chunk.blocks():
                yield from self.sampling.pieces(block)
            return
        numbers = np.empty(chunk.starts.size, dtype=np.int64)
        with canonical(chunk) as texts:
            read_decimal(texts.data, texts.starts, texts.lengths, numbers)
        yield from self.sampling.pieces(numbers)
        numbers[:] = 0

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
