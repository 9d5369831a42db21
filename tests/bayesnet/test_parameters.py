"""Parameters from counts: likelihood, smoothing, clipping, empty rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from panbayes.bayesnet.learning.parameters import conditional, fit, fit_tables
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.errors import InputError
from tests.bayesnet.brute import random_network
from tests.effort import often

shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)


@given(hnp.arrays(np.float64, shapes, elements=st.floats(-50, 50)), st.sampled_from([0.0, 0.5, 1.0]))
def test_rows_are_distributions_whatever_the_counts(counts: NDArray[np.float64], smoothing: float) -> None:
    for empty in ("uniform", "marginal"):
        table = conditional(counts, smoothing=smoothing, empty="uniform" if empty == "uniform" else "marginal")
        assert table.shape == counts.shape
        assert np.all(table >= 0)
        np.testing.assert_allclose(table.sum(axis=-1), 1, atol=1e-12)


def test_smoothing_is_added_to_every_cell() -> None:
    table = conditional(np.array([[3, 1, 0], [0, 0, 0]]), smoothing=0.5)
    np.testing.assert_allclose(table, [[3.5 / 5.5, 1.5 / 5.5, 0.5 / 5.5], [1 / 3, 1 / 3, 1 / 3]])


def test_negative_counts_are_zero() -> None:
    np.testing.assert_allclose(conditional(np.array([[-4.5, 1.5, 0.5]])), [[0, 0.75, 0.25]])


def test_empty_rows_are_uniform_or_the_marginal() -> None:
    counts = np.array([[3, 1], [0, -2]])
    np.testing.assert_allclose(conditional(counts), [[0.75, 0.25], [0.5, 0.5]])
    np.testing.assert_allclose(conditional(counts, empty="marginal"), [[0.75, 0.25], [0.75, 0.25]])
    nothing = np.array([[0, -1], [-2, 0]])
    np.testing.assert_allclose(conditional(nothing, empty="marginal"), 0.5)


@pytest.mark.parametrize("smoothing", [-0.1, float("nan"), float("inf")])
def test_bad_smoothing_is_refused(smoothing: float) -> None:
    with pytest.raises(InputError, match="smoothing"):
        conditional(np.array([1, 2]), smoothing=smoothing)


def test_infinite_counts_are_refused() -> None:
    with pytest.raises(InputError, match="counts: found an infinite entry"):
        conditional(np.array([1, np.inf]))


@settings(max_examples=often(6, 30), deadline=None)
@given(st.integers(0, 10_000))
def test_no_other_tables_are_more_likely(seed: int) -> None:
    """Maximum likelihood: the fitted network beats the one that generated the records, and any mixture with it."""
    truth = random_network(seed, attributes=5, zeros=0)
    records = truth.sample_table(200, seed)
    counts = ExactCounts(records)
    fitted = fit(truth.schema, truth.structure, counts)
    likelihood = fitted.log_prob(records).sum()
    assert likelihood >= truth.log_prob(records).sum()
    for share in (0.01, 0.5):
        mixed = tuple((1 - share) * a + share * b for a, b in zip(fitted.tables, truth.tables, strict=True))
        other = type(fitted)(truth.schema, truth.structure, mixed)
        assert likelihood >= other.log_prob(records).sum() - 1e-9


def test_recovers_the_tables_from_many_records() -> None:
    truth = random_network(4, attributes=5, zeros=0)
    fitted = fit_tables(truth.structure, ExactCounts(truth.sample_table(400_000, 1)))
    joint_parents = [table.reshape(-1, table.shape[-1]) for table in truth.tables]
    for found, expected in zip(fitted, joint_parents, strict=True):
        assert np.abs(found.reshape(expected.shape) - expected).mean() < 0.02
