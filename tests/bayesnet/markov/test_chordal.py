"""A field as a network: the same law for every record, and smoothing as it is stated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.chordal import MOVED, network_of
from panbayes.bayesnet.markov.field import Field
from panbayes.bayesnet.markov.nested import Nested
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
    records, smoothing = 2e6, 3.0
    for whole in random_fields(25, seed=9):
        structure, tables = network_of(whole.field, whole.parameters, records=records, smoothing=smoothing)
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
            counts = records * np.asarray(weight)[..., None]
            assert tables[v] == pytest.approx((counts * row + smoothing * law) / (counts + smoothing), abs=1e-9)


def moved_by(table: Floats, rows: Floats, law: Floats) -> float:
    """The part of all records that a smoothed table draws from the law of the single attribute."""
    counts = rows.sum(axis=-1, keepdims=True)
    exact = rows / counts
    far = np.abs(exact - law).max(axis=-1)
    part = np.abs(table - exact).max(axis=-1) / far
    return float((part * counts[..., 0]).sum() / counts.sum())


@pytest.mark.parametrize(("records", "smoothing"), [(500.0, 1.0), (5_000.0, 1.0), (5_000.0, 20.0)])
def test_smoothing_moves_a_thousandth_of_the_records_and_no_more(records: float, smoothing: float) -> None:
    """Two hundred rows, a third of them with hardly a record, share what may be moved: each row the same smoothing."""
    rng = np.random.default_rng(4)
    given = rng.dirichlet(np.full(200, 0.3))
    joint = given[:, None] * rng.dirichlet(np.ones(3), 200) + 1e-12
    joint /= joint.sum()
    laws = [joint.sum(axis=1), joint.sum(axis=0)]
    field = field_of(laws, [((0, 200), (1, 3))])
    structure, tables = network_of(field, np.log(joint / np.outer(*laws)).ravel(), records=records, smoothing=smoothing)
    (child,) = [v for v in (0, 1) if structure.parents(v)]
    rows = records * (joint if child == 1 else joint.T)
    counts = rows.sum(axis=1)
    assert (counts * smoothing / (counts + smoothing)).sum() > MOVED * records, "so much would be too much"
    assert moved_by(tables[child], rows, laws[child]) == pytest.approx(1e-3, rel=1e-4)
    each = [
        float(count * part / (1 - part))
        for count, part in zip(
            counts,
            np.abs(tables[child] - rows / counts[:, None]).max(1) / np.abs(rows / counts[:, None] - laws[child]).max(1),
            strict=True,
        )
        if count > 1e-3
    ]
    assert max(each) == pytest.approx(min(each), rel=1e-3)


def test_what_sharp_tables_forbid_is_possible_with_smoothing() -> None:
    field = field_of([np.full(2, 0.5), np.full(2, 0.5)], [((0, 2), (1, 2))])
    sharp = WrittenOut.of(field, np.array([400.0, -400.0, -400.0, 400.0]))
    assert law_of(sharp, records=100.0, smoothing=0.0).min() == 0.0
    found = law_of(sharp, records=1e5, smoothing=1.0)
    wrong = 1 / (4 * (1e5 / 2 + 1))
    assert found == pytest.approx([0.5 - wrong, wrong, wrong, 0.5 - wrong])


def test_a_row_that_nothing_speaks_of_has_the_law_of_the_single_attribute() -> None:
    """The first attribute is never 0: its row has no records, and none of smoothing either."""
    field = field_of([np.array([0.0, 1.0]), np.array([0.3, 0.7])], [((0, 2), (1, 2))])
    structure, tables = network_of(field, np.array([-800.0, -800.0, 0.0, 5.0]), records=10.0, smoothing=0.0)
    (child,) = [v for v in (0, 1) if structure.parents(v)]
    assert np.isfinite(tables[child]).all()
    assert tables[child].sum(axis=-1) == pytest.approx(np.ones(2))
    if child == 1:
        assert tables[1][0] == pytest.approx([0.3, 0.7])


def test_the_network_is_light_in_values_where_the_tree_of_groups_is_not() -> None:
    """A ring of four: groups are fewest if the two attributes of 200 values are joined, cells if the others are."""
    sizes = (200, 4, 200, 4)
    rng = np.random.default_rng(2)
    laws = tuple(rng.dirichlet(np.full(size, 5.0)) for size in sizes)
    tables = (((0, 2), (1, 4)), ((1, 4), (2, 2)), ((2, 2), (3, 4)), ((0, 2), (3, 4)))
    field = Field(laws, tuple(Nested.of(law, ordered=False) for law in laws), tables)
    parameters = rng.normal(size=int(field.start[-1]))
    assert any({0, 2} <= set(clique) for clique in field.tree.cliques)
    _, found = network_of(field, parameters, records=1e6, smoothing=0.0)
    assert sum(table.size for table in found) < 8_000  # and above 160,000 the other way
    groups, values = (one.calibrated(parameters)[1] for one in (field, field.light_in_values()))
    assert groups == pytest.approx(values)
