from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduction.judging import as_predicted, centred, limits, span, wilson
from reproduction.results import Results, Row, csv_text, parse_csv
from scipy import stats

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(lambda t: not is_number(t))


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@given(st.lists(st.tuples(NAMES, st.integers(), st.floats(allow_nan=False)), min_size=1, max_size=5))
def test_a_file_gives_back_every_bit(values: list[tuple[str, int, float]]) -> None:
    rows: list[Row] = [{"name": name.replace("\r", " "), "whole": whole, "real": real} for name, whole, real in values]
    found = parse_csv(csv_text(rows))
    assert list(found.rows) == rows
    assert [type(row["real"]) for row in found.rows] == [float] * len(rows)


def test_results_have_the_same_columns_and_are_chosen_by_value() -> None:
    with pytest.raises(ValueError, match="same columns"):
        Results(({"a": 1}, {"b": 1}))
    with pytest.raises(ValueError, match="at least one"):
        Results(())
    found = Results(({"a": 1, "b": 2.0}, {"a": 1, "b": 3.0}, {"a": 2, "b": 5.0}))
    assert found.where(a=1).numbers("b").tolist() == [2.0, 3.0]
    assert found.levels("a") == [1.0, 2.0]
    with pytest.raises(ValueError, match="too many"):
        found.number("b")
    with pytest.raises(ValueError, match="at least one"):
        found.where(a=3)


def test_intervals_of_probabilities_are_wilsons() -> None:
    for hits, trials in ((0, 60), (3, 60), (60, 60), (500, 1000)):
        low, high = wilson(np.array([float(hits)]), np.array([float(trials)]))
        told = stats.binomtest(hits, trials).proportion_ci(0.95, method="wilson")
        assert (low[0], high[0]) == pytest.approx((told.low, told.high), abs=1e-6)


def test_intervals_of_mean_squares_cover() -> None:
    generator = np.random.default_rng(5)
    squares = (generator.normal(0, 3, (4000, 20)) ** 2).mean(axis=1)
    low, high = limits(squares, np.full(4000, 20.0))
    # 0.95 ± 0.0034 by chance; six of these.
    assert np.mean((low <= 9) & (high >= 9)) == pytest.approx(0.95, abs=0.021)


def test_agreement_of_many_cells_is_found_and_missed() -> None:
    generator = np.random.default_rng(8)
    truth, repeated = np.geomspace(1e-4, 1, 200), np.full(200, 300.0)
    errors = generator.normal(size=(200, 300)) * np.sqrt(truth)[:, None]
    squares, means = (errors**2).mean(axis=1), errors.mean(axis=1)
    assert as_predicted(squares, truth, repeated)
    assert centred(means, truth, repeated)
    for cell in (0, 137):
        wrong = truth.copy()
        wrong[cell] *= 2
        assert not as_predicted(squares, wrong, repeated)
        wrong[cell] /= 4
        assert not as_predicted(squares, wrong, repeated)
        moved = means.copy()
        moved[cell] += math.copysign(0.5 * math.sqrt(truth[cell]), moved[cell])
        assert not centred(moved, truth, repeated)


def test_spans() -> None:
    assert span(np.array([1.0, math.inf])) == "1 to ∞"
    assert span(np.array([0.5, 0.5])) == "0.5"
