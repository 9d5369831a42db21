"""A whole model learned inside the holder by PrivBayes: N−1 choices at ε₁/(N−1), then N tables at ε₂.

Thesis: Algorithm "Greedy BN Structure Learning", Theorem thm_privbayes_struct; Algorithm "BN Parameter Learning",
Theorem thm_privbayes_param; see errata 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from panbayes.bayesnet.learning.search import GreedySearch, run
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.limits import MAX_CELLS
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.noisy_tables import noisy_tables, tables_event
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.private_selection import private_choice, private_score
from panbayes.consortium.holder.query_checks import cells_of, check_attributes, check_cells, check_search
from panbayes.consortium.protocol.answers import ModelAnswer
from panbayes.consortium.protocol.queries import ModelQuery, Pair
from panbayes.dp.mechanisms import check_noise
from panbayes.dp.noise import Noise
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema

__all__ = ["LOCAL_MODEL"]


def _loss(query: ModelQuery) -> Pure:
    return Pure(Fraction(query.structure_epsilon) + Fraction(query.tables_epsilon))


def _check(query: ModelQuery, schema: Schema, size: int) -> None:
    check_attributes("first", (query.first,), schema)
    cap = None if query.theta is None else _useful_cells(query, schema, size)
    check_search(query.degree, query.score, schema, cap)
    check_cells(sum(schema.sizes))
    check_noise(tables_event(schema, Pure(Fraction(query.tables_epsilon)), tables=len(schema)))


def _answer(query: ModelQuery, counts: PrivateCounts, *, noise: Noise) -> ModelAnswer:
    structure = _fitting(_private_structure(query, counts, noise=noise), counts.schema)
    sets = [(*parents, child) for child, parents in structure.pairs]
    cells = noisy_tables(counts, sets, Pure(Fraction(query.tables_epsilon)), clip=query.clip, noise=noise)
    return ModelAnswer(tuple(Pair(child, parents) for child, parents in structure.pairs), cells)


def _fitting(structure: Structure, schema: Schema) -> Structure:
    """Return the structure, without some parents if its tables together are too large to be counted.

    To refuse here would reveal something of the choices, unpaid; to drop the largest parent of the largest table, until
    all fit, is computed from the choices and public sizes alone.
    """
    pairs = dict(structure.pairs)
    cells = {child: cells_of((*parents, child), schema) for child, parents in pairs.items()}
    while sum(cells.values()) > MAX_CELLS:
        child = max((child for child in pairs if pairs[child]), key=cells.__getitem__)
        largest = max(pairs[child], key=schema.sizes.__getitem__)
        pairs[child] = tuple(parent for parent in pairs[child] if parent != largest)
        cells[child] //= schema.sizes[largest]
    return Structure(tuple(pairs.items()))


def _private_structure(query: ModelQuery, counts: PrivateCounts, *, noise: Noise) -> Structure:
    attributes = len(counts.schema)
    if attributes == 1:
        return Structure.independent(1)
    if query.theta is None:
        search = GreedySearch(attributes, query.degree, query.first)
    else:
        cap = _useful_cells(query, counts.schema, counts.size)
        search = GreedySearch(
            attributes, query.degree, query.first, exact=False, sizes=counts.schema.sizes, cap=max(cap, 1)
        )
    choose = private_choice(
        counts.facts,
        score=query.score,
        epsilon=Fraction(query.structure_epsilon) / (attributes - 1),
        mechanism=query.mechanism,
        noise=noise,
    )
    return run(search, counts.exact, score=private_score(counts.facts, query.score), choose=choose)


def _useful_cells(query: ModelQuery, schema: Schema, size: int) -> int:
    """Return the most cells a table may have to be θ-useful.

    The average cell of a table holds n/cells records; the noise has scale 2mN/ε₂, its mean absolute value. Useful means
    n/cells ≥ θ·2mN/ε₂, with n = ``size``, N attributes, m records per person. The PrivBayes paper counts N−k
    tables; N are released (errata 6).
    """
    if query.theta is None:
        raise ValueError("the query has no theta")
    moved = TableSensitivity.of(adjacency="replace", max_records=schema.max_records, tables=len(schema))
    return math.floor(size / (Fraction(query.theta) * moved.l1 / Fraction(query.tables_epsilon)))


LOCAL_MODEL: Final = Handler(ModelQuery, _loss, _check, _answer)
