"""The edges of a graph on known vertices: a user is an edge, an unordered pair of two of them.

A dynamic graph is then a stream like any other: an edge is inserted or deleted, its density 2|E|/(|V|(|V| − 1)) is the
density of the stream, and what is protected is everything that ever happens to one edge. No vertex is linked to itself,
and an edge that is inserted twice is there once.

Thesis: introduction of the chapter on streams, "dynamic graphs"; the second remark on Algorithm DworkDE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Block, Integers, Texts, wrong_type
from panbayes.stream.ids.kernels.edges import number_pairs, split_pairs
from panbayes.stream.ids.kernels.spans import trim
from panbayes.stream.ids.sampling import MAX_UNIVERSE, Sampling, SamplingHeader
from panbayes.stream.ids.universes.integers import INTEGERS, IntegerUniverse
from panbayes.stream.ids.universes.kind import (
    Example,
    Saved,
    SizedUniverse,
    Universe,
    UniverseKind,
    UniverseSpec,
    sampling_of,
)
from panbayes.stream.ids.universes.listed import LISTED, ListedUniverse

__all__ = ["GRAPH", "GraphUniverse"]

_PREFIX: Final = "graph:"
_MOST_VERTICES: Final = math.isqrt(2 * MAX_UNIVERSE)


class _Header(
    SamplingHeader, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="graph"
):
    """The universe in a state file; ``vertices`` is the header of theirs, and the table is theirs too."""

    vertices: msgspec.Raw = msgspec.Raw(b"null")


class _Tag(msgspec.Struct, frozen=True):
    kind: str


@dataclass(frozen=True, slots=True)
class GraphUniverse(SizedUniverse):
    """The edges between ``vertices``, each written as two of them with a comma or white space between."""

    vertices: IntegerUniverse | ListedUniverse
    sampling: Sampling

    def __post_init__(self) -> None:
        """Refuse what is not the set of all pairs of all vertices."""
        known = self.vertices.sampling
        if known.key or self.sampling.size != known.size * (known.size - 1) // 2:
            raise ValueError("a graph has an edge for each pair of its vertices")

    def slots(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids."""
        if isinstance(ids, Integers):
            raise wrong_type("integers, but an edge is a text of two vertices")
        more = Texts(ids.data, arena.array(ids.size, np.int64), arena.array(ids.size, np.int64))
        trim(ids.data, ids.starts, ids.lengths)
        split_pairs(ids.data, ids.starts, ids.lengths, more.starts, more.lengths)
        first, second = self.vertices.slots(ids, arena), self.vertices.slots(more, arena)
        number_pairs(first, second, self.vertices.sampling.size)
        return self.sampling.slots(first, arena)

    def describe(self) -> str:
        """Name the universe for people."""
        count = self.vertices.sampling.size
        named = f"the vertices 0 to {count - 1}" if isinstance(self.vertices, IntegerUniverse) else f"{count} vertices"
        return f"the {self.sampling.size} edges between {named}"

    def save(self) -> Saved:
        """Return what a state file keeps."""
        chosen, vertices = self.sampling, self.vertices.save()
        header = _Header(chosen.size, chosen.sample, chosen.key.hex(), msgspec.Raw(vertices.header))
        return Saved(msgspec.json.encode(header), vertices.table)


def _claims(spec: UniverseSpec) -> bool:
    return isinstance(spec, str) and spec.lower().startswith(_PREFIX)


def _read(spec: UniverseSpec, sample: int | None) -> GraphUniverse:
    written = str(spec)[len(_PREFIX) :]
    found = INTEGERS.read(written, None) if INTEGERS.claims(written) else LISTED.read(written, None)
    if isinstance(found, ListedUniverse) and b"," in Path(written).read_bytes():
        raise InputError(
            "universe",
            found="a vertex has a comma in its name",
            remedy="rename it: a comma stands between the two vertices of an edge",
        )
    count = sampling_of(found).size
    if not 2 <= count <= _MOST_VERTICES:
        raise InputError(
            "universe", found=f"found {count} vertices", remedy=f"a graph has 2 to {_MOST_VERTICES} vertices"
        )
    return GraphUniverse(_vertices(found), Sampling.of(count * (count - 1) // 2, sample))


def _load(saved: Saved) -> GraphUniverse:
    header = msgspec.json.decode(saved.header, type=_Header)
    vertices = Saved(bytes(header.vertices), saved.table)
    listed = msgspec.json.decode(vertices.header, type=_Tag).kind == LISTED.name
    return GraphUniverse(_vertices((LISTED if listed else INTEGERS).load(vertices)), header.sampling())


def _vertices(universe: Universe) -> IntegerUniverse | ListedUniverse:
    if not isinstance(universe, IntegerUniverse | ListedUniverse):
        raise ValueError("the vertices of a graph are integers or a list")
    return universe


_EDGES: Final = tuple(f"{i},{j}" for j in range(25) for i in range(j))

GRAPH: Final = UniverseKind(
    "graph",
    "graph:VERTICES, a number or a file of vertices, for edges like a,b",
    _claims,
    _read,
    _load,
    Example("graph:25", _EDGES, ("3,3", "25,1", "7", "", "7,", ",7", "1,2,3", "-1,2", "a,b", "1 2,3", "somebody")),
)
