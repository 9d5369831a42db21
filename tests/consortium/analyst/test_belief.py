"""What the analyst believes: measurements averaged, single attributes corrected, one law fitted as stated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov import maxent
from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.maxent import BOUND, Effort
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.analyst.adaptive.belief import Belief, Known, slack_of
from panbayes.consortium.analyst.adaptive.estimation import (
    Estimate,
    estimate_given_model,
    estimate_marginals,
    update_by_groups,
)
from panbayes.consortium.analyst.adaptive.margins import brought_to, law_without_margins, raked
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from tests.bayesnet.markov.laws import WrittenOut

Floats = NDArray[np.float64]
RECORDS = 10_000.0
SIZES = (4, 3, 2, 5)
FINE, COARSE = NoiseLaw(True, ((10.0, 1),)), NoiseLaw(True, ((20.0, 1),))


def begun(*, variance: float = 400.0) -> Belief:
    rng = np.random.default_rng(1)
    laws = [rng.dirichlet(np.full(size, 5.0)) for size in SIZES]
    return Belief(
        RECORDS,
        tuple(Estimate(law, np.full(law.size, variance)) for law in laws),
        tuple(Nested.of(law, ordered=False) for law in laws),
    )


def measured(axes: Axes, counts: Floats, law: NoiseLaw = FINE, holders: int = 1) -> Measurement:
    parts = {f"h{j}": counts / holders for j in range(holders)}
    return Measurement(axes, parts, law)


def dependent(belief: Belief, axes: Axes, seed: int) -> Floats:
    """Counts of a table with the margins of the single attributes, more or less, that depend on each other."""
    rng = np.random.default_rng(seed)
    joint: Floats = np.ones(())
    for a, count in axes:
        joint = np.multiply.outer(joint, np.bincount(belief.nested[a].groups(count), belief.singles[a].distribution))
    joint = joint * rng.uniform(0.4, 2.0, joint.shape)
    return np.asarray(RECORDS * joint / joint.sum())


PAIR: Axes = ((0, 4), (1, 2))
OTHER: Axes = ((1, 3), (2, 2))


def test_two_measurements_are_averaged_by_their_variances() -> None:
    one, two = np.array([[100.0, 50.0]]), np.array([[200.0, 0.0]])
    known = Known(((0, 1), (1, 2)), one, FINE, one + 7, one, one, one)
    again = known.again(two, COARSE)
    assert again.noisy == pytest.approx(0.8 * one + 0.2 * two)
    assert again.law.deviation == pytest.approx(1 / math.sqrt(1 / 100 + 1 / 400))
    assert again.expected is known.expected
    third = again.again(two, COARSE)
    assert third.law.deviation == pytest.approx(1 / math.sqrt(1 / 100 + 2 / 400))
    laplace = Known(((0, 1), (1, 2)), one, NoiseLaw(False, ((3.0, 2),)), one, one, one, one)
    assert laplace.again(two, NoiseLaw(False, ((3.0, 2),))).law.deviation == pytest.approx(math.sqrt(2 * 9))


def test_a_new_table_is_estimated_from_what_the_law_expected_before_it() -> None:
    """First independence, then the fitted law; and what was expected stays when it is measured again."""
    belief = begun()
    counts = dependent(belief, PAIR, 2)
    first = belief.learned([measured(PAIR, counts)], (), effort=Effort(200))
    alone = [np.bincount(belief.nested[a].groups(c), belief.singles[a].distribution) for a, c in PAIR]
    assert first.known[0].expected == pytest.approx(RECORDS * np.outer(*alone))
    expected = RECORDS * raked(first.known[0].expected, first.margins(PAIR))
    law = law_without_margins(FINE, counts.shape)
    ((mean, variance),) = estimate_given_model([brought_to(counts, expected)], [expected], [law])
    assert first.known[0].mean == pytest.approx(mean)
    assert first.known[0].variance == pytest.approx(variance)
    wide: Axes = ((0, 2), (1, 3), (3, 5))
    second = first.learned([measured(wide, dependent(belief, wide, 3))], (), effort=Effort(50))
    written = WrittenOut.of(first.field, first.parameters)
    assert second.known[1].expected == pytest.approx(RECORDS * written.margin(wide), abs=1e-8)
    again = [measured(table.axes, table.noisy + 30.0, COARSE) for table in second.known]
    third = second.learned((), again, effort=Effort(50))
    assert [table.axes for table in third.known] == [PAIR, wide]
    for before, after in zip(second.known, third.known, strict=True):
        assert after.expected is before.expected
        assert after.noisy == pytest.approx(before.noisy + 6.0)
        assert after.law.deviation < before.law.deviation


def test_new_tables_and_known_ones_again_come_in_together_in_their_order() -> None:
    belief = begun().learned([measured(PAIR, dependent(begun(), PAIR, 2))], (), effort=Effort(20))
    (old,) = belief.known
    both = belief.learned(
        [measured(OTHER, dependent(belief, OTHER, 4))], [measured(PAIR, old.noisy, FINE)], effort=Effort(20)
    )
    assert [table.axes for table in both.known] == [PAIR, OTHER]
    assert both.known[0].law.deviation == pytest.approx(FINE.deviation / math.sqrt(2))
    assert both.known[1].law.deviation == pytest.approx(FINE.deviation)
    fresh = belief.learned([measured(OTHER, dependent(belief, OTHER, 4))], (), effort=Effort(20))
    assert fresh.known[0].mean is belief.known[0].mean


@pytest.mark.parametrize("holders", [1, 3])
def test_sums_of_tables_correct_the_single_attributes(holders: int) -> None:
    belief = begun(variance=1e5)
    counts = dependent(belief, PAIR, 5)
    found = belief.learned([measured(PAIR, counts, holders=holders)], (), effort=Effort(1))
    for axis, (a, count) in enumerate(PAIR):
        error = 10.0 * math.sqrt(holders) * math.sqrt(counts.size / count)
        by_hand = update_by_groups(
            belief.singles[a], belief.nested[a].groups(count), counts.sum(axis=1 - axis), error, RECORDS
        )
        assert found.singles[a].distribution == pytest.approx(by_hand.distribution)
        assert found.singles[a].variance == pytest.approx(by_hand.variance)
        assert np.abs(found.singles[a].distribution - belief.singles[a].distribution).max() > 0.002
    assert found.singles[2] is belief.singles[2]
    assert found.singles[3] is belief.singles[3]


@pytest.mark.parametrize(("records", "deviation"), [(10_000.0, 300.0), (200.0, 0.5)], ids=["noise", "chance"])
def test_the_law_is_the_optimum_of_the_stated_fit(
    monkeypatch: pytest.MonkeyPatch, records: float, deviation: float
) -> None:
    """μ − m + r·θ vanishes: m has the margins of the single attributes, r is the noise and chance as stated."""
    monkeypatch.setattr(maxent, "_WELL_BELOW", 0.0)  # or else it is fitted as closely only as m is known
    belief = replace(begun(), records=records)
    tables: list[Axes] = [PAIR, OTHER, ((0, 2), (3, 5))]
    law = NoiseLaw(True, ((deviation, 1),))
    counts = [dependent(belief, axes, 6 + place) * records / RECORDS for place, axes in enumerate(tables)]
    found = belief.learned(
        [measured(axes, table, law) for axes, table in zip(tables, counts, strict=True)], (), effort=Effort(300)
    )
    margins = WrittenOut.of(found.field, found.parameters)
    largest = 0.0
    for table in found.known:
        target = table.mean / table.mean.sum()
        for _ in range(300):
            for axis, (a, count) in enumerate(table.axes):
                wanted = np.bincount(found.nested[a].groups(count), found.singles[a].distribution)
                sums = target.sum(axis=tuple(o for o in range(target.ndim) if o != axis), keepdims=True)
                shape = [-1 if o == axis else 1 for o in range(target.ndim)]
                target = target / sums * wanted.reshape(shape)
        slack = target.size * (table.variance + 0.5) / records**2 + 5 * target / records
        gradient = margins.margin(table.axes) - target + slack * table.parameters
        assert np.abs(gradient / np.sqrt(target + slack)).max() < 1e-4
        largest = max(largest, float(np.abs(slack * table.parameters / np.sqrt(target + slack)).max()))
    assert largest > 5e-4  # a slack that is wrong by a third is seen


def test_a_law_is_fitted_as_closely_as_its_tables_are_known() -> None:
    """Noise of half a record, or of fifty and three hundred: margins miss their targets accordingly."""
    misses = []
    for deviation in (0.5, 50.0, 300.0):
        belief, law = begun(), NoiseLaw(True, ((deviation, 1),))
        tables: list[Axes] = [PAIR, OTHER, ((0, 2), (3, 5))]
        new = [measured(axes, dependent(belief, axes, 6 + place), law) for place, axes in enumerate(tables)]
        found = belief.learned(new, (), effort=Effort(300, 0.0))
        targets = [raked(table.mean, found.margins(table.axes)) for table in found.known]
        slack = [slack_of(table, target, RECORDS) for table, target in zip(found.known, targets, strict=True)]
        margins = WrittenOut.of(found.field, found.parameters)
        free = [np.abs(table.parameters) < BOUND for table in found.known]
        squares = [
            (RECORDS * (margins.margin(table.axes) - target + more * table.parameters)) ** 2
            for table, target, more in zip(found.known, targets, slack, strict=True)
        ]
        known = np.concatenate([(table.variance + 0.5).ravel() for table in found.known])
        inside = np.concatenate([one.ravel() for one in free])
        missed = np.where(inside, np.concatenate([square.ravel() for square in squares]), 0.0)
        assert np.mean(missed / known) < 0.02
        misses.append(float(missed.mean()))
    assert misses[0] < misses[1] / 5 < misses[2] / 10


def test_a_belief_of_fewer_records_says_the_same_and_is_as_certain_of_its_noise() -> None:
    rng = np.random.default_rng(3)
    singles = [measured(((a, size),), RECORDS * rng.dirichlet(np.full(size, 5.0))) for a, size in enumerate(SIZES)]
    whole = Belief.begun(RECORDS, singles, ordered=(0,) * len(SIZES))
    whole = whole.learned([measured(PAIR, dependent(whole, PAIR, 2))], (), effort=Effort(20)).idling([OTHER])
    part = whole.rescaled(RECORDS / 4)
    assert whole.rescaled(RECORDS) is whole
    assert part.records == RECORDS / 4
    assert part.idle == whole.idle
    for mine, theirs in zip(part.network(0.0)[1], whole.network(0.0)[1], strict=True):
        assert mine == pytest.approx(theirs)
    for one, other in zip(part.singles, whole.singles, strict=True):
        assert one.variance == pytest.approx(other.variance / 16)
    for (counts, law), (before, its) in zip(part.counted, whole.counted, strict=True):
        assert counts == pytest.approx(before / 4)
        assert law.deviation == pytest.approx(its.deviation / 4)
    (new,), (old,) = part.known, whole.known
    for name in ("noisy", "expected", "mean"):
        assert getattr(new, name) == pytest.approx(getattr(old, name) / 4)
    assert new.variance == pytest.approx(old.variance / 16)
    assert new.law.deviation == pytest.approx(old.law.deviation / 4)


@pytest.mark.parametrize("part", [0.2, 0.5])
def test_what_fewer_holders_measure_is_no_news_where_it_is_as_much_less(part: float) -> None:
    """A part of what the law expects, of a new table and of a known one: single attributes and law stay."""
    whole = begun().learned([measured(PAIR, dependent(begun(), PAIR, 2))], (), effort=Effort(400))
    belief = whole.rescaled(part * RECORDS)
    (found,) = belief.expecting([measured(OTHER, np.ones((3, 2)))])
    margin = WrittenOut.of(whole.field, whole.parameters).margin
    assert found.expected == pytest.approx(part * RECORDS * margin(OTHER))
    after = belief.learned(
        [measured(OTHER, part * RECORDS * margin(OTHER))],
        [measured(PAIR, part * RECORDS * margin(PAIR))],
        effort=Effort(400),
    )
    for one, other in zip(after.singles, whole.singles, strict=True):
        assert one.distribution == pytest.approx(other.distribution, abs=1e-4)
    law = WrittenOut.of(after.field, after.parameters)
    assert law.margin(OTHER) == pytest.approx(margin(OTHER), abs=2e-3)
    assert law.margin(PAIR) == pytest.approx(margin(PAIR), abs=2e-3)


def test_measurements_by_all_and_by_some_holders_together_have_the_law_that_is_said() -> None:
    """Three holders with 100 records in each of 40,000 cells, then two of them again: within 3 % of the deviation."""
    rng = np.random.default_rng(6)
    noise = NoiseLaw(True, ((10.0, 1),))
    first, second = (rng.normal(100.0, 10.0, (number, 40_000)).sum(axis=0) for number in (3, 2))
    known = Known(((0, 40_000),), first, noise.summed(3), first, first, first, first)
    together = known.rescaled(2 / 3).again(second, noise.summed(2))
    assert together.noisy.mean() == pytest.approx(200.0, abs=0.3)
    assert together.noisy.std() == pytest.approx(together.law.deviation, rel=0.03)
    assert together.law.deviation == pytest.approx(1 / math.sqrt(9 / (4 * 300) + 1 / 200))


def test_a_belief_without_tables_is_independence() -> None:
    structure, tables = begun().network(5.0)
    assert structure.edges == ()
    for table, single in zip(tables, begun().singles, strict=True):
        assert np.array_equal(table, single.distribution)


def test_a_second_count_of_single_attributes_weighs_by_its_variance_and_they_are_estimated_anew() -> None:
    """Noise of deviation 10 and 20: four fifths of the first and one fifth of the second, with deviation √80."""
    counts = (np.array([6_000.0, 3_000.0, 900.0, 100.0]), np.array([5_000.0, 5_000.0]))
    first = [measured(((a, table.size),), table + 50) for a, table in enumerate(counts)]
    second = [measured(((a, table.size),), table - 200, COARSE) for a, table in enumerate(counts)]
    belief = Belief.begun(RECORDS, first, ordered=(0, 0))
    again = belief.counted_again(second, ordered=(0, 0))
    for table, (together, law) in zip(counts, again.counted, strict=True):
        assert together == pytest.approx(table)
        assert law.deviation == pytest.approx(math.sqrt(80))
    alone = [estimate_marginals([t for t, _ in again.counted], [law for _, law in again.counted], RECORDS, (0,) * 2)]
    for found, by_hand in zip(again.singles, *alone, strict=True):
        assert found.distribution == pytest.approx(by_hand.distribution)
    assert again.nested == belief.nested


def test_the_noise_of_single_attributes_costs_the_bits_of_its_variance() -> None:
    """v/(2·n·c) nats in a cell of c of n records, and no more than the cell has."""
    law, variance = np.array([0.5, 0.4999, 0.0001]), np.array([400.0, 900.0, 400.0])
    belief = replace(begun(), singles=(Estimate(law, variance),) * 3)
    cells = 400 / (2 * 1e8 * 0.5) + 900 / (2 * 1e8 * 0.4999) + 0.0001
    assert belief.noise_of_singles == pytest.approx(3 * cells / math.log(2))


def test_tables_tell_each_other_how_strong_dependencies_are_within_their_batch_only() -> None:
    """Strong tables of one batch and weak ones of another: each is estimated as if the other batch were not there."""
    rng = np.random.default_rng(3)
    expected = np.full((6, 6), 100.0)

    def table(spread: float, batch: int) -> Known:
        noisy = expected * np.exp(rng.normal(0.0, spread, (6, 6))) + rng.normal(0.0, 20.0, (6, 6))
        return Known(((0, 6), (1, 6)), noisy, COARSE, expected, expected, expected, expected, batch)

    strong, weak = [table(1.0, 1) for _ in range(4)], [table(0.0, 2) for _ in range(4)]
    even = Estimate(np.full(6, 1 / 6), np.zeros(6))
    belief = Belief(3_600.0, (even, even), (Nested.of(even.distribution, ordered=True),) * 2)
    apart = [*belief.estimated(strong), *belief.estimated(weak)]
    mixed = belief.estimated([place for two in zip(strong, weak, strict=True) for place in two])
    for one, other in zip(apart, [*mixed[::2], *mixed[1::2]], strict=True):
        np.testing.assert_array_equal(one.mean, other.mean)
        np.testing.assert_array_equal(one.variance, other.variance)
    together = belief.estimated([replace(known, batch=0) for known in (*strong, *weak)])
    assert not np.array_equal(together[0].mean, apart[0].mean)
