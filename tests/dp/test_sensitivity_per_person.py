"""Replacing one person with up to max_records records, by exhaustive search over all small tables of persons."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.dp.sensitivity import SENSITIVITIES, score_per_person
from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS, UNIT_ROUNDOFF


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


@pytest.mark.parametrize("score", SENSITIVITIES)
@pytest.mark.parametrize("parents", [2, 3])
def test_no_record_more_moves_a_score_in_counts_further(score: str, parents: int) -> None:
    """Every table of up to N records, every record added: n·score moves by what is stated for N, n·Î by all of it."""
    most, cells = 5, 2 * parents

    def value(counts: tuple[int, ...]) -> float:
        return scores()[score].value(np.array(counts).reshape(2, parents)) * sum(counts)

    tables = [counts for counts in product(range(most + 1), repeat=cells) if sum(counts) <= most]
    stated = SENSITIVITIES[score].per_record
    for records in range(1, most + 1):
        moved = max(
            abs(value((*counts[:i], counts[i] + 1, *counts[i + 1 :])) - value(counts))
            for counts in tables
            if sum(counts) <= records
            for i in range(cells)
        )
        assert moved <= stated(records) * (1 + 1e-12)
        assert moved >= stated(records) * (1 - 1e-12 if score == "I" else 0.25)


@pytest.mark.parametrize("score", SENSITIVITIES)
@pytest.mark.parametrize(("persons", "most"), [(1, 1), (2, 3), (50, 2), (71_518, 20), (10**8, 1), (10**8, 21)])
def test_padding_covers_the_exact_value_and_little_more(score: str, persons: int, most: int) -> None:
    """Δ = 2m/P·(one record's part among N = m·P), and twice the error of n/P·score, n/P at most m."""
    with localcontext(Context(prec=40)):
        number, own = Decimal(persons * most), SENSITIVITIES[score]
        part = {"I": (number + 1) * (number + 1).ln() - number * number.ln(), "R": Decimal(2), "F": Decimal(1)}
        assert set(part) == set(SENSITIVITIES)
        factor = {"I": 2, "R": 1, "F": 1}[score]
        error = factor * Decimal(own.rounding_error(records=persons * most, child=2, parents=30))
        error += 4 * Decimal(UNIT_ROUNDOFF) * ((number + 1).ln() + 1)
        needed = 2 * most * part[score] / persons + 2 * most * error
        given = Decimal(score_per_person(score, persons=persons, max_records=most, candidates=[(2, 4), (2, 30)]))
        assert needed < given < needed * Decimal("1.0000000000001")


@pytest.mark.parametrize(("persons", "most"), [(0, 1), (1, 0), (0, 0), (-1, -1)])
def test_somebody_with_some_record_is_needed(persons: int, most: int) -> None:
    with pytest.raises(InputError, match=r"persons: found .*; give 1 or more of both"):
        score_per_person("R", persons=persons, max_records=most, candidates=[(2, 2)])


def test_no_more_records_than_scores_are_proved_for() -> None:
    with pytest.raises(InputError, match="records: found"):
        score_per_person("R", persons=MAX_RECORDS // 2 + 1, max_records=2, candidates=[(2, 2)])
    assert score_per_person("R", persons=MAX_RECORDS, max_records=1, candidates=[(2, 2)]) > 0


def test_several_candidates_and_nothing_at_all() -> None:
    one = score_per_person("I", persons=50, max_records=2, candidates=[(3, 9)])
    both = [(2, 2), (3, 9)]
    assert score_per_person("I", persons=50, max_records=2, candidates=both) >= one
    assert score_per_person("I", persons=50, max_records=2, candidates=iter(both)) >= one, "they are gone through twice"
    with pytest.raises(InputError, match="candidates: found none"):
        score_per_person("R", persons=50, max_records=2, candidates=[])
