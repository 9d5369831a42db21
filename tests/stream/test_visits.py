"""How often users came: the estimates are unbiased, the intervals hold, and what cannot be told is said."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.accuracy.density_error import geometric_variance, mse
from panbayes.stream.accuracy.statistic_law import confidence_interval
from panbayes.stream.accuracy.summed_noise import noise_reach, summed_noise
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.integers import IntegerUniverse
from panbayes.stream.laws.counter_law import CounterLaw, counter_law
from panbayes.stream.planning import plan_sample
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.coins import seeded_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.statistics.methods.statistic import Answer, Budget, Released
from panbayes.stream.statistics.methods.visits import Visits, _bins
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.visits_estimate import VisitsEstimate
from tests.effort import often, some
from tests.stream.slots import blocks_of

SHARES = (0.4, 0.3, 0.15, 0.1, 0.05)
MEAN = 1.1


def a_stream(size: int, seed: int) -> NDArray[np.int64]:
    """Users 0 … size − 1, of whom 40 % never come, 30 % once, and so on; in any order."""
    counts = np.repeat(np.arange(len(SHARES)), [round(share * size) for share in SHARES])
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(size), counts))


CALIBRATIONS = {sample: Visits(4).calibrate(Budget(Fraction(3), sample, 2000)) for sample in (500, 2000)}


def released(seed: int, sample: int) -> tuple[IntegerUniverse, tuple[int, ...]]:
    """Play a stream of 2,000 users, with a sample, coins and noise of their own for every seed; return what leaves."""
    key = np.random.default_rng(seed).bytes(96) if sample < 2000 else b""
    users, chosen = IntegerUniverse(Sampling(2000, sample, key)), CALIBRATIONS[sample]
    store = MemoryStore(StreamSetup(users, chosen, Visits(4)), seeded_coins(seed))
    with store.feeding() as entries:
        for slots in blocks_of(users, a_stream(2000, seed), entries.arena):
            entries.redraw(slots, present=True, coins=seeded_coins(seed))
        noise = SimulatedNoise(seed).discrete_laplace(5, scale=chosen.noise_scale)
        return users, tuple(int(n) for n in np.array(entries.counts()) + noise)


def run(seed: int, sample: int = 2000) -> VisitsEstimate:
    users, counts = released(seed, sample)
    release = Released(counts, fresh=True, left=0, private=False)
    return Visits(4).answer(CALIBRATIONS[sample], users, release, confidence=0.8)


@pytest.mark.parametrize("sample", [500, 2000])
def test_shares_are_unbiased_and_err_as_predicted(sample: int) -> None:
    """400 runs: means within 4.5 standard errors, and root mean squared errors within 14 % of the predicted ones.

    The root of a mean of n squares has a relative standard error of 1/√(2n), here 3.5 %; four are allowed.
    """
    chosen = CALIBRATIONS[sample]
    odds = float(chosen.law.odds)
    counts = np.array([released(seed, sample)[1] for seed in range(400)])
    found = ((odds + 4) * counts / sample - 1) / (odds - 1)
    for t in range(5):
        assert abs(found[:, t].mean() - SHARES[t]) < 4.5 * found[:, t].std() / 20
        predicted = mse(_bins(chosen.law, 1, float(chosen.noise_scale), sample, 2000), SHARES[t])
        squares = (found[:, t] - SHARES[t]) ** 2
        assert math.sqrt(squares.mean()) == pytest.approx(math.sqrt(predicted), rel=0.14)


@pytest.mark.parametrize(("sample", "runs"), some([(500, 30), (2000, 60)], 1))
def test_intervals_hold(sample: int, runs: int) -> None:
    """Every interval of every run: no coverage more than 4 standard errors below 0.8."""
    answers = [run(seed, sample) for seed in range(runs)]
    truth = [(SHARES[t], [answer.exactly[t] for answer in answers]) for t in range(5)]
    truth += [(sum(SHARES[k:]), [answer.at_least[k] for answer in answers]) for k in range(1, 5)]
    truth += [(MEAN, [answer.mean for answer in answers])]
    covered = [[share.low <= true <= share.high for share in found] for true, found in truth]
    assert min(np.mean(row) for row in covered) > 0.8 - 4 * math.sqrt(0.16 / runs)
    assert np.mean(covered) > 0.8 - 4 * math.sqrt(0.16 / runs / 4)  # nine figures of one run say as much as four
    for _, found in truth:
        assert all(0 <= share.low <= share.share <= share.high <= 4 for share in found)
    means = np.array([answer.mean.unbiased for answer in answers])
    assert abs(means.mean() - MEAN) < 4.5 * means.std() / math.sqrt(runs)
    stated = np.mean([answer.mean.high - answer.mean.low for answer in answers]) / 2 / stats.norm.ppf(0.9)
    assert means.std() < stated * (1 + 4 / math.sqrt(2 * runs))
    assert stated < 1.6 * means.std()


def test_intervals_hold_where_the_noise_of_many_releases_is_most_of_the_error() -> None:
    """Three places have three noises, in the predicted error and in the intervals."""
    chosen = Visits(5).calibrate(Budget(Fraction(1), 1000, 1000, releases=300))
    scale, share, runs = float(chosen.noise_scale), 0.3, often(30, 60)
    design = _bins(chosen.law, 3, scale, 1000, 1000)
    assert design.noise_terms == 3
    rng = np.random.default_rng(4)
    counted = rng.binomial(300, design.update[1], 20_000) + rng.binomial(700, design.init[1], 20_000)
    noise = rng.geometric(-math.expm1(-1 / scale), (2, 3, 20_000)).sum(axis=1)
    totals = counted + noise[0] - noise[1]
    errors = (totals / 1000 - design.mean_init) / design.signal - share
    assert np.mean(errors**2) == pytest.approx(mse(design, share), rel=0.08)
    ends = [confidence_interval(design, statistic=total, confidence=0.8) for total in totals[:runs].tolist()]
    assert np.mean([low <= share <= high for low, high in ends]) > 0.8 - 4 * math.sqrt(0.16 / runs)


def test_at_least_uses_the_noise_of_as_few_places_as_it_can() -> None:
    """Of five places, "1 or more" is the complement of one place and "4 or more" is one place."""
    answer = run(1)
    assert answer.at_least[1].unbiased == pytest.approx(1 - answer.exactly[0].unbiased, abs=1e-12)
    assert answer.at_least[4] == answer.exactly[4]
    assert answer.at_least[2].unbiased == pytest.approx(
        1 - answer.exactly[0].unbiased - answer.exactly[1].unbiased, abs=1e-12
    )
    assert answer.at_least[3].unbiased == pytest.approx(
        answer.exactly[3].unbiased + answer.exactly[4].unbiased, abs=1e-12
    )
    assert answer.returning == answer.at_least[2]
    assert answer.at_least[0].share == 1


@pytest.mark.parametrize(("places", "near_none", "near_all"), [(4, 46, 59), (8, 65, 90), (16, 95, 135)])
def test_the_error_is_as_the_theory_says(places: int, near_none: int, near_all: int) -> None:
    """At E = 1 and 100,000 users, in ten thousandths."""
    chosen = Visits(places - 1).calibrate(Budget(Fraction(1), 100_000, 100_000))
    design = _bins(chosen.law, 1, float(chosen.noise_scale), 100_000, 100_000)
    assert [round(1e4 * math.sqrt(mse(design, share))) for share in (0, 1)] == [near_none, near_all]
    assert Visits(places - 1).rmse(chosen, sample=100_000, universe=100_000) == pytest.approx(near_all / 1e4, rel=0.01)


def test_the_split_is_the_best_one() -> None:
    best = Visits(7).calibrate(Budget(Fraction(1), 10_000, None))
    for part in ("1/2", "0.8", "0.85", "0.99"):
        other = Visits(7).calibrate(Budget(Fraction(1), 10_000, None, state_epsilon=Fraction(part)))
        assert Visits(7).rmse(other, sample=10_000, universe=None) > Visits(7).rmse(best, sample=10_000, universe=None)


def test_counters_go_round() -> None:
    """Whoever came p times looks like nobody, p + 1 times like once; and a visit can be taken back."""
    size = 30_000
    with StreamEstimator(size, Visits(3), epsilon=8, noise=SimulatedNoise(3), coins=seeded_coins(3)) as estimator:
        estimator.update(np.repeat(np.arange(size // 2), 5))
        estimator.update(np.arange(size // 2, size))
        estimator.remove(np.arange(size // 2, size))
        answer = estimator.estimate()
    assert [round(share.unbiased, 1) for share in answer.exactly] == [0.5, 0.5, 0, 0]
    assert "4 visits look like 0, 5 like 1" in repr(answer)


def test_the_histogram_and_the_moves_against_brute_force() -> None:
    law, sample = counter_law(Fraction(1), 5), 1000
    entries = Entries(law, sample, np.zeros(law.state_bytes(sample), dtype=np.uint8))
    entries.initialize(seeded_coins(1))
    expected = entries.memory[:sample].astype(int)
    rng = np.random.default_rng(2)
    for present in (True, False, True):
        slots = rng.integers(-50, sample + 50, 3000)
        for slot in slots:
            if 0 <= slot < sample:
                expected[slot] = (expected[slot] + (1 if present else -1)) % 5
        entries.redraw(slots, present=present, coins=seeded_coins(9))
        np.testing.assert_array_equal(entries.memory[:sample], expected)
        assert entries.counts() == tuple(int((expected == place).sum()) for place in range(5))


def test_the_start_has_its_law() -> None:
    law, sample = counter_law(Fraction(1), 8), 400_000
    entries = Entries(law, sample, np.zeros(law.state_bytes(sample), dtype=np.uint8))
    entries.initialize(seeded_coins(4))
    counts, expected = np.array(entries.counts()), np.array(law.init) / sum(law.init) * sample
    assert float(((counts - expected) ** 2 / expected).sum()) < 45  # χ² with 7 degrees: 1 in 7 million


def test_the_law_of_summed_noise() -> None:
    """Against a direct convolution, and with less than 10⁻¹⁵ outside."""
    for scale, terms in itertools.product((0.7, 3.0, 25.0), (1, 2, 5)):
        z, p = summed_noise(scale, terms)
        one = np.exp(-np.abs(np.arange(-2000, 2001)) / scale)
        one /= one.sum()
        direct = one
        for _ in range(terms - 1):
            direct = np.convolve(direct, one, mode="same")
        middle = direct.size // 2
        near = np.abs(z) <= 1500
        np.testing.assert_allclose(p[near], direct[(middle + z[near]).astype(int)], atol=1e-14)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert float(p @ z**2) == pytest.approx(terms * geometric_variance(scale), rel=1e-9)
    for terms in range(1, 33):
        assert stats.gamma.sf(noise_reach(1.0, terms), terms) < 1e-15


def test_the_plan_keeps_its_promise() -> None:
    """The failure probability of the planned sample, simulated; 5 % more would be seen."""
    found = plan_sample(epsilon=2, alpha=0.05, beta=0.05, statistic=Visits(3))
    law, scale = found.calibration.law, float(found.calibration.noise_scale)
    assert isinstance(law, CounterLaw)
    assert found.sample_thesis is None
    rng, trials = np.random.default_rng(5), 200_000
    design = _bins(law, 1, scale, found.sample, None)
    worst = 0.0
    for share in (0.5, 0.7, 0.8, 0.9, 1.0):
        present = rng.binomial(found.sample, share, trials)
        counted = rng.binomial(present, design.update[1]) + rng.binomial(found.sample - present, design.init[1])
        noise = rng.geometric(-math.expm1(-1 / scale), (2, trials))
        wrong = np.abs((counted + noise[0] - noise[1]) / found.sample - design.mean_init - share * design.signal)
        worst = max(worst, float(np.mean(wrong / design.signal >= 0.05)))
    assert 0.045 < worst < 0.05 + 4 * math.sqrt(0.05 * 0.95 / trials)
    fewer = plan_sample(epsilon=2, alpha=0.05, beta=0.05, statistic=Visits(2))
    assert fewer.sample < found.sample


def test_a_file_of_visits_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "v"
    with StreamEstimator.create(path, 5000, Visits(3), epsilon=6, releases=2) as estimator:
        estimator.update(a_stream(5000, 1)[:4000])
        setup = estimator.setup
    with StreamEstimator[Answer].open(path) as again:
        assert again.setup == setup
        assert again.setup.statistic == Visits(3)
        again.update(a_stream(5000, 1)[4000:])
        answer = again.estimate()
    assert isinstance(answer, VisitsEstimate)
    # A user with four visits looks like one with none.
    assert answer.exactly[1].share == pytest.approx(SHARES[1], abs=0.08)
    assert answer.exactly[0].share == pytest.approx(SHARES[0] + SHARES[4], abs=0.08)
    assert answer.private
    with StreamEstimator[Answer].open(path, writing=False) as reader:
        last = reader.last(confidence=0.5)
        assert isinstance(last, VisitsEstimate)
        assert (last.counts, last.fresh, last.releases_left) == (answer.counts, False, 1)
    with pytest.raises(InputError, match="another statistic, visits"):
        DensityEstimator.open(path)
    with StreamEstimator[Answer].open(path) as free:
        assert free.releases_left == 1  # the refused opening let the lock go
    assert json.dumps(answer.facts())


def test_a_density_is_a_statistic_too(tmp_path: Path) -> None:
    with DensityEstimator.create(tmp_path / "d", 2000, epsilon=8) as estimator:
        estimator.update(np.arange(1000))
    with StreamEstimator[Answer].open(tmp_path / "d") as general:
        facts = general.estimate().facts()
        general.remove(np.arange(1000))
    assert facts["density"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("most", [-1, 0, 1, 32])
def test_what_counters_cannot_tell_apart_is_refused(most: int) -> None:
    with pytest.raises(InputError, match=r"most: found .*; give a number of visits from 2 to 31"):
        Visits(most)


@pytest.mark.parametrize("part", ["0", "1", "2"])
def test_a_part_that_leaves_nothing_is_refused(part: str) -> None:
    with pytest.raises(InputError, match="state epsilon"):
        Visits(3).calibrate(Budget(Fraction(1), 10, 10, state_epsilon=Fraction(part)))


def test_an_estimate_shows_itself() -> None:
    answer = run(2)
    text = repr(answer)
    assert text.splitlines()[0] == "VisitsEstimate"
    assert " ".join(text.splitlines()[1].split()) == "visits exactly 80 % interval at least 80 % interval"
    assert len(text.splitlines()) == 2 + 5 + 4
    assert text.endswith("Guarantee: none: coins or noise were simulated.")
    assert answer._repr_html_().count("<tr>") == 6


def test_every_count_of_a_release_has_noise_of_its_own() -> None:
    """What leaves are the counts of the entries plus as many draws of the calibrated scale."""
    estimator = StreamEstimator(500, Visits(4), epsilon=1, noise=SimulatedNoise(7), coins=seeded_coins(5))
    answer, scale = estimator.estimate(), estimator.setup.calibration.noise_scale
    law = estimator.setup.calibration.law
    entries = Entries(law, 500, np.zeros(law.state_bytes(500), dtype=np.uint8))
    entries.initialize(seeded_coins(5))
    drawn = SimulatedNoise(7).discrete_laplace(5, scale=scale)
    assert len(set(drawn.tolist())) > 2
    assert answer.counts == tuple(np.array(entries.counts()) + drawn)
