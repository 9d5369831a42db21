"""A field as a network: the same law for every record, and smoothing as it is stated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.chordal import network_of
from tests.bayesnet.markov.laws import WrittenOut, field_of, random_fields

Floats = NDArray[np.float64]


def law_of(whole: WrittenOut, *, records: float, smoothing: float) -> Floats:
    """The probability of every record under the network."""
    structure, tables = network_of(whole.field, whole.parameters, records=records, smoothing=smoothing)
    found = np.ones(len(whole.grid))
    for v, law in enumerate(whole.field.distributions):
        parents = structure.parents(v)
        assert tables[v].shape == (*(whole.field.distributions[u].size for u in parents), law.size)
        found *= tables[v][tuple(whole.grid[:, u] for u in (*parents, v))]
    return found


def test_without_smoothing_the_network_has_the_law_of_the_field() -> None:
    for whole in random_fields(60, seed=8):
        assert law_of(whole, records=100.0, smoothing=0.0) == pytest.approx(whole.probability, abs=1e-12)


def test_rows_are_smoothed_by_records_of_the_single_attribute() -> None:
    """By the definition: a row with parents of probability p has records·p records and ``smoothing`` more."""
    for whole in random_fields(25, seed=9):
        structure, tables = network_of(whole.field, whole.parameters, records=200.0, smoothing=3.0)
        for v, law in enumerate(whole.field.distributions):
            parents = structure.parents(v)
            if not parents and whole.field.sizes[v] == 1:
                assert tables[v] == pytest.approx(law)
                continue
            joint = whole.margin(tuple((u, whole.field.distributions[u].size) for u in (*parents, v)))
            sizes = tuple((u, whole.field.sizes[u]) for u in parents)
            weight = whole.margin(sizes) if sizes else np.ones(())
            for axis, u in enumerate(parents):  # of the parents' groups
                size = whole.field.sizes[u]
                groups = whole.field.nested[u].groups(size) if size > 1 else np.zeros(joint.shape[axis], dtype=int)
                weight = np.take(weight, groups, axis=axis)
            row = joint / joint.sum(axis=-1, keepdims=True)
            counts = 200.0 * np.asarray(weight)[..., None]
            assert tables[v] == pytest.approx((counts * row + 3.0 * law) / (counts + 3.0), abs=1e-9)


def test_what_sharp_tables_forbid_is_possible_with_smoothing() -> None:
    field = field_of([np.full(2, 0.5), np.full(2, 0.5)], [((0, 2), (1, 2))])
    sharp = WrittenOut.of(field, np.array([400.0, -400.0, -400.0, 400.0]))
    assert law_of(sharp, records=100.0, smoothing=0.0).min() == 0.0
    assert law_of(sharp, records=100.0, smoothing=1.0) == pytest.approx([101 / 204, 1 / 204, 1 / 204, 101 / 204])


def test_a_row_that_nothing_speaks_of_has_the_law_of_the_single_attribute() -> None:
    """The first attribute is never 0: its row has no records, and none of smoothing either."""
    field = field_of([np.array([0.0, 1.0]), np.array([0.3, 0.7])], [((0, 2), (1, 2))])
    structure, tables = network_of(field, np.array([-800.0, -800.0, 0.0, 5.0]), records=10.0, smoothing=0.0)
    (child,) = [v for v in (0, 1) if structure.parents(v)]
    assert np.isfinite(tables[child]).all()
    assert tables[child].sum(axis=-1) == pytest.approx(np.ones(2))
    if child == 1:
        assert tables[1][0] == pytest.approx([0.3, 0.7])
