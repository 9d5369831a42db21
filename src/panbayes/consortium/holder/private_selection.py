"""Private choices of an attribute and its parents: exact scores, one sensitivity per step, one draw.

A score is looked up by its name twice: how it is computed, from integer counts with a proven error
(:mod:`panbayes.bayesnet.learning.scores.registry`), and how much one person can move it
(:mod:`panbayes.dp.sensitivity`). A step's sensitivity is the largest padded one over its candidates, whose number and
sizes are public. Where a person may have several records the number of records is private, and scores are taken per
person: multiplied by records/persons, they have the sensitivities of :func:`panbayes.dp.sensitivity.score_per_person`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.learning.families import Choose, Families
from panbayes.bayesnet.learning.scores.registry import score_named
from panbayes.bayesnet.learning.scores.score import Scorer
from panbayes.bayesnet.structure import Family
from panbayes.dp.mechanisms import select
from panbayes.dp.noise import Noise
from panbayes.dp.sensitivity import score_per_person, step_sensitivity
from panbayes.privacy.events import Rule, Selection
from panbayes.tables.counter import Facts

__all__ = ["private_choice", "private_score"]


def private_score(facts: Facts, score: str) -> Scorer:
    """Return the scorer that a search calls: a row per parent set, a column per child."""
    exact = score_named(score)
    if facts.persons is None:
        return exact
    factor = facts.records / facts.persons if facts.persons else 0.0

    def each(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> NDArray[np.float64]:
        return exact(counts, parent_sets, children) * factor

    return each


def private_choice(facts: Facts, *, score: str, epsilon: Fraction, mechanism: Rule, noise: Noise) -> Choose:
    """Return the chooser that a search calls: draws a candidate at a loss of ``epsilon`` per call.

    Thesis: Algorithm "Greedy BN Structure Learning", line Greedy BN Structure Learning_expo; see errata 6.
    """
    sizes = facts.schema.sizes
    unit = facts.schema.unit

    def choose(candidates: Families, scores: NDArray[np.float64]) -> int:
        allowed = np.flatnonzero(scores > -np.inf)  # which candidates are allowed is public
        pairs = {(sizes[child], math.prod(sizes[p] for p in parents)) for child, parents in _some(candidates, allowed)}
        if unit is None or unit.max_records == 1:  # one record each: their number is the public number of persons
            delta = step_sensitivity(score, records=facts.size, candidates=pairs)
        else:
            delta = score_per_person(score, persons=facts.size, max_records=unit.max_records, candidates=pairs)
        # A step in which nothing can matter still has to choose: any positive sensitivity will do.
        delta = delta or math.ulp(1.0)
        chosen = select(scores[allowed], sensitivity=delta, event=Selection(mechanism, epsilon**2), noise=noise)
        return int(allowed[chosen])

    return choose


def _some(candidates: Families, places: NDArray[np.intp]) -> Iterator[Family]:
    return (candidates[place] for place in places.tolist())
