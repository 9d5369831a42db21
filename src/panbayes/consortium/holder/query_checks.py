"""Whether a query can be computed: attributes that exist, tables that fit; from public facts only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from panbayes.bayesnet.learning.scores.registry import score_named
from panbayes.consortium.agreement.limits import MAX_CELLS
from panbayes.errors import InputError
from panbayes.schema.schema import Schema

__all__ = ["bad", "cells_of", "check_attributes", "check_candidates", "check_cells", "check_search"]

MAX_CANDIDATES: Final = 5_000_000
"""Candidates scored in one step at most."""


def bad(field: str, found: str, remedy: str) -> InputError:
    """Build an error about a field of a query."""
    return InputError(f"query, {field}", found=f"found {found}", remedy=remedy)


def cells_of(attributes: Sequence[int], schema: Schema) -> int:
    """Return the number of cells of the table of some attributes."""
    return math.prod(schema.sizes[a] for a in attributes)


def check_attributes(field: str, attributes: Sequence[int], schema: Schema) -> None:
    """Refuse attributes that come twice or do not exist."""
    if len(set(attributes)) != len(attributes) or max(attributes) >= len(schema):
        raise bad(field, "an attribute twice, or one that is not in the schema", f"give 0 to {len(schema) - 1}, once")


def check_cells(cells: int) -> None:
    """Refuse tables that are too large to be counted."""
    if cells > MAX_CELLS:
        raise InputError(
            "degree",
            found=f"asks for tables of {cells:,} cells",
            remedy=f"at most {MAX_CELLS:,} are counted; give a lower degree or a coarser schema",
        )


def check_search(degree: int, score: str, schema: Schema, cap: int | None = None) -> None:
    """Refuse a search of this degree that is too large, with tables of at most ``cap`` cells where that is given."""
    _check_degree(degree, schema)
    if score_named(score, argument="query, score").binary_child and max(schema.sizes) > 2:
        raise bad("score", f"{score} with attributes that are not binary", "give another score")
    attributes = len(schema)
    lengths = (degree,) if cap is None else range(degree + 1)
    candidates = max(
        (attributes - placed) * sum(math.comb(placed, length) for length in lengths) for placed in range(attributes)
    )
    largest = math.prod(sorted(schema.sizes, reverse=True)[: degree + 1])
    if cap is not None:
        candidates = min(candidates, attributes * _sets_within(schema.sizes, degree, cap // min(schema.sizes)))
        largest = min(largest, cap)
    check_cells(largest)
    _check_number(candidates, degree)


def check_candidates(degree: int, schema: Schema) -> None:
    """Refuse a search of this degree with too many candidates in a step, where their tables are not counted."""
    _check_degree(degree, schema)
    attributes = len(schema)
    _check_number(max((attributes - placed) * math.comb(placed, degree) for placed in range(attributes)), degree)


def _check_degree(degree: int, schema: Schema) -> None:
    if not 1 <= degree < max(len(schema), 2):
        raise bad("degree", str(degree), f"give 1 to {len(schema) - 1}")


def _check_number(candidates: int, degree: int) -> None:
    if candidates > MAX_CANDIDATES:
        raise bad("degree", f"{degree}: {candidates:,} candidates in a step", f"at most {MAX_CANDIDATES:,} are scored")


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
