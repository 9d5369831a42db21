"""Estimates that know their noise: against brute force, against plain clipping, and at the ends."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.consortium.analyst.adaptive.division import TOTAL, Division, Grant
from panbayes.consortium.analyst.adaptive.estimation import (
    Estimate,
    estimate_given_model,
    estimate_marginals,
    update_by_groups,
)
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.losses import CLASSES

LAPLACE = NoiseLaw(False, ((200.0, 1),))
GAUSS = NoiseLaw(True, ((150.0, 2),))


@pytest.mark.parametrize(
    "parts", [((3.0, 1),), ((3.0, 3),), ((3.0, 2), (8.0, 1)), ((1.0, 100),)], ids=["one", "three", "two kinds", "many"]
)
def test_the_density_of_a_sum_is_that_of_many_draws(parts: tuple[tuple[float, int], ...]) -> None:
    """A histogram of 400,000 draws agrees with the density to 5 % wherever it is not thin."""
    law = NoiseLaw(False, parts)
    rng = np.random.default_rng(0)
    drawn = sum(rng.laplace(scale=scale, size=(times, 400_000)).sum(axis=0) for scale, times in parts)
    assert np.std(drawn) == pytest.approx(law.deviation, rel=0.02)
    edges = np.linspace(-3 * law.deviation, 3 * law.deviation, 25)
    seen = np.histogram(drawn, bins=edges)[0] / 400_000
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.exp(law.log_density(middle))
    fine = np.exp(law.log_density(np.linspace(-12, 12, 4001) * law.deviation)).sum() * 24 * law.deviation / 4000
    expected = density / fine * (edges[1] - edges[0])
    assert np.abs(seen - expected)[expected > 0.004] == pytest.approx(0, abs=0.05 * float(expected.max()))


def estimate_marginal(noisy: NDArray[np.float64], law: NoiseLaw, total: float, *, ordered: bool) -> Estimate:
    """Estimate one attribute that no other tells anything about."""
    (found,) = estimate_marginals([noisy], [law], total, [noisy.size if ordered else 0])
    return found


def loss(truth: NDArray[np.float64], estimate: NDArray[np.float64]) -> float:
    """How many bits an estimate costs."""
    p = truth / truth.sum()
    seen = p > 0
    return float((p[seen] * np.log2(p[seen] / estimate[seen])).sum())


@pytest.mark.parametrize("law", [LAPLACE, GAUSS])
def test_a_skewed_table_is_estimated_better_than_by_clipping(law: NoiseLaw) -> None:
    """Forty values, most of them rare: at most half the bits lost by clipping at zero and adding one."""
    truth = np.concatenate([[30_000.0, 9_000.0, 3_000.0], np.full(37, 20.0)])
    rng = np.random.default_rng(1)
    mine, clipped = [], []
    for _ in range(20):
        noise = rng.normal(scale=law.deviation, size=truth.size)
        noisy = truth + noise
        mine.append(loss(truth, estimate_marginal(noisy, law, truth.sum(), ordered=False).distribution))
        plain = np.maximum(noisy, 0) + 1
        clipped.append(loss(truth, plain / plain.sum()))
    assert np.mean(mine) < 0.5 * np.mean(clipped)


def test_ordered_values_help_each_other_and_a_peak_stays() -> None:
    places = np.arange(80)
    truth = 900 * np.exp(-0.5 * ((places - 30) / 12) ** 2)
    truth[0] = 9_000
    rng = np.random.default_rng(2)
    smooth, plain = [], []
    for _ in range(10):
        noisy = truth + rng.laplace(scale=200.0, size=truth.size)
        smooth.append(estimate_marginal(noisy, LAPLACE, truth.sum(), ordered=True).distribution)
        plain.append(estimate_marginal(noisy, LAPLACE, truth.sum(), ordered=False).distribution)
    assert np.mean([loss(truth, s) for s in smooth]) < 0.6 * np.mean([loss(truth, s) for s in plain])
    assert np.mean([s[0] for s in smooth]) * truth.sum() == pytest.approx(9_000, rel=0.1)


def test_without_noise_the_estimate_is_the_table() -> None:
    counts = np.array([5_000.0, 40.0, 0.0, 7.0])
    law = NoiseLaw(True, ((1e-3, 1),))
    found = estimate_marginal(counts, law, counts.sum(), ordered=False).distribution * counts.sum()
    assert found == pytest.approx(np.maximum(counts, 0.5), abs=0.6)
    ((mean, variance),) = estimate_given_model([counts], [np.full(4, 1262.0)], [law])
    assert mean[[0, 1, 3]] == pytest.approx(counts[[0, 1, 3]])
    assert variance[[0, 1, 3]] == pytest.approx(np.full(3, 1e-6))


@pytest.mark.parametrize("law", [NoiseLaw(False, ((1e6, 1),)), NoiseLaw(True, ((1e6, 1),))])
def test_where_the_noise_wins_what_was_expected_stays(law: NoiseLaw) -> None:
    expected = np.array([[100.0, 300.0], [50.0, 550.0]])
    rng = np.random.default_rng(3)
    noisy = [expected + rng.normal(scale=1e6, size=(2, 2)) for _ in range(3)]
    for mean, _ in estimate_given_model(noisy, [expected] * 3, [law] * 3):
        ratios = mean / expected
        assert mean.shape == (2, 2)
        assert ratios.max() / ratios.min() < 1.05


@pytest.mark.parametrize("noisy", [np.zeros(5), np.full(5, -1e9), np.array([1e9, 0, 0, 0, 0]), np.array([-1e12])])
def test_estimates_are_distributions_whatever_comes(noisy: NDArray[np.float64]) -> None:
    for law in (LAPLACE, GAUSS, NoiseLaw(False, ((30.0, 7), (2.0, 7)))):
        for total in (1.0, 5_000.0):
            found = estimate_marginal(noisy, law, total, ordered=True)
            assert np.all(found.distribution > 0)
            assert found.distribution.sum() == pytest.approx(1)
            ((mean, variance),) = estimate_given_model([noisy], [np.full(noisy.size, total / noisy.size)], [law])
            assert np.all(mean > 0)
            assert np.all(variance >= 0)


def test_a_precise_margin_corrects_an_uncertain_estimate_and_not_the_other_way_round() -> None:
    known = Estimate(np.array([0.5, 0.2, 0.3]), np.full(3, 1e4))
    groups = np.array([0, 1, 1])
    measured = np.array([300.0, 700.0])
    sharp = update_by_groups(known, groups, measured, 1.0, 1_000.0)
    assert np.bincount(groups, sharp.distribution) == pytest.approx([0.3, 0.7], abs=0.01)
    assert np.all(sharp.variance <= known.variance)
    vague = update_by_groups(known, groups, measured, 1e6, 1_000.0)
    assert vague.distribution == pytest.approx(known.distribution, abs=0.01)


@pytest.mark.parametrize("law", [LAPLACE, GAUSS])
def test_tables_of_a_batch_tell_each_other_how_strong_dependencies_are(law: NoiseLaw) -> None:
    """Sixty tables as expected and one more: the prior of all is narrow, and noise moves it less than if alone."""
    rng = np.random.default_rng(6)
    expected = np.full((4, 4), 600.0)
    noisy = [expected + rng.normal(scale=law.deviation, size=(4, 4)) for _ in range(60)]
    together = estimate_given_model(noisy, [expected] * 60, [law] * 60)
    alone = [estimate_given_model([table], [expected], [law])[0] for table in noisy]
    wrong, wrong_alone = (
        np.mean([np.square(mean - expected).mean() for mean, _ in found]) for found in (together, alone)
    )
    assert wrong < 0.7 * wrong_alone
    assert np.mean([v.mean() for _, v in together]) < 0.8 * np.mean([v.mean() for _, v in alone])


def test_a_table_unlike_its_batch_is_believed_where_it_is_clear() -> None:
    """Cells above seven deviations are as measured, with the variance of the noise, whatever the batch says."""
    expected = np.full(6, 5_000.0)
    noisy = [expected + 1.0, np.array([9_000.0, 2_200.0, 2_095.0, 5_000.0, 30.0, -100.0])]
    law = NoiseLaw(True, ((300.0, 1),))
    (_, _), (mean, variance) = estimate_given_model(noisy, [expected] * 2, [law] * 2)
    assert mean[[0, 1, 3]].tolist() == [9_000.0, 2_200.0, 5_000.0]
    assert variance[[0, 1, 3]] == pytest.approx(np.full(3, 300.0**2))
    assert mean[2] != 2_095.0  # at 6.98 deviations it is not clear
    assert 0 < mean[4] < 1_500
    assert 0 < mean[5] < 1_500


@pytest.mark.parametrize("law", [NoiseLaw(False, ((100.0, 1),)), NoiseLaw(True, ((141.0, 1),))], ids=["pure", "zcdp"])
def test_attributes_tell_each_other_how_far_from_uniform_they_are(law: NoiseLaw) -> None:
    """Among 40 that are uniform one keeps nothing of its noise; among 40 that are not it is as they are."""
    rng = np.random.default_rng(4)
    even = [1_000 + noise(law, rng, 3) for _ in range(40)]
    found = estimate_marginals(even, [law] * 40, 3_000.0, [0] * 40)
    assert max(np.abs(3 * one.distribution - 1).max() for one in found) < 0.06
    skewed = np.array([2_000.0, 700.0, 300.0])
    uneven = [rng.permutation(skewed) + noise(law, rng, 3) for _ in range(40)]
    alike = np.array([1_800.0, 800.0, 400.0])
    told = estimate_marginals([alike, *uneven], [law] * 41, 3_000.0, [0] * 41)[0].distribution
    alone = estimate_marginals([alike, *even], [law] * 41, 3_000.0, [0] * 41)[0].distribution
    assert told * 3_000 == pytest.approx(skewed, rel=0.2)
    assert np.abs(alone - 1 / 3).max() < np.abs(told - 1 / 3).max()


def test_a_clear_table_is_left_as_it_is_and_a_nearly_uniform_one_is_evened_out() -> None:
    law = NoiseLaw(True, ((20.0, 1),))
    clear = np.array([9_000.0, 700.0, 300.0])
    assert estimate_marginal(clear, law, 10_000.0, ordered=False).distribution == pytest.approx(clear / 1e4, abs=2e-3)
    near = np.array([1_010.0, 995.0, 990.0, 1_005.0])
    evened = estimate_marginal(near, law, 4_000.0, ordered=False).distribution
    assert evened == pytest.approx(np.full(4, 0.25), abs=1.5e-3)


def noise(law: NoiseLaw, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw noise of a law of one part."""
    ((scale, _),) = law.parts
    return rng.normal(scale=scale, size=size) if law.gaussian else rng.laplace(scale=scale, size=size)


def test_groups_within_are_as_many_and_as_even_as_may_be() -> None:
    """None has one more anywhere and fits; every attribute has two where it can."""
    for sizes, cells in (((100, 100, 100), 60.0), ((5, 3), 12.0), ((1, 9), 4.0), ((2, 2), 1.0), ((7, 7), 40.5)):
        found = groups_within(sizes, cells)
        least = [min(2, size) for size in sizes]
        assert math.prod(found) <= max(cells, math.prod(least))
        for place, (count, size) in enumerate(zip(found, sizes, strict=True)):
            more = math.prod(found) // count * (count + 1)
            assert count == size or more > cells, place
    assert groups_within((100, 100, 100), 60.0) == [5, 4, 3]
    assert groups_within((7, 7), 40.5) == [6, 6]
    assert groups_within((5, 3), 15.0) == [5, 3]


def grant(amount: str, tag: str, adjacency: Adjacency = "replace") -> Grant:
    return Grant(CLASSES[tag].with_amount(Fraction(amount)), adjacency)


def test_the_division_is_that_of_its_table() -> None:
    """By hand: u = n/(σ·√k̄) of 5, 10, 300 and beyond; half as large again under zCDP. k̄ is 4.

    Under pure privacy it is calm from 150 to 1,500.
    """
    sizes = (4, 9, 2, 1)
    start = 0.4 + 0.5 / 7
    for tag, factor, first, more, high in (("pure", 1.0, 1, 2, 0.12 + 0.1 / 3), ("zcdp", 1.5, 2, 3, 0.1)):
        here = grant("1", tag)
        per_record = NoiseLaw.of(here.event(Fraction(1, 4)), holders=2).deviation * math.sqrt(4) / factor
        until = 0.5 if tag == "pure" else 0.35
        for signal, level, singles, number in (
            (4.99, 0.0, 1.0, 0),
            (5.01, 0.0, start, first),
            (9.99, 0.0, start, first),
            (10 * 30 ** (until / 2), until / 2, (start + high) / 2, None),
            (10 * 30**until, until, high, None),
            (149.0, math.log(14.9) / math.log(30), high, round(first + more * 0.794)),
            (10 * 30**0.9, 0.9, high, None),
            (300.0, 1.0, high, 4 if tag == "pure" else first + more),
            (150 * math.sqrt(10), 1.0, high, 4 if tag == "pure" else 5),
            (1_500.0, 1.0, high, 5),
            (30_000.0, 1.0, high, 5),
        ):
            found = Division.of(here, sizes, total=signal * per_record, holders=2, look_first=False)
            assert found.level == pytest.approx(level)
            assert isinstance(found.singles, Fraction)
            calm = (level - 0.6) / 0.3 if tag == "zcdp" else math.log10(signal / 150)
            calm = max(0.0, min(1.0, calm))
            share = singles * (1 - calm / 2) if tag == "pure" else singles
            assert float(found.singles) == pytest.approx(share * 0.995, abs=1e-6)
            assert number is None or found.rounds == number
            less = 10 * (1 - 2 / 3 * (1 - calm)) if tag == "pure" else 12 * calm
            choosing = (0.4 if tag == "pure" else 0.27) - round(less) / 100
            assert float(found.choosing) == pytest.approx(choosing)
            even = 1 - 0.2 * level
            spent = even + (0.3 - even) * calm if tag == "pure" else 0.8 - 0.3 * level - 0.15 * calm
            assert float(found.spend(Fraction(1))) == pytest.approx(spent, abs=1e-6)


def test_tables_measured_with_different_noise_are_estimated_together() -> None:
    """The loud table leans on what was expected, the quiet one does not, and each has the variance of its own noise."""
    rng = np.random.default_rng(1)
    expected = np.full(60, 300.0)
    true = expected * np.exp(rng.normal(0.0, 0.5, 60))
    laws = [NoiseLaw(True, ((deviation, 1),)) for deviation in (5.0, 200.0)]
    noisy = [true + rng.normal(0.0, law.deviation, 60) for law in laws]
    (quiet, little), (loud, much) = estimate_given_model(noisy, [expected] * 2, laws)
    assert np.abs(quiet - true).mean() < 6 < 40 < np.abs(loud - true).mean() < np.abs(noisy[1] - true).mean() * 0.8
    assert little.mean() < 40 < 1000 < much.mean() < 200.0**2


@pytest.mark.parametrize(
    ("sizes", "most", "least"), [((1, 12), 0.65, 0.22), ((8, 9), 0.79286, 0.28), ((4, 20), 0.9, 0.42)]
)
def test_single_attributes_with_many_values_get_more(sizes: tuple[int, ...], most: float, least: float) -> None:
    here = grant("1", "pure")
    mean = sum(sizes) / 2
    per_record = NoiseLaw.of(here.event(Fraction(1, 2))).deviation * math.sqrt(mean)
    for signal, part in ((6.0, most), (149.0, least)):
        found = Division.of(here, sizes, total=signal * per_record, holders=1, look_first=False)
        assert float(found.singles) == pytest.approx(part * 0.995, abs=1e-5)


@pytest.mark.parametrize("tag", ["pure", "zcdp"])
def test_there_is_a_first_look_where_single_attributes_would_have_much_noise(tag: str) -> None:
    """By hand: E = Σ k·(k − 1)·σ²/(2·ln 2·n²) with the share k^0.6/Σ k^0.6 of the grant; 0.03 bits are at risk."""
    sizes, here = (3, 3, 12), grant("1/10" if tag == "pure" else "1/10000", tag)
    parts = [size**0.6 / sum(other**0.6 for other in sizes) for size in sizes]
    cost = sum(
        size * (size - 1) * NoiseLaw.of(here.event(Fraction(part)), holders=2).deviation ** 2 / (2 * math.log(2))
        for size, part in zip(sizes, parts, strict=True)
    )
    looked = []
    for total in np.geomspace(1e3, 1e6, 200).tolist():
        plain = Division.of(here, sizes, total=total, holders=2, look_first=False)
        found = Division.of(here, sizes, total=total, holders=2)
        part = float(plain.singles / (1 - TOTAL))
        risk = cost / total**2 * (5 if tag == "zcdp" else 1 / part**2 - 1)
        assert plain.first == 0
        assert found.first == (Fraction(3, 100) if plain.rounds and risk > 0.03 else 0)
        assert found.rounds == (min(plain.rounds, 4) if found.first else plain.rounds)
        if found.first:
            assert float(found.singles) == pytest.approx(part * 0.965, abs=2e-6)
            assert found.alone().singles == 1 - TOTAL - found.first
            assert found.alone().rounds == 0
        looked.append(bool(found.first))
    assert {False, True} == set(looked)


def test_a_first_look_costs_a_round_under_pure_privacy_too() -> None:
    """Else there would be more questions for choices than a study says."""
    sizes, here = (4,) * 400, grant("1", "pure")
    assert Division.of(here, sizes, total=2.2e6, holders=1, look_first=False).rounds == 5
    found = Division.of(here, sizes, total=2.2e6, holders=1)
    assert found.first
    assert found.rounds == 4


def test_fractions_are_exact_few_digits_and_never_more_than_is_left() -> None:
    assert Fraction(1, 200) == TOTAL
    for tag in CLASSES:
        for amount in ("1/10000", "1/100", "1", "50"):
            for holders in (1, 3):
                division = Division.of(grant(amount, tag), (2,) * 30, total=1e4, holders=holders)
                left = 1 - TOTAL - division.singles
                assert (division.rounds == 0) == (left == 0)
                for _ in range(division.rounds):
                    spent = division.spend(left)
                    assert (spent * 10**6).denominator == 1
                    assert spent > 0
                    left -= spent
                    assert left >= 0
    assert Division.of(grant("1", "pure"), (5,), total=1e6, holders=1).rounds == 0


def test_single_attributes_get_more_where_their_noise_costs_much_and_twice_is_as_good_as_once() -> None:
    """Under zCDP the share becomes 0.1 + 0.28·√(bits·share/0.1), at most 0.9 in all; never less than it was.

    Under add-remove, where other tables tell nothing of single attributes, 0.1 + 0.3·(bits·share/0.1)^0.2 or 0.1 +
    0.36·(bits·share/0.1)^0.3 if more, the last from a level of 0.35 on. It is never more than three fifths of what is
    left, below that level never more than half.
    """
    whole = Fraction(2)
    adjacencies: list[tuple[Adjacency, int]] = [("replace", 0), ("add-remove", 1)]
    for adjacency, centred in adjacencies:
        settled = Division.of(grant("1", "zcdp", adjacency), (2,) * 30, total=1e9, holders=1)
        share = float(settled.singles)
        assert settled.more(0.0, left=whole) == 0
        for bits in (0.02, 0.5, 2.0):
            cost = bits * share / 0.1
            wanted = max(0.28 * math.sqrt(cost), centred * 0.3 * cost**0.2, centred * 0.36 * cost**0.3)
            found = settled.more(bits, left=whole)
            assert found == Fraction(round(100 * (0.1 + wanted - share)), 100) > 0
            assert settled.more(bits, left=found) == found * Fraction(3, 5)
        assert settled.more(1e6, left=whole) == Fraction(80, 100)
    for total, centred in ((100.0, 0), (400.0, 1)):
        early = Division.of(grant("1", "zcdp", "add-remove"), (2,) * 30, total=total, holders=1)
        assert (early.level >= 0.35) == centred
        share = float(early.singles)
        cost = 3.0 * share / 0.1
        wanted = max(0.28 * math.sqrt(cost), 0.3 * cost**0.2, centred * 0.36 * cost**0.3)
        assert early.more(3.0, left=whole) == Fraction(round(100 * (0.1 + wanted - share)), 100)
        assert early.more(1e6, left=Fraction(1, 10)) == (Fraction(3, 50) if centred else Fraction(1, 20))
    much = Division.of(grant("1/1000", "zcdp"), (40,) * 30, total=1e4, holders=1)
    assert much.rounds
    assert much.more(0.001, left=whole) == 0
    assert Division.of(grant("1", "pure"), (2,) * 30, total=1e9, holders=1).more(5.0, left=whole) == 0
    assert Division.of(grant("1/1000", "zcdp"), (2,) * 30, total=1.0, holders=1).more(5.0, left=whole) == 0


def test_single_attributes_are_measured_again_before_choices_unless_there_are_five_rounds() -> None:
    """So that no run has more than twelve round trips: total, look, twice single attributes, four rounds of two."""
    seen = set()
    for total in np.geomspace(1e2, 1e9, 60).tolist():
        found = Division.of(grant("1", "zcdp", "add-remove"), (3,) * 20, total=total, holders=1)
        assert found.before == (found.rounds < 5)
        assert 2 + bool(found.first) + (found.before and bool(found.rounds)) + 2 * found.rounds <= 12
        seen.add((bool(found.first), found.rounds))
    assert seen >= {(True, 3), (True, 4), (False, 4), (False, 5)}


def test_the_noise_of_a_grant_is_that_of_its_parts() -> None:
    """Pure: scale Δ₁/ε; zCDP: variance Δ₂²/2ρ; over holders variances add up."""
    settings: list[tuple[Adjacency, int, int]] = [("replace", 2, 2), ("add-remove", 1, 1)]
    for adjacency, l1, l2 in settings:
        pure, zcdp = grant("3", "pure", adjacency), grant("3", "zcdp", adjacency)
        assert pure.law(Fraction(1, 6), holders=4).deviation == pytest.approx(math.sqrt(2) * l1 / 0.5 * 2)
        assert zcdp.law(Fraction(1, 6), holders=4).deviation == pytest.approx(math.sqrt(l2 / (2 * 0.5)) * 2)
