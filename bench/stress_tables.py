"""Made tables on which a private learner shows its weakness: codes [attribute, record] and domain sizes, seeded.

=============== ======================================================================================================
``xor``         four blocks (a, b, a xor b with 5 % noise): no pair depends on anything, triples do
``parity``      three blocks of four, the last one the parity of the others
``highcard``    one nominal attribute of 2,000 values (Zipf) and eight properties of it
``chain``       twelve permutations of ten values in a row, 1 % noise: nearly deterministic
``latent``      twelve attributes of five values that depend on one hidden class of 12 × 4: dense, no sparse network
``dense``       sixteen binary attributes with links between all pairs (a Boltzmann law, sampled exactly)
``loops``       a 6 × 4 grid of four-valued attributes, each close to its neighbours
``wide``        120 binary attributes in overlapping groups
``independent`` twenty attributes, nothing depends on anything
``rare``        twelve binary attributes, most with a rare value, nothing depends on anything: beside small schemas only
=============== ======================================================================================================

:mod:`bench.subjects` learns from the first 20,000 of 25,000 records and tests on the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["BESIDE", "RECORDS", "STRESS", "make"]

Codes: TypeAlias = NDArray[np.int64]

RECORDS: Final = 25_000


def _blocks(g: np.random.Generator, n: int, parents: int, blocks: int) -> tuple[Codes, list[int]]:
    rows: list[Codes] = []
    for _ in range(blocks):
        free = g.integers(0, 2, (parents, n))
        rows += [*free, np.bitwise_xor.reduce(free) ^ (g.random(n) < 0.05)]
    return np.array(rows), [2] * len(rows)


def _highcard(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    weights = 1 / np.arange(1, 2001) ** 0.8
    key = g.choice(2000, n, p=weights / weights.sum())
    properties = g.integers(0, 6, (2000, 8))
    rows = [np.where(g.random(n) < 0.85, properties[key, j], g.integers(0, 6, n)) for j in range(8)]
    return np.array([key, *rows]), [2000] + [6] * 8


def _chain(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    value, rows = g.integers(0, 10, n), []
    for _ in range(12):
        value = np.where(g.random(n) < 0.01, g.integers(0, 10, n), g.permutation(10)[value])
        rows.append(value)
    return np.array(rows), [10] * 12


def _drawn(g: np.random.Generator, laws: NDArray[np.float64]) -> Codes:
    """Draw one value per record by its own row of probabilities."""
    drawn: Codes = (g.random(len(laws))[:, None] > laws.cumsum(1)).sum(1).clip(0, laws.shape[1] - 1)
    return drawn


def _latent(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    hidden, kind = g.integers(0, 12, n), g.integers(0, 4, n)
    laws = g.dirichlet(np.full(5, 0.4), (12, 12, 4))
    return np.array([_drawn(g, laws[j][hidden, kind]) for j in range(12)]), [5] * 12


def _dense(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    states = 2.0 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1) - 1
    links = np.triu(g.normal(0, 0.3, (16, 16)), 1)
    energy = states @ g.normal(0, 0.3, 16) + np.einsum("ij,ij->i", states @ links, states)
    law = np.exp(energy - energy.max())
    drawn = g.choice(2**16, n, p=law / law.sum())
    return (drawn >> np.arange(16)[:, None]) & 1, [2] * 16


def _loops(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    x = g.integers(0, 4, (6, 4, n))
    for _ in range(60):  # sweeps of Gibbs sampling
        for i in range(6):
            for j in range(4):
                around = ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
                near = [x[a, b] for a, b in around if 0 <= a < 6 and 0 <= b < 4]
                law = np.exp(np.sum([0.8 * (v[:, None] == np.arange(4)) for v in near], axis=0))
                x[i, j] = _drawn(g, law / law.sum(1, keepdims=True))
    return x.reshape(24, n), [4] * 24


def _wide(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    hidden = g.integers(0, 2, (30, n))
    rows = []
    for _ in range(120):
        a, b = g.choice(30, 2, replace=False)
        noisy, made = g.random(n) < 0.15, g.integers(0, 2, n)
        rows.append(np.where(noisy, made, np.where(g.random(n) < 0.7, hidden[a], hidden[a] & hidden[b])))
    return np.array(rows), [2] * 120


def _independent(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    return np.array([g.choice(5, n, p=g.dirichlet(np.ones(5))) for _ in range(20)]), [5] * 20


def _rare(g: np.random.Generator, n: int) -> tuple[Codes, list[int]]:
    return np.array([g.random(n) < g.beta(0.5, 0.5) for _ in range(12)]).astype(np.int64), [2] * 12


STRESS: Final[dict[str, Callable[[np.random.Generator, int], tuple[Codes, list[int]]]]] = {
    "xor": lambda g, n: _blocks(g, n, 2, 4),
    "parity": lambda g, n: _blocks(g, n, 3, 3),
    "highcard": _highcard,
    "chain": _chain,
    "latent": _latent,
    "dense": _dense,
    "loops": _loops,
    "wide": _wide,
    "independent": _independent,
}


BESIDE: Final = {"rare": _rare}
"""Tables that are not among those that every set measures."""


def make(name: str, records: int = RECORDS, seed: int = 1) -> tuple[Codes, list[int]]:
    """Return codes and domain sizes of a table, the same every time."""
    return (STRESS | BESIDE)[name](np.random.default_rng(seed), records)
