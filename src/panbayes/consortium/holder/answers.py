"""What a holder answers: one function per kind of query, all of them differentially private.

:func:`check` and :func:`loss_of` look at public facts only (query and schema), so that a query can be refused and
charged before a record is touched. :func:`answer` computes and draws. It is called by the gate, after the charge.

======================== ======================================================================= ==================
query                    mechanism                                                               loss
======================== ======================================================================= ==================
counts of T tables       discrete Laplace of scale 2·m·T/ε on every cell (L1 sensitivity 2·m·T)  ε
vote                     permute-and-flip or exponential on the score, Δ over all candidates     ε
local model              N−1 votes at ε₁/(N−1), then counts of N tables at ε₂                    ε₁ + ε₂
tables, choice           see :mod:`panbayes.consortium.holder.grouped_tables`                    ε or ρ
======================== ======================================================================= ==================

m is the number of records kept per person (1 without a privacy unit).

Thesis: Theorem thm_noisy_ss_priv (counts), Theorem thm_privbayes_struct, Theorem thm_privbayes_param.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.learning.search import GreedySearch, run
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.holder.grouped_tables import (
    answer_choice,
    answer_tables,
    check_choice,
    check_tables,
    loss_of_views,
)
from panbayes.consortium.holder.private_selection import private_choice, private_score
from panbayes.consortium.protocol.messages import (
    Answer,
    Cells,
    GroupedTablesQuery,
    ModelAnswer,
    ModelQuery,
    Pair,
    ParentChoiceAnswer,
    ParentChoiceQuery,
    Query,
    TableChoiceQuery,
    TablesAnswer,
    TablesQuery,
    pack_cells,
)
from panbayes.dp import sensitivity
from panbayes.dp.mechanisms import discrete_laplace, discrete_laplace_scale
from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Schema
from panbayes.tables.counting.count_tables import DEFAULT_CELL_LIMIT, contingencies
from panbayes.tables.table import Table

__all__ = ["answer", "check", "loss_of"]

MAX_CANDIDATES: Final = 5_000_000
"""Candidates scored in one step at most."""


def loss_of(query: Query) -> Loss:
    """Return what answering a query spends."""
    if isinstance(query, GroupedTablesQuery | TableChoiceQuery):
        return loss_of_views(query)
    if isinstance(query, ModelQuery):
        return Pure(Fraction(query.structure_epsilon) + Fraction(query.tables_epsilon))
    return Pure(Fraction(query.epsilon))


def check(query: Query, schema: Schema, size: int) -> None:
    """Refuse a query that makes no sense under the schema, or asks for too many cells or candidates.

    ``size`` is the public number of people.
    """
    match query:
        case TablesQuery():
            if len(set(query.sets)) != len(query.sets):
                raise _bad("sets", "the same set twice", "ask for every set once")
            for attributes in query.sets:
                _check_attributes("sets", attributes, schema)
            _check_cells(sum(_cells(attributes, schema) for attributes in query.sets))
            discrete_laplace_scale(
                sensitivity=_table_sensitivity(schema, len(query.sets)), epsilon=Fraction(query.epsilon)
            )
        case ParentChoiceQuery():
            _check_attributes("placed", query.placed, schema)
            if len(query.placed) >= len(schema):
                raise _bad("placed", "every attribute", "leave one to vote on")
            _check_degree(query.degree, query.score, schema)
        case ModelQuery():
            _check_attributes("first", (query.first,), schema)
            cap = None if query.theta is None else _useful_cells(query, schema, size)
            _check_degree(query.degree, query.score, schema, cap)
            _check_cells(sum(schema.sizes))
            scale = _table_sensitivity(schema, len(schema))
            discrete_laplace_scale(sensitivity=scale, epsilon=Fraction(query.tables_epsilon))
        case GroupedTablesQuery():
            check_tables(query, schema)
        case TableChoiceQuery():
            check_choice(query, schema)


def _bad(field: str, found: str, remedy: str) -> InputError:
    return InputError(f"query, {field}", found=f"found {found}", remedy=remedy)


def _cells(attributes: Sequence[int], schema: Schema) -> int:
    return math.prod(schema.sizes[a] for a in attributes)


def _table_sensitivity(schema: Schema, tables: int) -> int:
    most = schema.unit.max_records if schema.unit else 1
    return sensitivity.table_l1(adjacency="replace", max_records=most, tables=tables)


def _check_attributes(field: str, attributes: Sequence[int], schema: Schema) -> None:
    if len(set(attributes)) != len(attributes) or max(attributes) >= len(schema):
        raise _bad(field, "an attribute twice, or one that is not in the schema", f"give 0 to {len(schema) - 1}, once")


def _check_degree(degree: int, score: str, schema: Schema, cap: int | None = None) -> None:
    """Check a search of this degree, with tables of at most ``cap`` cells where that is given."""
    if not 1 <= degree < max(len(schema), 2):
        raise _bad("degree", str(degree), f"give 1 to {len(schema) - 1}")
    if score == "F" and max(schema.sizes) > 2:
        raise _bad("score", "F with attributes that are not binary", "give R or I")
    attributes = len(schema)
    lengths = (degree,) if cap is None else range(degree + 1)
    candidates = max(
        (attributes - placed) * sum(math.comb(placed, length) for length in lengths) for placed in range(attributes)
    )
    largest = math.prod(sorted(schema.sizes, reverse=True)[: degree + 1])
    if cap is not None:
        candidates = min(candidates, attributes * _sets_within(schema.sizes, degree, cap // min(schema.sizes)))
        largest = min(largest, cap)
    _check_cells(largest)
    if candidates > MAX_CANDIDATES:
        raise _bad("degree", f"{degree}: {candidates:,} candidates in a step", f"at most {MAX_CANDIDATES:,} are scored")


def _sets_within(sizes: Sequence[int], degree: int, room: int) -> int:
    """Count the sets of at most ``degree`` attributes whose values have at most ``room`` combinations.

    >>> _sets_within((2, 3, 10), 2, 6)  # no attribute, the first, the second, both
    4
    """
    found = [Counter({1: 1}), *(Counter[int]() for _ in range(degree))]
    for size in sizes:
        for length in range(degree, 0, -1):
            for combinations, sets in found[length - 1].items():
                if combinations * size <= room:
                    found[length][combinations * size] += sets
    return sum(counter.total() for counter in found)


def _check_cells(cells: int) -> None:
    if cells > DEFAULT_CELL_LIMIT:
        raise InputError(
            "degree",
            found=f"asks for tables of {cells:,} cells",
            remedy=f"at most {DEFAULT_CELL_LIMIT:,} are counted; give a lower degree or a coarser schema",
        )


def answer(query: Query, table: Table, *, noise: Noise) -> Answer:
    """Compute an answer and draw its noise. The query has been checked and charged."""
    match query:
        case TablesQuery():
            return TablesAnswer(_noisy_tables(table, query.sets, Fraction(query.epsilon), clip=query.clip, noise=noise))
        case ParentChoiceQuery():
            return ParentChoiceAnswer(_vote(query, table, noise=noise))
        case ModelQuery():
            return _local_model(query, table, noise=noise)
        case GroupedTablesQuery():
            return answer_tables(query, table, noise=noise)
        case TableChoiceQuery():
            return answer_choice(query, table, noise=noise)


def _noisy_tables(
    table: Table, sets: Sequence[tuple[int, ...]], epsilon: Fraction, *, clip: bool, noise: Noise
) -> Cells:
    """Return the noisy tables of ``sets`` end to end, at ``epsilon`` for all of them together."""
    sizes = table.schema.sizes
    counted = contingencies(table.codes, sizes, sets)
    flat: NDArray[np.int64] = np.concatenate([counted[attributes].ravel() for attributes in sets]).astype(np.int64)
    delta = _table_sensitivity(table.schema, len(sets))
    noisy = discrete_laplace(flat, sensitivity=delta, epsilon=epsilon, noise=noise)
    return pack_cells(np.maximum(noisy, 0) if clip else noisy)


def _vote(query: ParentChoiceQuery, table: Table, *, noise: Noise) -> Pair:
    """Choose one (attribute, parents) pair. Thesis: Algorithm "Noisy Majority Voting"."""
    search = GreedySearch(len(table.schema), query.degree, query.placed[0])
    for placed in query.placed[1:]:
        search.place(placed, ())
    candidates = search.candidates
    score = private_score(table, query.score)
    scores = score(ExactCounts(table), candidates.parent_sets, candidates.children).ravel()
    choose = private_choice(
        table, score=query.score, epsilon=Fraction(query.epsilon), mechanism=query.mechanism, noise=noise
    )
    child, parents = candidates[choose(candidates, scores)]
    return Pair(child, parents)


def _local_model(query: ModelQuery, table: Table, *, noise: Noise) -> ModelAnswer:
    """Run PrivBayes: structure at ε₁, tables at ε₂.

    Thesis: Algorithm "Greedy BN Structure Learning", Algorithm "BN Parameter Learning".
    """
    structure = _fitting(_private_structure(query, table, noise=noise), table.schema)
    sets = [(*parents, child) for child, parents in structure.pairs]
    cells = _noisy_tables(table, sets, Fraction(query.tables_epsilon), clip=query.clip, noise=noise)
    return ModelAnswer(tuple(Pair(child, parents) for child, parents in structure.pairs), cells)


def _fitting(structure: Structure, schema: Schema) -> Structure:
    """Return the structure, without some parents if its tables together are too large to be counted.

    To refuse here would reveal something of the choices, unpaid; to drop the largest parent of the largest table, until
    all fit, is computed from the choices and public sizes alone.
    """
    pairs = dict(structure.pairs)
    cells = {child: _cells((*parents, child), schema) for child, parents in pairs.items()}
    while sum(cells.values()) > DEFAULT_CELL_LIMIT:
        child = max((child for child in pairs if pairs[child]), key=cells.__getitem__)
        largest = max(pairs[child], key=schema.sizes.__getitem__)
        pairs[child] = tuple(parent for parent in pairs[child] if parent != largest)
        cells[child] //= schema.sizes[largest]
    return Structure(tuple(pairs.items()))


def _private_structure(query: ModelQuery, table: Table, *, noise: Noise) -> Structure:
    attributes = len(table.schema)
    if attributes == 1:
        return Structure.independent(1)
    if query.theta is None:
        search = GreedySearch(attributes, query.degree, query.first)
    else:
        cap = _useful_cells(query, table.schema, table.size)
        search = GreedySearch(
            attributes, query.degree, query.first, exact=False, sizes=table.schema.sizes, cap=max(cap, 1)
        )
    choose = private_choice(
        table,
        score=query.score,
        epsilon=Fraction(query.structure_epsilon) / (attributes - 1),
        mechanism=query.mechanism,
        noise=noise,
    )
    return run(search, ExactCounts(table), score=private_score(table, query.score), choose=choose)


def _useful_cells(query: ModelQuery, schema: Schema, size: int) -> int:
    """Return the most cells a table may have to be θ-useful.

    The average cell of a table holds n/cells records; the noise has scale 2mN/ε₂, its mean absolute value. Useful means
    n/cells ≥ θ·2mN/ε₂, with n = ``size``, N attributes, m records per person. The PrivBayes paper counts N−k
    tables; N are released (errata 6).
    """
    if query.theta is None:
        raise ValueError("the query has no theta")
    scale = _table_sensitivity(schema, len(schema)) / Fraction(query.tables_epsilon)
    return math.floor(size / (Fraction(query.theta) * scale))
