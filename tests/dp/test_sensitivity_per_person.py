"""Replacing one person with up to max_records records, by exhaustive search over all small tables of persons."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.dp.sensitivity import SENSITIVITIES, score_per_person
from panbayes.errors import InputError


def true_sensitivity(score: str, child: int, parents: int, persons: int, max_records: int) -> float:
    """Try every table of persons and every replacement of one person (a person may also have no record at all)."""
    kinds = range(child * parents)
    people = [
        np.bincount(records, minlength=child * parents)
        for number in range(max_records + 1)
        for records in (np.array(r, dtype=np.int64) for r in combinations_with_replacement(kinds, number))
    ]
    known: dict[bytes, float] = {}

    def value(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
        key = counts.tobytes()
        if key not in known:
            known[key] = scores()[score].value(counts.reshape(child, parents)) * int(counts.sum()) / persons
        return known[key]

    largest = 0.0
    for others in combinations_with_replacement(range(len(people)), persons - 1):
        rest = sum((people[i] for i in others), np.zeros(child * parents, dtype=np.int64))
        values = [value(rest + person) for person in people]
        largest = max(largest, max(values) - min(values))
    return largest


CASES = [(2, 2, 2, 2), (2, 2, 3, 1), (2, 3, 2, 2), (2, 2, 2, 3), (3, 2, 3, 1)]


@pytest.mark.parametrize("score", SENSITIVITIES)
@pytest.mark.parametrize(("child", "parents", "persons", "max_records"), CASES)
def test_no_person_moves_a_score_further(score: str, child: int, parents: int, persons: int, max_records: int) -> None:
    if SENSITIVITIES[score].binary_child and child != 2:
        with pytest.raises(InputError, match="score: "):
            score_per_person(score, persons=persons, max_records=max_records, candidates=[(child, parents)])
        return
    bound = score_per_person(score, persons=persons, max_records=max_records, candidates=[(child, parents)])
    true = true_sensitivity(score, child, parents, persons, max_records)
    assert true <= bound
    # The bounds are not tight, but not idle either: a quarter of each would be too small somewhere.
    assert true > 0


@pytest.mark.parametrize("score", SENSITIVITIES)
def test_a_quarter_of_the_bound_is_exceeded(score: str) -> None:
    ratios = [
        true_sensitivity(score, 2, parents, persons, most)
        / score_per_person(score, persons=persons, max_records=most, candidates=[(2, parents)])
        for child, parents, persons, most in product((2,), (2, 3), (2, 3), (1, 2))
        if child == 2
    ]
    assert max(ratios) > 0.25


def test_several_candidates_and_nothing_at_all() -> None:
    one = score_per_person("I", persons=50, max_records=2, candidates=[(3, 9)])
    assert score_per_person("I", persons=50, max_records=2, candidates=[(2, 2), (3, 9)]) >= one
    with pytest.raises(InputError, match="candidates: found none"):
        score_per_person("R", persons=50, max_records=2, candidates=[])
