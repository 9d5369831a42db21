"""How a question divides its fraction: least noise in all cells, and what tables had before counts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from panbayes.bayesnet.markov.field import Axes
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.consortium.analyst.adaptive.shares import as_weight, divided, filled, made_even
from panbayes.dp.sampler import MAX_SCALE

TABLES: list[Axes] = [((0, 2), (1, 2)), ((0, 4), (2, 8)), ((1, 10), (2, 10)), ((0, 3), (1, 3), (2, 3))]
AMOUNTS = st.integers(1, 8).flatmap(
    lambda many: st.tuples(
        arrays(np.float64, many, elements=st.floats(0.1, 10)),
        arrays(np.float64, many, elements=st.floats(0, 5)),
        st.floats(0, 20),
    )
)


def noise(parts: FloatArray, *, centred: bool) -> float:
    """The noise that counts in all cells of the tables together, at these parts of the grant."""
    found = 0.0
    for axes, part in zip(TABLES, parts, strict=True):
        shape = [count for _, count in axes]
        cells = math.prod(shape)
        left = 1 - (1 + sum(count - 1 for count in shape)) / cells if centred else 1.0
        found += cells * left * left / part  # moved less by one person, and less of the noise counts
    return found


@pytest.mark.parametrize("centred", [False, True])
def test_no_other_division_has_less_noise_in_all_cells_together(centred: bool) -> None:
    weights = np.array(divided(Fraction(1, 5), TABLES, centred=centred))
    assert weights.sum() == pytest.approx(200_000, abs=4)

    def other(logits: FloatArray) -> float:
        return math.log(noise(np.exp(logits) / np.exp(logits).sum(), centred=centred))

    best = minimize(other, np.zeros(4), method="BFGS").x
    assert weights / weights.sum() == pytest.approx(np.exp(best) / np.exp(best).sum(), rel=2e-3)


def test_weights_are_millionths_of_the_grant_and_at_least_one() -> None:
    assert [as_weight(Fraction(1, 4)), as_weight(Fraction(1, 10**9))] == [250_000, 1]


@given(AMOUNTS)
def test_what_is_left_is_all_given_where_most_is_lacking(amounts: tuple[FloatArray, FloatArray, float]) -> None:
    """All that get something then have the same part of what is due, and who gets nothing had more than that."""
    due, had, left = amounts
    found = filled(due, had, left)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(left, abs=1e-9)
    having = (had + found) / due
    level = having[found > 0]
    if level.size:
        assert level == pytest.approx(np.full(level.size, level[0]))
        assert having.min() >= level[0] - 1e-9


@pytest.mark.parametrize("centred", [False, True])
def test_tables_that_had_nothing_are_divided_among_as_ever(centred: bool) -> None:
    even = made_even(Fraction(1, 5), TABLES, [0.0] * 4, [1.0] * 4, centred=centred)
    assert even == pytest.approx(divided(Fraction(1, 5), TABLES, centred=centred), abs=1)


def test_a_table_that_had_enough_gets_next_to_nothing_and_all_together_are_even() -> None:
    due = np.array(divided(Fraction(1), TABLES, centred=True)) / 10**6
    had = [0.9, 0.01, 0.0, 0.02]
    found = np.array(made_even(Fraction(3, 10), TABLES, had, [1.0] * 4, centred=True)) / 10**6
    assert found[0] == 1e-6
    assert found.sum() == pytest.approx(0.3, abs=1e-5)
    whole = (found + had)[1:] / due[1:]
    assert whole == pytest.approx(np.full(3, whole[0]), rel=1e-3)


def test_no_noise_is_asked_for_that_is_wider_than_holders_serve() -> None:
    """A table that had enough, whose noise at a millionth of the grant would have a deviation of 2³²."""
    served = float(MAX_SCALE)
    had, width = [0.9, 0.01, 0.0, 0.02], 2.0 * served / 1000
    (weight, *others) = made_even(Fraction(3, 10), TABLES, had, [width, 1.0, 1.0, 1.0], centred=True)
    assert others == made_even(Fraction(3, 10), TABLES, had, [1.0] * 4, centred=True)[1:]
    assert width / math.sqrt(1e-6) > served
    assert width / math.sqrt(weight / 10**6) <= served / 2
