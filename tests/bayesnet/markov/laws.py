"""Markov fields small enough to be written out: every record of every attribute's values with its probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.markov.field import Axes, Field
from panbayes.bayesnet.markov.nested import Nested

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """A field with parameters, and all records: ``grid`` has a row for each, ``probability`` its probability."""

    field: Field
    parameters: Floats
    grid: NDArray[np.int64]
    logarithm: float
    probability: Floats

    @classmethod
    def of(cls, field: Field, parameters: Floats) -> WrittenOut:
        grid = np.array(list(product(*(range(law.size) for law in field.distributions))))
        weight = np.ones(len(grid))
        for v, law in enumerate(field.distributions):
            weight *= law[grid[:, v]]
        start = 0
        for axes in field.tables:
            shape = [count for _, count in axes]
            cells = parameters[start : start + int(np.prod(shape))].reshape(shape)
            start += cells.size
            weight *= np.exp(cells[cells_of(field, axes, grid)])
        return cls(field, parameters, grid, float(np.log(weight.sum())), weight / weight.sum())

    def margin(self, axes: Axes) -> Floats:
        """The probabilities of a table's cells; an axis of one group has all values in it."""
        found = np.zeros([count for _, count in axes])
        np.add.at(found, cells_of(self.field, axes, self.grid), self.probability)
        return found


def cells_of(field: Field, axes: Axes, grid: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    return tuple(
        (field.nested[v].groups(count) if count > 1 else np.zeros(field.distributions[v].size, dtype=np.int64))[
            grid[:, v]
        ]
        for v, count in axes
    )


def field_of(laws: Sequence[Floats], tables: Sequence[Axes], *, ordered: bool = False) -> Field:
    return Field(tuple(laws), tuple(Nested.of(law, ordered=ordered) for law in laws), tuple(tables))


def random_fields(count: int, *, seed: int) -> Iterator[WrittenOut]:
    """Two to five attributes of one to five values, none to six tables of one to three of them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        sizes = rng.integers(1, 6, int(rng.integers(2, 6))).tolist()
        laws = [rng.dirichlet(np.ones(size)) for size in sizes]
        tables: list[Axes] = []
        for _ in range(int(rng.integers(0, 7))):
            members = sorted(rng.choice(len(sizes), int(rng.integers(1, min(len(sizes), 3) + 1)), replace=False))
            axes = tuple((int(v), int(rng.integers(min(2, sizes[v]), sizes[v] + 1))) for v in members)
            if axes not in tables:
                tables.append(axes)
        field = field_of(laws, tables, ordered=bool(rng.integers(2)))
        yield WrittenOut.of(field, rng.normal(0, 1, sum(int(np.prod([c for _, c in axes])) for axes in tables)))
