"""Private choices of an attribute and its parents: exact scores, one sensitivity per step, one draw.

The scores are those of :mod:`panbayes.bayesnet.scores`, computed from integer counts with a proven error; the step's
sensitivity is the largest padded one over its candidates (:mod:`panbayes.dp.sensitivity`), whose number and sizes are
public. Where a person may have several records the number of records is private, and scores are taken per person:
multiplied by records/persons, they have the sensitivities of :func:`panbayes.dp.sensitivity.per_person`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.scores import Candidate, f_scores, mutual_informations, r_scores
from panbayes.bayesnet.search import Candidates, Choose
from panbayes.dp import sensitivity
from panbayes.dp.mechanisms import select
from panbayes.dp.noise import Noise, Selection
from panbayes.dp.sensitivity import per_person, step_sensitivity
from panbayes.public.study import Score
from panbayes.tables.counting import CountTables, contingencies
from panbayes.tables.table import Table

__all__ = ["private_choice", "private_score"]

BATCH_CELLS: Final = 2**23
"""Tables are counted and scored in batches of about so many cells, to bound the memory."""

_SCORES: Final[dict[Score, Callable[[CountTables, Sequence[Candidate]], NDArray[np.float64]]]] = {
    "I": mutual_informations,
    "R": r_scores,
    "F": f_scores,
}


_NAMES: Final[dict[Score, sensitivity.Score]] = {"I": "mutual-information", "R": "R", "F": "F"}


def private_score(
    table: Table, score: Score
) -> Callable[[Counts, Sequence[tuple[int, ...]], Sequence[int]], NDArray[np.float64]]:
    """Return the scorer that a search calls: a row per parent set, a column per child."""
    factor = table.records / table.size if table.size else 0.0
    scorer = _SCORES[score]

    def rows(_: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> NDArray[np.float64]:
        scores = np.empty((len(parent_sets), len(children)))
        for part in _batches(table.schema.sizes, parent_sets, children):
            candidates = [(child, parents) for parents in parent_sets[part] for child in children]
            counted = contingencies(table.codes, table.schema.sizes, [(child, *pa) for child, pa in candidates])
            scores[part] = scorer(counted, candidates).reshape(-1, len(children))
        return scores * factor if table.persons is not None else scores

    return rows


def _batches(sizes: Sequence[int], parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> Iterator[slice]:
    per_row = sum(sizes[child] for child in children)
    start, cells = 0, 0
    for row, parents in enumerate(parent_sets):
        cells += per_row * math.prod(sizes[p] for p in parents)
        if cells > BATCH_CELLS:
            yield slice(start, row + 1)
            start, cells = row + 1, 0
    if start < len(parent_sets):
        yield slice(start, len(parent_sets))


def private_choice(table: Table, *, score: Score, epsilon: Fraction, mechanism: Selection, noise: Noise) -> Choose:
    """Return the chooser that a search calls: draws a candidate at a loss of ``epsilon`` per call.

    Thesis: Algorithm "Greedy BN Structure Learning", line Greedy BN Structure Learning_expo; see errata 6.
    """
    sizes = table.schema.sizes
    unit = table.schema.unit

    def choose(candidates: Candidates, scores: NDArray[np.float64]) -> int:
        allowed = np.flatnonzero(scores > -np.inf)  # which candidates are allowed is public
        pairs = {(sizes[child], math.prod(sizes[p] for p in parents)) for child, parents in _some(candidates, allowed)}
        if unit is None:
            delta = step_sensitivity(_NAMES[score], records=table.size, candidates=pairs)
        else:
            delta = per_person(_NAMES[score], persons=table.size, max_records=unit.max_records, candidates=pairs)
        # A step in which nothing can matter still has to choose: any positive sensitivity will do.
        delta = delta or math.ulp(1.0)
        chosen = select(scores[allowed], sensitivity=delta, epsilon=epsilon, mechanism=mechanism, noise=noise)
        return int(allowed[chosen])

    return choose


def _some(candidates: Candidates, places: NDArray[np.intp]) -> Iterator[Candidate]:
    return (candidates[place] for place in places.tolist())
