"""Replicates small enough to be written out, and a network to go with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.markov.chordal import network_of
from panbayes.bayesnet.markov.field import Axes, Field
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.bayesnet.uncertainty.unseen import Unseen
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from tests.bayesnet.markov.laws import WrittenOut

Floats = NDArray[np.float64]

SIZES = (4, 3, 5, 2)
TABLES: tuple[Axes, ...] = (((0, 3), (1, 3)), ((1, 2), (2, 3)))
"""The last attribute is in no table, and of the first and the third some values share a group."""

DRAWS = 3
UNSEEN = Unseen(10_000, 40.0)


def replicates(seed: int = 1, *, draws: int = DRAWS) -> Replicates:
    rng = np.random.default_rng(seed)
    centre = [rng.dirichlet(np.full(size, 6.0)) for size in SIZES]
    return Replicates.of(
        unseen=UNSEEN,
        nested=[Nested.of(law, ordered=False) for law in centre],
        tables=TABLES,
        laws=[[rng.dirichlet(200 * law + 1) for law in centre] for _ in range(draws)],
        parameters=[rng.normal(0, 0.7, 15) for _ in range(draws)],
    )


def written_out(found: Replicates, number: int) -> WrittenOut:
    laws = tuple(laws[number] for laws in found.single_laws)
    return WrittenOut.of(Field(laws, found.nested, found.tables), found.table_parameters[number])


def schema() -> Schema:
    return Schema(
        "made",
        (
            Attribute("a", categories=("p", "q", "r", "s")),
            Attribute("b", categories=("x", "y", "z")),
            Attribute("age", bins=(0, 20, 40, 60, 80), missing="missing"),
            Attribute("c", categories=("no", "yes")),
        ),
    )


def network(found: Replicates | None) -> Network:
    """The mean of some replicates, more or less."""
    made = replicates()
    laws = tuple(law.mean(axis=0) for law in made.single_laws)
    field = Field(laws, made.nested, made.tables)
    parameters = made.table_parameters.mean(axis=0)
    structure, tables = network_of(field, parameters, records=10_000, smoothing=0.5)
    return Network(schema(), structure, tuple(tables), about={"study": "made"}, error=found)
