"""Laws that can be asked exactly: what answers are compared with.

==================================== ==================================================================================
``alarm child insurance``            networks that pgmpy's wheel carries
``chain``                            twelve permutations of ten values in a row, 1 % noise: nearly deterministic
``xor``                              four blocks (a, b, a xor b with 5 % noise): no pair depends on anything
``latent``                           twelve attributes of five values that depend on one hidden class of 48
``dense``                            twelve binary attributes with links between all pairs
``loops``                            a 5 × 4 grid of four-valued attributes, each close to its neighbours
``ordered``                          eight numeric attributes of 20 values, each near the one before
``synthetic``                        the thesis's network of seven attributes; asked where it is named
==================================== ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from reproduction.synthetic import synthetic_network

from bench.peers import example
from panbayes.bayesnet.markov.chordal import network_of
from panbayes.bayesnet.markov.field import Axes, Field
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

__all__ = ["CHECKED", "LAWS", "KnownLaw", "known_law"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class KnownLaw:
    """A network, of whose attributes the first ``visible`` are in the table; the others are hidden."""

    network: Network
    visible: int

    @property
    def schema(self) -> Schema:
        """The schema of the table."""
        return Schema(self.network.schema.name, self.network.schema.attributes[: self.visible])

    def draw(self, records: int, seed: int) -> Table:
        """Draw a table of so many records."""
        codes = self.network.sample_table(records, seed=seed, independent=True).codes[: self.visible]
        return Table(self.schema, np.ascontiguousarray(codes))


def known_law(name: str) -> KnownLaw:
    """Return a law by its name."""
    if name == "synthetic":
        network = synthetic_network()
        return KnownLaw(network, len(network.schema))
    if name in _MADE:
        return _MADE[name](np.random.default_rng(1))
    network = example(name)
    return KnownLaw(network, len(network.schema))


def _attributes(sizes: Sequence[int], *, numeric: bool = False) -> tuple[Attribute, ...]:
    return tuple(
        Attribute(f"x{i}", bins=tuple(range(size + 1)))
        if numeric
        else Attribute(f"x{i}", categories=tuple(f"c{j}" for j in range(size)))
        for i, size in enumerate(sizes)
    )


def _chain(g: np.random.Generator) -> KnownLaw:
    tables = [np.full(10, 0.1), *(0.99 * np.eye(10)[g.permutation(10)] + 0.001 for _ in range(11))]
    pairs = tuple((i, (i - 1,) if i else ()) for i in range(12))
    return KnownLaw(Network(Schema("chain", _attributes([10] * 12)), Structure(pairs), tuple(tables)), 12)


def _xor(_: np.random.Generator) -> KnownLaw:
    half, tables, pairs = np.full(2, 0.5), list[FloatArray](), list[tuple[int, tuple[int, ...]]]()
    wrong = np.array([[[0.95, 0.05], [0.05, 0.95]], [[0.05, 0.95], [0.95, 0.05]]])
    for block in range(0, 12, 3):
        tables += [half, half, wrong]
        pairs += [(block, ()), (block + 1, ()), (block + 2, (block, block + 1))]
    return KnownLaw(Network(Schema("xor", _attributes([2] * 12)), Structure(tuple(pairs)), tuple(tables)), 12)


def _latent(g: np.random.Generator) -> KnownLaw:
    tables = [*g.dirichlet(np.full(5, 0.4), (12, 48)), np.full(48, 1 / 48)]
    pairs = ((12, ()), *((i, (12,)) for i in range(12)))
    return KnownLaw(Network(Schema("latent", _attributes([5] * 12 + [48])), Structure(pairs), tuple(tables)), 12)


def _field(
    name: str, sizes: Sequence[int], links: dict[tuple[int, int], FloatArray], alone: list[FloatArray]
) -> KnownLaw:
    """Return the law of a Markov network of pairs; ``alone`` are the laws of single attributes before any link."""
    nested = tuple(Nested.of(law, ordered=False) for law in alone)
    axes: list[Axes] = [((a, sizes[a]), (b, sizes[b])) for a, b in links]
    field = Field(tuple(alone), nested, tuple(axes))
    parameters = np.concatenate([table.ravel() for table in links.values()])
    structure, tables = network_of(field, parameters, records=1.0, smoothing=0.0)
    return KnownLaw(Network(Schema(name, _attributes(sizes)), structure, tuple(tables)), len(sizes))


def _dense(g: np.random.Generator) -> KnownLaw:
    spins = np.array([-1.0, 1.0])
    links = {pair: g.normal(0, 0.3) * np.outer(spins, spins) for pair in combinations(range(12), 2)}
    alone = [np.exp(h * spins) / np.exp(h * spins).sum() for h in g.normal(0, 0.3, 12)]
    return _field("dense", [2] * 12, links, alone)


def _loops(_: np.random.Generator) -> KnownLaw:
    links: dict[tuple[int, int], FloatArray] = {}
    for i in range(5):
        for j in range(4):
            links |= {(4 * i + j, 4 * a + b): 0.8 * np.eye(4) for a, b in ((i, j + 1), (i + 1, j)) if a < 5 and b < 4}
    return _field("loops", [4] * 20, links, [np.full(4, 0.25)] * 20)


def _ordered(g: np.random.Generator) -> KnownLaw:
    values = np.arange(20)
    first = np.exp(-0.5 * ((values - 8) / 4) ** 2)
    tables: list[FloatArray] = [first / first.sum()]
    for _ in range(7):
        centre = 10 + g.uniform(-0.9, 0.9) * (values - 10)
        law = np.exp(-np.abs(values - centre[:, None]) / g.uniform(1, 4))
        tables.append(law / law.sum(axis=1, keepdims=True))
    pairs = tuple((i, (int(g.integers(0, i)),) if i else ()) for i in range(8))
    attributes = _attributes([20] * 8, numeric=True)
    return KnownLaw(Network(Schema("ordered", attributes), Structure(pairs), tuple(tables)), 8)


_MADE: Final[dict[str, Callable[[np.random.Generator], KnownLaw]]] = {
    "chain": _chain,
    "xor": _xor,
    "latent": _latent,
    "dense": _dense,
    "loops": _loops,
    "ordered": _ordered,
}

LAWS: Final = ("alarm", "child", "insurance", *_MADE)

CHECKED: Final = ("hepar2", "sachs", "hailfinder", "water", "win95pts")
"""Networks of the same wheel on which nothing was set."""
