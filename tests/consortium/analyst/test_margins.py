"""Tables without the noise of their margins: what is left, and the exact law of its noise."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from panbayes.bayesnet.markov.maxent import BRIEFLY
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.margins import (
    added_up,
    brought_to,
    law_without_margins,
    part_without_margins,
    raked,
    without_margins,
)
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

SHAPES = [(2, 2), (2, 5), (4, 3), (2, 2, 2), (3, 2, 4), (2, 2, 2, 3)]


def margins(table: FloatArray) -> list[FloatArray]:
    axes = range(table.ndim)
    return [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]


def raked_plainly(counts: FloatArray, wanted: list[FloatArray]) -> FloatArray:
    """Ten times over all axes, each scaled to its margin."""
    joint: FloatArray = counts / counts.sum()
    for _ in range(10):
        for axis, margin in enumerate(wanted):
            factor = margin / np.maximum(margins(joint)[axis], 1e-300)
            joint = joint * factor.reshape([-1 if place == axis else 1 for place in range(joint.ndim)])
    return np.asarray(joint / joint.sum())


@pytest.mark.parametrize("shape", [*SHAPES, (1, 4), (40, 30)])
def test_counts_are_scaled_axis_by_axis(shape: tuple[int, ...]) -> None:
    """As plainly, with empty cells and groups that are to be empty; the counts stay as they are."""
    rng = np.random.default_rng(2)
    counts = rng.gamma(0.5, 100.0, shape) * (rng.random(shape) > 0.2) + 1e-6
    kept = counts.copy()
    wanted = [rng.dirichlet(np.ones(size)) for size in shape]
    wanted[-1][0] = 0.0
    found = raked(counts, wanted)
    np.testing.assert_allclose(found, raked_plainly(counts, wanted), rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(counts, kept)
    turned = raked(counts.T, wanted[::-1])
    np.testing.assert_allclose(turned, raked_plainly(counts.T, wanted[::-1]), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_left_has_no_margins_and_all_else(shape: tuple[int, ...]) -> None:
    """It is a projection: nothing of a table of margins alone, all of a table without any, by its square the rest."""
    rng = np.random.default_rng(1)
    table = rng.normal(0.0, 10.0, shape)
    left = without_margins(table)
    for margin in margins(left):
        np.testing.assert_allclose(margin, 0.0, atol=1e-9)
    np.testing.assert_allclose(without_margins(left), left, atol=1e-9)
    alone = sum(
        (
            rng.normal(0.0, 1.0, [size if place == axis else 1 for place in range(len(shape))])
            for axis, size in enumerate(shape)
        ),
        np.zeros(shape),
    )
    np.testing.assert_allclose(without_margins(alone), 0.0, atol=1e-9)
    assert float((left * (table - left)).sum()) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_gets_the_margins_of_the_expected_one_and_keeps_its_dependence(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    table, expected = rng.normal(50.0, 9.0, shape), rng.uniform(1.0, 90.0, shape)
    found = brought_to(table, expected)
    for one, other in zip(margins(found), margins(expected), strict=True):
        np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(without_margins(found), without_margins(table), atol=1e-9)


def weights(shape: tuple[int, ...]) -> FloatArray:
    """How much every cell of a table counts in its first one, by pushing each alone through."""
    found = []
    for cell in product(*(range(size) for size in shape)):
        unit = np.zeros(shape)
        unit[cell] = 1.0
        found.append(float(without_margins(unit).ravel()[0]))
    return np.array(found)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gaussian", [True, False])
def test_the_law_of_a_cell_is_that_of_the_sum_it_is(shape: tuple[int, ...], gaussian: bool) -> None:
    """Its parts are the noise of every cell, as often and as loud as it counts."""
    law = NoiseLaw(gaussian, ((20.0, 2), (5.0, 1)))
    found = law_without_margins(law, shape)
    expected = sorted(
        (round(scale * abs(weight), 9))
        for weight in weights(shape)
        for scale, times in law.parts
        for _ in range(int(times))
    )
    assert sorted(round(scale, 9) for scale, times in found.parts for _ in range(int(times))) == [
        scale for scale in expected if scale
    ]
    assert found.deviation**2 == pytest.approx(law.deviation**2 * part_without_margins(shape))


def test_a_table_of_one_group_is_all_margins_and_its_noise_stays() -> None:
    law = NoiseLaw(True, ((20.0, 2),))
    assert law_without_margins(law, (1, 4)) is law
    np.testing.assert_allclose(without_margins(np.array([[3.0, 1.0, 4.0]])), 0.0, atol=1e-12)


def test_noise_that_is_drawn_has_the_law_that_is_said() -> None:
    """Laplace noise in tables of three by two, from two holders: deviation and a tail, within a tenth."""
    rng = np.random.default_rng(3)
    law = NoiseLaw(False, ((10.0, 2),))
    drawn = np.array([without_margins(rng.laplace(0.0, 10.0, (2, 3, 2)).sum(axis=0))[0, 0] for _ in range(40_000)])
    found = law_without_margins(law, (3, 2))
    assert np.std(drawn) == pytest.approx(found.deviation, rel=0.05)
    places = np.arange(-200.0, 200.0, 0.1)
    density = np.exp(found.log_density(places))
    density /= density.sum()
    for times in (1.0, 2.5):
        beyond = float(density[np.abs(places) > times * found.deviation].sum())
        assert np.mean(np.abs(drawn) > times * found.deviation) == pytest.approx(beyond, rel=0.1)


def test_single_attributes_add_up_where_their_noise_has_no_long_tails() -> None:
    table = np.array([700.0, 250.0])
    for gaussian, added in ((True, [725.0, 275.0]), (False, [700.0, 250.0])):
        (found,) = added_up([Measurement(((0, 2),), {"a": table}, NoiseLaw(gaussian, ((9.0, 1),)))], {"a": 1_000.0})
        assert found.tables["a"].tolist() == added


def belief(variance: float) -> Belief:
    law = np.array([0.7, 0.3])
    single = Estimate(law, np.full(2, variance))
    return Belief(1_000.0, (single, single), (Nested.of(law, ordered=False),) * 2)


def measured(table: FloatArray, *, centred: bool) -> Measurement:
    return Measurement(((0, 2), (1, 2)), {"a": table}, NoiseLaw(True, ((5.0, 1),)), centred=centred)


def test_a_centred_table_tells_of_dependence_and_leaves_single_attributes_alone() -> None:
    """The same table whole says that the first attribute is even, and moves it there."""
    whole = np.array([[420.0, 80.0], [280.0, 220.0]])
    first = belief(900.0)
    centred = first.learned([measured(without_margins(whole), centred=True)], (), effort=BRIEFLY)
    assert [single.distribution.tolist() for single in centred.singles] == [[0.7, 0.3]] * 2
    together = first.learned([measured(whole, centred=False)], (), effort=BRIEFLY)
    assert together.singles[0].distribution[0] < 0.6
    # Without margins the table is 70 and −70, and independence, 490, 210, 210 and 90 with these, 40 and −40.
    assert centred.known[0].mean == pytest.approx(np.array([[520.0, 180.0], [180.0, 120.0]]), rel=0.01)


def test_known_margins_let_weaker_dependence_through() -> None:
    """A deviation of 30 at noise of 20: hardly told from it in single cells, and three deviations without margins."""
    expected = np.array([[490.0, 210.0], [210.0, 90.0]])
    noisy = expected + np.array([[30.0, -30.0], [-30.0, 30.0]])
    law = NoiseLaw(True, ((20.0, 1),))
    found = belief(0.0).estimated(belief(0.0).expecting([Measurement(((0, 2), (1, 2)), {"a": noisy}, law)]))[0]
    assert law_without_margins(law, (2, 2)).deviation == pytest.approx(10.0)
    assert found.mean[1, 1] > 111
    assert math.sqrt(float(found.variance[1, 1])) < 12
