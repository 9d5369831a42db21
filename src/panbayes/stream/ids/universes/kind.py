"""What a universe is, and what a kind of universe is.

A universe is public and fixed before the stream starts. It maps ids to slots 0 … m−1, the entries of the state. An id
outside the universe or the sample has no slot: it is dropped and not counted, because the number of such ids has no
bounded sensitivity. Every array made on the way lies in an arena.

Each module of this folder that defines a :class:`UniverseKind` adds one;
:mod:`panbayes.stream.ids.universes.registry` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Block
from panbayes.stream.ids.sampling import Sampling

__all__ = ["Example", "Saved", "SizedUniverse", "Universe", "UniverseKind", "UniverseSpec", "sampling_of"]

UniverseSpec: TypeAlias = int | str | Path | Iterable[str]
"""What a user may give for a universe: a number, a text, a file, or the ids themselves."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A universe in a state file: ``header`` is JSON with the name of its kind, ``table`` is bytes of its own."""

    header: bytes
    table: bytes = b""


class Universe(Protocol):
    """Who may appear, and which entry of the state is whose."""

    @property
    def entries(self) -> int:
        """m, how many entries the state has."""

    @property
    def sections(self) -> int:
        """Into how many equal sections the entries fall, each of which is added up by itself in a release."""

    def slots(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids: in ``arena``, or the caller's own; one outside 0 … m−1 stands for an id without."""

    def describe(self) -> str:
        """Name the universe for people, without naming anybody in it."""

    def save(self) -> Saved:
        """Return what a state file keeps; :attr:`UniverseKind.load` reads it."""


class SizedUniverse:
    """What universes share that have a size: their entries are those of a sample, and are added up together."""

    __slots__ = ()

    sampling: Sampling

    @property
    def entries(self) -> int:
        """m, how many users have an entry."""
        return self.sampling.sample

    @property
    def sections(self) -> int:
        """One: all entries count together."""
        return 1


def sampling_of(universe: Universe) -> Sampling:
    """Return how many users a universe has and how many of them have an entry; refuse one without a size."""
    if isinstance(universe, SizedUniverse):
        return universe.sampling
    raise InputError(
        "universe",
        found="ids are hashed, so nobody knows how many users there could be and what fraction of them appeared",
        remedy="count them with DistinctCounter, or with: panbayes stream",
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A small universe of a kind: its ``spec``, all its ``ids`` in their order, and ``strangers`` outside it."""

    spec: UniverseSpec
    ids: tuple[str, ...]
    strangers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UniverseKind:
    """A kind of universe.

    ``name`` is what state files call it and ``spelling`` says how a user writes one. ``claims`` says whether a spec is
    of this kind, and ``read`` reads such a spec with a sample (``None``: all users). ``load`` reads what ``save`` of
    such a universe gave, with a ``ValueError`` for what it cannot have given.
    """

    name: str
    spelling: str
    claims: Callable[[UniverseSpec], bool]
    read: Callable[[UniverseSpec, int | None], Universe]
    load: Callable[[Saved], Universe]
    example: Example
