"""Sensitivities: exhaustive search over all small datasets, and against exact arithmetic for large ones."""

from __future__ import annotations

import decimal
import functools
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pytest

from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.dp import sensitivity
from panbayes.dp.sensitivity import SENSITIVITIES, padded_score, step_sensitivity
from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS, f_error, information_error, r_error


def all_tables(cells: int, records: int) -> Iterator[tuple[int, ...]]:
    """Every multiset of records, as a table: the ways to write ``records`` as a sum of ``cells`` counts."""
    for bars in itertools.combinations(range(records + cells - 1), cells - 1):
        ends = (-1, *bars, records + cells - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(ends))


@functools.cache
def true_sensitivity(score: str, child: int, parents: int, records: int) -> float:
    """The largest change of a computed score over all datasets and all replacements of one record."""
    cells = child * parents
    value = {t: scores()[score].value(np.array(t).reshape(child, parents)) for t in all_tables(cells, records)}
    largest = 0.0
    # A neighbour pair is a multiset of n − 1 records plus one of two different ones.
    for common in all_tables(cells, records - 1):
        one_more = [value[(*common[:i], common[i] + 1, *common[i + 1 :])] for i in range(cells)]
        largest = max(largest, max(one_more) - min(one_more))
    return largest


BINARY = [(2, 2, n) for n in range(2, 11)] + [(2, 3, n) for n in range(2, 7)] + [(3, 2, 5), (5, 2, 4), (2, 4, 5)]
OTHER_ODD = [(3, 3, 3), (3, 3, 5), (3, 3, 7), (3, 4, 5), (4, 3, 5), (4, 4, 3)]
OTHER_EVEN = [(3, 3, 2), (3, 3, 4), (3, 3, 6), (3, 4, 4)]
TRIVIAL = [(1, 4, 3), (4, 1, 3), (3, 3, 1), (2, 2, 1)]


@pytest.mark.parametrize("score", SENSITIVITIES)
@pytest.mark.parametrize(("child", "parents", "records"), BINARY + OTHER_ODD + OTHER_EVEN + TRIVIAL)
def test_no_record_moves_a_score_further(score: str, child: int, parents: int, records: int) -> None:
    """Every score there is, by brute force over every dataset: the padded Δ covers the score as it is computed."""
    own = SENSITIVITIES[score]
    if own.binary_child and child != 2:
        return
    true = true_sensitivity(score, child, parents, records)
    assert true <= padded_score(score, records=records, child=child, parents=parents)
    assert true <= own.replace_one(records=records, child=child, parents=parents) + 1e-12


@pytest.mark.parametrize(("child", "parents", "records"), BINARY + OTHER_ODD)
def test_mutual_information_reaches_its_sensitivity(child: int, parents: int, records: int) -> None:
    true = true_sensitivity("I", child, parents, records)
    formula = sensitivity.mutual_information(records=records, child=child, parents=parents)
    assert true == pytest.approx(formula, rel=1e-12), "a formula that is too small, or wasteful, fails here"


@pytest.mark.parametrize(("child", "parents", "records"), OTHER_EVEN)
def test_mutual_information_comes_close_for_even_sizes(child: int, parents: int, records: int) -> None:
    true = true_sensitivity("I", child, parents, records)
    formula = sensitivity.mutual_information(records=records, child=child, parents=parents)
    assert 0.7 * formula < true < formula


@pytest.mark.parametrize(("child", "parents", "records"), TRIVIAL)
def test_mutual_information_that_is_always_zero(child: int, parents: int, records: int) -> None:
    assert true_sensitivity("I", child, parents, records) == 0
    assert sensitivity.mutual_information(records=records, child=child, parents=parents) == 0


def test_binary_means_the_joint_domain_of_the_parents() -> None:
    """Two binary parents are not binary (errata 6): the smaller formula would be broken by a third and more."""
    true = true_sensitivity("I", 3, 4, 5)
    assert true > 1.3 * sensitivity.mutual_information(records=5, child=3, parents=2)


@pytest.mark.parametrize(("child", "parents", "records"), BINARY + OTHER_ODD + OTHER_EVEN + TRIVIAL)
def test_r_stays_below_its_bound(child: int, parents: int, records: int) -> None:
    true = true_sensitivity("R", child, parents, records)
    bound = sensitivity.r_score(records=records, child=child, parents=parents)
    assert true <= bound
    if records >= 3 and min(child, parents) > 1:
        assert true > 0.3 * bound, "a bound, but not a wild one"


@pytest.mark.parametrize(("parents", "records"), [(2, n) for n in range(2, 9)] + [(3, 5), (3, 6), (4, 4), (4, 5)])
def test_f_reaches_its_sensitivity(parents: int, records: int) -> None:
    true = true_sensitivity("F", 2, parents, records)
    formula = sensitivity.f_score(records=records, child=2, parents=parents)
    assert true == pytest.approx(formula, rel=1e-12)


@pytest.mark.parametrize("records", [2, 3, 100, 71_518, 10**9, MAX_RECORDS])
@pytest.mark.parametrize(("child", "parents"), [(2, 50), (3, 3), (10, 4)])
def test_padding_covers_the_exact_value(records: int, child: int, parents: int) -> None:
    with decimal.localcontext(prec=40):
        n = Decimal(records)
        if child == 2:
            delta = n.ln() / n + (n - 1) / n * (n / (n - 1)).ln()
        else:
            delta = 2 / n * ((n + 1) / 2).ln() + (n - 1) / n * ((n + 1) / (n - 1)).ln()
        error = information_error(records=records, child=child, parents=parents)
        needed = {
            "I": delta + 2 * Decimal(error),
            "R": 3 / n + 2 / n**2 + 2 * Decimal(r_error()),
            "F": 1 / n + 2 * Decimal(f_error()),
        }
        formula = Decimal(sensitivity.mutual_information(records=records, child=child, parents=parents))
        assert abs(formula / delta - 1) < Decimal("1e-15"), "no digits are lost where n is large"
        assert set(needed) == set(SENSITIVITIES)
        for score, own in SENSITIVITIES.items():
            if own.binary_child and child != 2:
                continue
            given = Decimal(padded_score(score, records=records, child=child, parents=parents))
            assert needed[score] <= given <= needed[score] * Decimal("1.0000000000001")


def test_one_step_uses_the_largest_sensitivity() -> None:
    candidates = [(2, 2), (2, 40), (3, 2), (3, 4)]
    largest = step_sensitivity("I", records=1000, candidates=candidates)
    assert largest == padded_score("I", records=1000, child=3, parents=4)
    binary_only = step_sensitivity("I", records=1000, candidates=candidates[:3])
    assert binary_only < largest
    assert step_sensitivity("F", records=1000, candidates=[(2, 9)]) == pytest.approx(1 / 1000)
    assert step_sensitivity("R", records=1000, candidates=candidates) == pytest.approx(3 / 1000 + 2e-6)


def test_the_value_in_counts_that_the_score_against_a_model_is_compared_with() -> None:
    delta = sensitivity.mutual_information(records=57_214, child=3, parents=9)
    assert delta * 57_214 == pytest.approx(22.5, abs=0.05)
    assert delta > 2 * math.log(57_214 / 2) / 57_214, "more than the usual approximation"


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="F and a child with 3 values"):
        padded_score("F", records=10, child=3, parents=2)
    with pytest.raises(InputError, match='score: found "Q"; known: F, I, R'):
        padded_score("Q", records=10, child=3, parents=2)
    with pytest.raises(InputError, match="candidates: found none"):
        step_sensitivity("R", records=10, candidates=[])
    for own in SENSITIVITIES.values():
        for bad in (-1, MAX_RECORDS + 1):
            with pytest.raises(InputError, match="records: found"):
                own.replace_one(records=bad, child=2, parents=2)
        for child, parents in ((0, 2), (2, 0), (-1, 2)):
            with pytest.raises(InputError, match="without values"):
                own.replace_one(records=10, child=child, parents=parents)


def test_where_there_is_nothing_to_compare_no_record_moves_a_score() -> None:
    for own in SENSITIVITIES.values():
        assert own.replace_one(records=0, child=2, parents=2) == 0
    assert sensitivity.r_score(records=1, child=2, parents=2) == 0
    assert sensitivity.f_score(records=1, child=2, parents=2) == 1
