"""Thinned entries in panels: what they lose, what they estimate, and how far off that may be."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.accuracy.density_error import geometric_variance
from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.guarantee.proof import loss_of, surely_keeps
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.integers import IntegerUniverse
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.laws.thinned_law import LEAST_KEEP, WEIGHT, Panel, ThinnedLaw
from panbayes.stream.panel_estimate import PanelEstimate
from panbayes.stream.planning import plan_sample
from panbayes.stream.state.coins import seeded_coins
from panbayes.stream.state.count_kernels import thin
from panbayes.stream.state.entries import Entries
from panbayes.stream.statistics.methods.panel_design import best_panels, worst_bias
from panbayes.stream.statistics.methods.statistic import Answer, Budget, Released
from panbayes.stream.statistics.methods.thinning import CroppedMean, Returning
from panbayes.stream.stream_estimator import StreamEstimator
from tests.effort import some
from tests.stream.joint_laws import COME, NOTHING, Process, worst_ratio

KEY = np.random.default_rng(0).bytes(96)


def thinned_bits(theta: Fraction, *, same_panel: bool, base: int = 2) -> Process:
    """Two bits, 1 with probability 1/4 at first and 3/4 once redrawn; an appearance redraws with probability θ."""
    scale = 4 * theta.denominator
    stay = np.eye(2, dtype=np.int64)
    redraw = np.array([[1, 3], [1, 3]], dtype=np.int64)
    come = (theta.denominator - theta.numerator) * 4 * stay + theta.numerator * redraw
    places = (0, 0) if same_panel else (0, 1)
    tally = np.zeros((2, 2, 2), dtype=np.int64)
    for user, place in enumerate(places):
        tally[user, 1, place] = 1
    return Process(np.array([3, 1], dtype=np.int64), (scale * stay, come), tally, base)


@pytest.mark.parametrize("theta", ["1", "1/2", "1/5"])
@pytest.mark.parametrize("same_panel", [True, False])
@pytest.mark.parametrize("releases", [1, 2])
def test_thinning_loses_no_more_than_the_bits(theta: str, same_panel: bool, releases: int) -> None:
    """Every pair of adjacent streams, look, release times and observation; θ = 1 reaches the bound exactly."""
    process = thinned_bits(Fraction(theta), same_panel=same_panel)
    found = worst_ratio(process, length=2, releases=releases, events=(NOTHING, COME))
    bound = 3 * (1 + Fraction(3, 4) * (2**releases - 1))
    assert found <= bound
    assert (found == bound) == (theta == "1")
    assert found > Fraction(theta) * 2


def test_a_thinned_law_is_proved_by_its_bits() -> None:
    bits = optimal_bernoulli(Fraction(1, 2))
    law = ThinnedLaw(bits, (Panel(10, COIN, WEIGHT), Panel(20, COIN // 2, -WEIGHT)), KEY)
    for rate in (Fraction(1, 10), Fraction(1, 2), Fraction(2)):
        assert loss_of(law, float(rate)) == loss_of(bits, float(rate))
        assert surely_keeps(law, rate, Fraction(1)) == surely_keeps(bits, rate, Fraction(1))
    assert not surely_keeps(law, Fraction(2), Fraction(1))
    assert (law.sample, law.levels, law.loss(), law.state_bytes(30)) == (30, 2, bits.loss(), 8)
    with pytest.raises(ValueError, match="together lose more"):
        Calibration(Fraction(1), Fraction(1, 2), law, Fraction(1, 2), 1)


@pytest.mark.parametrize("statistic", [CroppedMean(5), Returning()], ids=lambda s: s.name)
@pytest.mark.parametrize("releases", [1, 20])
def test_calibrations_spend_their_budget(statistic: CroppedMean | Returning, releases: int) -> None:
    chosen = statistic.calibrate(Budget(Fraction(2), 5000, 5000, releases))
    assert 2 * 0.9999 <= chosen.loss() <= 2
    assert chosen.law.sample == 5000
    assert sum(panel.size for panel in chosen.law.panels) == 5000


def entries_of(panels: tuple[Panel, ...], *, seed: int) -> Entries:
    law = ThinnedLaw(optimal_bernoulli(Fraction(2)), panels, KEY)
    entries = Entries(law, law.sample, np.zeros(law.state_bytes(law.sample), dtype=np.uint8))
    entries.initialize(seeded_coins(seed))
    return entries


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=7), st.integers(0, 2**32 - 1))
def test_the_counts_of_panels_of_any_size(sizes: list[int], seed: int) -> None:
    entries = entries_of(tuple(Panel(size, COIN, WEIGHT) for size in sizes), seed=1)
    entries.memory[:] = np.random.default_rng(seed).integers(0, 256, entries.memory.size)
    bits = np.unpackbits(entries.memory, bitorder="little")
    ends = np.cumsum(sizes)
    assert entries.counts() == tuple(
        int(bits[end - size : end].sum()) for size, end in zip(sizes, ends.tolist(), strict=True)
    )


@given(st.lists(st.tuples(st.integers(-5, 40), st.integers(0, COIN - 1)), min_size=1, max_size=60))
def test_coins_decide_which_appearances_count(events: list[tuple[int, int]]) -> None:
    ends, keep = np.array([7, 8, 30]), np.array([COIN, COIN // 2, 5], dtype=np.uint64)
    slots = np.array([slot for slot, _ in events], dtype=np.int64)
    thin(slots, ends, keep, np.array([coin for _, coin in events], dtype=np.uint32))
    for (slot, coin), found in zip(events, slots.tolist(), strict=True):
        if 0 <= slot < 30:
            panel = 0 if slot < 7 else 1 if slot < 8 else 2
            assert found == (slot if coin < int(keep[panel]) else -1)
        else:
            assert found == slot


def test_a_coin_counts_if_it_is_below_the_threshold() -> None:
    slots = np.array([0, 0, 1, 1], dtype=np.int64)
    thin(slots, np.array([1, 2]), np.array([5, COIN], dtype=np.uint64), np.array([4, 5, 0, COIN - 1], dtype=np.uint32))
    assert slots.tolist() == [0, -1, 1, 1]


@pytest.mark.parametrize("batch", [2_000, 300_000])
def test_panels_see_their_part_of_the_visits(batch: int) -> None:
    """After c visits of everybody an entry was redrawn with probability 1 − (1 − θ)^c: within 5 standard errors."""
    thetas, size, visits = (1.0, 0.5, 0.1), 100_000, 3
    entries = entries_of(tuple(Panel(size, round(t * COIN), WEIGHT) for t in thetas), seed=2)
    coins, law = seeded_coins(3), optimal_bernoulli(Fraction(2))
    for _ in range(visits):
        for start in range(0, 3 * size, batch):
            entries.redraw(np.arange(start, start + batch), present=True, coins=coins)
    for count, theta in zip(entries.counts(), thetas, strict=True):
        p = float(law.mean(law.init)) + float(law.signal) * (1 - (1 - theta) ** visits)
        assert abs(count - size * p) < 5 * math.sqrt(size * p * (1 - p))


def test_every_user_has_one_place_in_the_panels() -> None:
    """With θ = 1 and certain bits, user by user: each sets one bit, no two the same, in no order of the ids."""
    law = optimal_bernoulli(Fraction(20))
    entries = Entries(ThinnedLaw(law, (Panel(300, COIN, WEIGHT),), KEY), 300, np.zeros(40, dtype=np.uint8))
    places = []
    for user in range(300):
        entries.memory[:] = 0
        entries.redraw(np.array([user, 300, -1]), present=True, coins=seeded_coins(user))
        places.append(np.flatnonzero(np.unpackbits(entries.memory, bitorder="little")).tolist())
    assert sorted(places) == [[place] for place in range(300)]
    assert abs(np.corrcoef(np.array(places)[:, 0], np.arange(300))[0, 1]) < 0.3


@pytest.mark.parametrize("statistic", [CroppedMean(2), CroppedMean(5), CroppedMean(20), Returning()], ids=repr)
def test_the_bias_is_the_worst_over_all_crowds(statistic: CroppedMean | Returning) -> None:
    """By brute force over far more visits, and reached by a crowd that all came equally often."""
    panels = statistic.calibrate(Budget(Fraction(1), 100_000, None)).law.panels
    bias = worst_bias(panels, statistic.value)
    biases = [
        abs(
            math.fsum(p.weight / WEIGHT * (1 - (1 - p.theta) ** c) for p in panels)
            - float(statistic.value(np.array(c)))
        )
        for c in range(30_000)
    ]
    assert max(biases) == pytest.approx(bias, abs=1e-12)


@pytest.mark.parametrize(
    ("statistic", "sample", "bias", "noise"),
    [
        (CroppedMean(5), 10**6, 0.21, 0.055),
        (CroppedMean(20), 10**6, 0.81, 0.41),
        (Returning(), 10**5, 0.038, 0.057),
        (Returning(), 10**6, 0.014, 0.028),
    ],
    ids=repr,
)
def test_the_errors_are_those_of_the_manual(
    statistic: CroppedMean | Returning, sample: int, bias: float, noise: float
) -> None:
    """At E = 1, one release. The linear program may stop at another vertex elsewhere: 15 % are allowed."""
    chosen = statistic.calibrate(Budget(Fraction(1), sample, None))
    assert statistic.rmse(chosen, sample=sample, universe=None) == pytest.approx(math.hypot(bias, noise), rel=0.15)


def test_no_panels_of_a_coarse_search_are_better() -> None:
    """Least squares on three panels of equal size, over a grid of θ: never below the error of the program."""
    variance, sample, statistic = 1.3, 50_000, CroppedMean(3)
    panels = best_panels(statistic.value, bend=3, sample=sample, variance=variance)
    spread = math.fsum((p.weight / WEIGHT) ** 2 * variance / p.size for p in panels)
    ours = worst_bias(panels, statistic.value) ** 2 + spread
    visits = np.arange(0, 200.0)
    grid = np.geomspace(0.1, 1, 9)
    for i in range(9):
        for j in range(i + 1, 9):
            theta = np.array([grid[i], grid[j], 1.0])
            each = 1 - (1 - theta) ** visits[:, None]
            weights = np.linalg.lstsq(each[:40], statistic.value(visits[:40]), rcond=None)[0]
            bias = float(np.max(np.abs(each @ weights - statistic.value(visits))))
            shares = np.abs(weights) / np.abs(weights).sum()
            assert bias**2 + float((weights**2 * variance / (shares * sample)).sum()) > ours * 0.999


CROWDS: dict[str, NDArray[np.int64]] = {
    "all twice": np.full(20_000, 2),
    "all once": np.full(20_000, 1),
    "all seven times": np.full(20_000, 7),
    "mixed": np.random.default_rng(1).poisson(1.3, 20_000),
    "heavy": np.where(np.arange(20_000) < 1000, 60, 0),
}


def released(statistic: CroppedMean | Returning, crowd: NDArray[np.int64], seed: int) -> PanelEstimate:
    chosen = CALIBRATIONS[statistic]
    law = ThinnedLaw(chosen.law.law, chosen.law.panels, np.random.default_rng(seed).bytes(96))
    entries = Entries(law, law.sample, np.zeros(law.state_bytes(law.sample), dtype=np.uint8))
    coins = seeded_coins(seed)
    entries.initialize(coins)
    entries.redraw(np.repeat(np.arange(crowd.size), crowd), present=True, coins=coins)
    noise = SimulatedNoise(seed).discrete_laplace(len(law.panels), scale=chosen.noise_scale)
    counts = tuple(int(n) for n in np.array(entries.counts()) + noise)
    release = Released(counts, fresh=True, left=0, private=False)
    return statistic.answer(chosen, IntegerUniverse(Sampling(20_000, 20_000)), release, confidence=0.8)


CALIBRATIONS = {s: s.calibrate(Budget(Fraction(6), 20_000, 20_000)) for s in (CroppedMean(4), Returning())}


@pytest.mark.parametrize(("crowd", "statistic"), some(product(CROWDS, CALIBRATIONS), 5), ids=repr)
def test_estimates_have_the_stated_bias_noise_and_coverage(crowd: str, statistic: CroppedMean | Returning) -> None:
    """100 runs: the mean is the true figure plus the bias of this crowd, within 4.5 standard errors.

    The deviation is that of coins with the panels' mean probabilities, within 28 % (four standard errors).
    """
    visits, panels = CROWDS[crowd], CALIBRATIONS[statistic].law.panels
    truth = float(statistic.value(visits.astype(float)).mean())
    off = math.fsum(p.weight / WEIGHT * float(np.mean(1 - (1 - p.theta) ** visits)) for p in panels) - truth
    answers = [released(statistic, visits, seed) for seed in range(100)]
    values = np.array([answer.uncut for answer in answers])
    assert abs(values.mean() - truth - off) < 4.5 * values.std() / 10
    assert abs(off) <= answers[0].bias + 1e-9
    law, scale = CALIBRATIONS[statistic].law.law, float(CALIBRATIONS[statistic].noise_scale)
    absent, signal, spread = float(law.mean(law.init)), float(law.signal), 0.0
    for panel in panels:
        p = absent + signal * float(np.mean(1 - (1 - panel.theta) ** visits))
        own = p * (1 - p) / panel.size + geometric_variance(scale) / panel.size**2
        spread += (panel.weight / WEIGHT / signal) ** 2 * own
    assert values.std() == pytest.approx(math.sqrt(spread), rel=0.28)
    assert math.sqrt(spread) <= answers[0].deviation
    covered = np.mean([answer.low <= truth <= answer.high for answer in answers])
    assert covered > 0.8 - 4 * math.sqrt(0.16 / 100)
    assert all(answer.low <= answer.value <= answer.high for answer in answers)


def test_the_worst_crowd_needs_the_bias_in_the_interval() -> None:
    """Where bias is most of the error, intervals without it would miss the truth for a crowd that all came so often."""
    statistic = Returning()
    panels, answer = CALIBRATIONS[statistic].law.panels, released(statistic, CROWDS["mixed"], 1)
    biases = [math.fsum(p.weight / WEIGHT * (1 - (1 - p.theta) ** c) for p in panels) - (c >= 2) for c in range(50)]
    worst = int(np.argmax(np.abs(biases)))
    assert abs(biases[worst]) == pytest.approx(answer.bias, rel=1e-6)
    answers = [released(statistic, np.full(20_000, worst), seed) for seed in range(40)]
    truth = float(worst >= 2)
    assert np.mean([a.low <= truth <= a.high for a in answers]) > 0.8 - 4 * math.sqrt(0.16 / 40)


def test_the_half_width_follows_confidence_and_releases() -> None:
    statistic = CroppedMean(3)
    chosen = statistic.calibrate(Budget(Fraction(1), 10_000, None))
    many = statistic.calibrate(Budget(Fraction(1), 10_000, None, releases=200))
    counts = tuple(panel.size // 2 for panel in chosen.law.panels)
    release = Released(counts, fresh=True, left=0, private=False)
    sampling = IntegerUniverse(Sampling(10_000, 10_000))
    widths = []
    for confidence in (0.5, 0.9, 0.99):
        answer = statistic.answer(chosen, sampling, release, confidence=confidence)
        widths.append(answer.high - answer.low)
    assert widths == sorted(widths)
    assert statistic.rmse(many, sample=10_000, universe=None) > statistic.rmse(chosen, sample=10_000, universe=None)
    # What fails with probability β is not within the reach of confidence 1 − β.
    for alpha in (0.2, 0.5):
        failure = statistic.failure(chosen, sample=10_000, universe=None, alpha=alpha, everywhere=True)
        wide = statistic.answer(chosen, sampling, release, confidence=1 - failure)
        assert wide.uncut - max(0.0, wide.uncut - alpha) == pytest.approx(wide.uncut - wide.low, abs=2e-3)


def test_the_plan_says_when_no_sample_is_enough() -> None:
    found = plan_sample(epsilon=2, alpha=0.2, beta=0.05, statistic=Returning())
    assert found.failure <= 0.05
    assert found.sample < 20_000
    with pytest.raises(InputError, match=r"alpha: even a sample of .* errs by 0\.001"):
        plan_sample(epsilon=2, alpha=0.001, beta=0.05, statistic=CroppedMean(5))


def test_a_file_of_panels_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with StreamEstimator.create(path, 30_000, Returning(), epsilon=8) as estimator:
        estimator.update(np.arange(20_000))
        setup = estimator.setup
        with pytest.raises(InputError, match="cannot be taken out again"):
            estimator.remove([1])
    with StreamEstimator[Answer].open(path) as again:
        assert again.setup == setup
        again.update(np.arange(10_000))
        answer = again.estimate(confidence=1 - 1e-9)
    assert isinstance(answer, PanelEstimate)
    assert answer.low <= 1 / 3 <= answer.high
    assert answer.high - answer.low < 0.7
    assert answer.private
    assert json.dumps(answer.facts())
    assert "share of users with two visits or more" in repr(answer)
    assert answer._repr_html_().count("<tr>") == 5


@pytest.mark.parametrize("most", [0, 1, 101])
def test_what_cannot_be_cropped_is_refused(most: int) -> None:
    with pytest.raises(InputError, match="most: found"):
        CroppedMean(most)


def test_panels_that_cannot_be_are_refused() -> None:
    bits = optimal_bernoulli(Fraction(1))
    for size, keep, weight in (
        (0, COIN, WEIGHT),
        (5, LEAST_KEEP - 1, WEIGHT),
        (5, COIN + 1, WEIGHT),
        (5, COIN, 0),
        (5, COIN, -(WEIGHT**2) - 1),
    ):
        with pytest.raises(ValueError, match="a panel has"):
            Panel(size, keep, weight)
    assert CroppedMean(100).calibrate(Budget(Fraction(1), 10_000, None)).law.panels[0].keep >= LEAST_KEEP
    for law, panels, key in (
        (bits, (), KEY),
        (bits, (Panel(5, COIN, WEIGHT),), KEY[:-1]),
        (quantized_laplace(Fraction(1), 4), (Panel(5, COIN, WEIGHT),), KEY),
        (bits, (Panel(5, COIN, WEIGHT),) * 65, KEY),
    ):
        with pytest.raises(ValueError, match="a thinned law has"):
            ThinnedLaw(law, panels, key)


@pytest.mark.parametrize("sample", [1, 2, 3, 10, 100])
def test_small_samples_have_as_many_panels_as_they_can(sample: int) -> None:
    chosen = CroppedMean(5).calibrate(Budget(Fraction(1), sample, None))
    assert chosen.law.sample == sample
    assert len(chosen.law.panels) <= sample
