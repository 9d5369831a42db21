"""The exact sampler: every narrow word against the claim, and millions of draws against the law."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import discrete_laplace_tail
from panbayes.dp import sampler
from panbayes.dp.opendp_bridge import add_discrete_laplace
from panbayes.dp.sampler import (
    MAX_NOISE,
    MAX_SCALE,
    MIN_SCALE,
    SYSTEM_BITS,
    Bits,
    _falling,
    _goes_on,
    _laplace,
    bernoulli,
    bernoulli_exp,
    bernoulli_ratios,
    discrete_laplace,
    falling,
    geometric,
    magnitude,
    small_terms,
    system_words,
    uniform_below,
)
from tests.effort import often, soak, some

FALSE_ALARM = 1e-11
"""Each statistical test of true randomness fails by chance with at most this probability."""


class ForkError(Exception):
    """The script ended where the sampler wants to know more; the next step has these probabilities."""

    def __init__(self, branches: list[Fraction]) -> None:
        super().__init__(branches)
        self.branches = branches


Script = list[int]


def words(script: Script, widths: tuple[int, ...]) -> Bits:
    """Return bits that read words from the ``script`` and fork into all words where it ends."""

    def draw(count: int, width: int) -> NDArray[np.uint64]:
        assert count <= 1, "a single cell draws one word at a time"
        if count and not script:
            raise ForkError([Fraction(1, 2**width)] * 2**width)
        return np.array([script.pop(0) for _ in range(count)], dtype=np.uint64)

    return Bits(draw, widths)


def walk(draw_one: Callable[[Script], int | None], *, undecided: float) -> Walk:
    """Follow all branches, likeliest first, until the probability not yet decided is small."""
    decided: dict[int | None, Fraction] = {}
    rest, serial = Fraction(1), 0
    front: list[tuple[float, int, Script, Fraction]] = [(-1.0, 0, [], Fraction(1))]
    while front and rest > undecided:
        _, _, script, probability = heapq.heappop(front)
        try:
            outcome = draw_one(script.copy())
        except ForkError as fork:
            for step, share in enumerate(fork.branches):
                if share:
                    serial += 1
                    product = probability * share
                    heapq.heappush(front, (-float(product), serial, [*script, step], product))
        else:
            decided[outcome] = decided.get(outcome, Fraction(0)) + probability
            rest -= probability
    return Walk(decided, rest)


@dataclass(frozen=True)
class Walk:
    """Exact probabilities: that of an outcome lies between ``decided`` and ``decided`` plus ``rest``."""

    decided: dict[int | None, Fraction]
    rest: Fraction

    def admits(self, outcome: int | None, probability: float | Fraction) -> bool:
        """Tell whether the walk leaves room for this probability of an outcome (up to float rounding)."""
        low, slack = self.decided.get(outcome, Fraction(0)), 0 if isinstance(probability, Fraction) else 1e-12
        return low - slack <= probability <= low + self.rest + slack


RATIOS = [Fraction(n, d) for d in range(1, 12) for n in range(d + 1) if math.gcd(n, d) == 1]


def walk_coin(p: Fraction, width: int) -> Walk:
    # A coin takes digits of the first width only: where a wider word was drawn, the probability would show it.
    return walk(lambda s: int(bernoulli(1, p, bits=words(s, (width, width + 2)))[0]), undecided=1e-5)


def walk_ratio(n: int, d: int, width: int) -> Walk:
    top = np.array([n], dtype=np.uint64)
    return walk(lambda s: int(bernoulli_ratios(top, d, bits=words(s, (width, width + 2)))[0]), undecided=1e-5)


def walk_uniform(bound: int, width: int, *, undecided: float) -> Walk:
    return walk(lambda s: int(uniform_below(1, bound, bits=words(s, (1, width)))[0]), undecided=undecided)


def walk_exponential(u: int, t: int, width: int, undecided: float) -> Walk:
    top = np.array([u], dtype=np.uint64)
    return walk(lambda s: int(bernoulli_exp(top, t, bits=words(s, (width,)))[0]), undecided=undecided)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_word_of_a_coin(width: int) -> None:
    for p in RATIOS:
        seen = walk_coin(p, width)
        assert seen.admits(1, p)
        assert seen.admits(0, 1 - p)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_word_of_a_coin_with_a_numerator_per_cell(width: int) -> None:
    for n, d in [*((p.numerator, p.denominator) for p in RATIOS), (2, 4), (3, 9)]:
        seen = walk_ratio(n, d, width)
        assert seen.admits(1, Fraction(n, d))
        assert seen.admits(0, 1 - Fraction(n, d))


@pytest.mark.parametrize("width", [2, 3, 5, 7])
def test_every_word_of_a_uniform_integer(width: int) -> None:
    for bound in range(2, 2**width + 1):
        seen = walk_uniform(bound, width, undecided=2**width % bound / 2**width)
        assert seen.decided == {value: Fraction(2**width // bound, 2**width) for value in range(bound)}
        assert seen.rest == Fraction(2**width % bound, 2**width)  # the words that are drawn again
    twice = walk_uniform(5, 3, undecided=(3 / 8) ** 3)
    assert all(twice.admits(value, Fraction(1, 5)) for value in range(5))


@soak
@pytest.mark.parametrize(("width", "undecided"), [(1, 1e-3), (2, 5e-3), (3, 2e-2)])
def test_every_word_of_an_exponential_coin(width: int, undecided: float) -> None:
    for t in (1, 2, 3, 5):
        for u in range(t + 1):
            seen = walk_exponential(u, t, width, undecided)
            assert seen.admits(1, math.exp(-u / t))
            assert seen.admits(0, 1 - math.exp(-u / t))


@pytest.mark.parametrize(("width", "undecided"), [(1, 0.02), (2, 0.06)])
def test_every_word_of_a_geometric_integer(width: int, undecided: float) -> None:
    seen = walk(lambda s: int(geometric(1, bits=words(s, (width,)))[0]), undecided=undecided)
    assert {0, 1, 2} <= set(seen.decided)
    assert all(seen.admits(v, (1 - math.exp(-1)) * math.exp(-v)) for v in range(20))


Attempt = Callable[[int, Fraction, Bits], NDArray[np.int64]]


def one_attempt(attempt: Attempt, script: Script, scale: Fraction, patch: pytest.MonkeyPatch) -> int | None:
    """Try once to draw noise, with coins and uniform integers that are read off the ``script``, not bits.

    Their own words are walked through above; here it is what is built of them, at branches few enough to see
    nearly everything.
    """

    def step(branches: list[Fraction]) -> int:
        if not script:
            raise ForkError(branches)
        return script.pop(0)

    def coin(size: int, probability: Fraction, *, bits: Bits) -> NDArray[np.bool_]:
        assert bits is SYSTEM_BITS
        return np.array([step([1 - probability, probability]) == 1 for _ in range(size)], dtype=np.bool_)

    def coins(numerators: NDArray[np.uint64], denominator: int, *, bits: Bits) -> NDArray[np.bool_]:
        return np.array([coin(1, Fraction(int(n), denominator), bits=bits)[0] for n in numerators], dtype=bool)

    def uniform(size: int, bound: int, *, bits: Bits) -> NDArray[np.uint64]:
        assert bits is SYSTEM_BITS
        return np.array([step([Fraction(1, bound)] * bound) for _ in range(size)], dtype=np.uint64)

    patch.setattr(sampler, "bernoulli", coin)
    patch.setattr(sampler, "bernoulli_ratios", coins)
    patch.setattr(sampler, "uniform_below", uniform)
    accepted = attempt(1, scale, SYSTEM_BITS)
    return int(accepted[0]) if accepted.size else None


few_scales = pytest.mark.parametrize(
    "scale", [Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 2), Fraction(2, 3), Fraction(7)]
)


@few_scales
def test_every_coin_of_discrete_laplace_noise(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = walk(lambda s: one_attempt(_laplace, s, scale, monkeypatch), undecided=0.001)
    t = scale.numerator

    def law(z: int, b: float) -> float:
        """Return the probability of z and of acceptance: U is kept, the sign is no minus before zero."""
        kept = sum(math.exp(-u / t) for u in range(t)) / t
        return kept * (1 - math.exp(-1 / b)) / 2 * math.exp(-abs(z) / b)

    assert {-1, 0, 1} <= set(seen.decided)
    assert all(seen.admits(z, law(z, float(scale))) for z in range(-50, 51))
    assert seen.admits(None, 1 - sum(law(z, float(scale)) for z in range(-2000, 2001)))
    for wrong in (0.95, 1.05):
        assert not all(seen.admits(z, law(z, float(scale) * wrong)) for z in range(-50, 51)), "no power"


@few_scales
def test_every_coin_of_what_falls(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = walk(lambda s: one_attempt(_falling, s, scale, monkeypatch), undecided=0.001)
    t = scale.numerator
    kept = sum(math.exp(-u / t) for u in range(t)) / t

    def law(y: int, b: float) -> float:
        """Return the probability of y and of acceptance, that is, that U is kept."""
        return kept * (1 - math.exp(-1 / b)) * math.exp(-y / b)

    assert {0, 1} <= set(seen.decided) <= {None, *range(10_000)}
    assert all(seen.admits(y, law(y, float(scale))) for y in range(51))
    assert seen.admits(None, 1 - kept)
    for wrong in (0.95, 1.05):
        assert not all(seen.admits(y, law(y, float(scale) * wrong)) for y in range(51)), "no power"


def test_every_digit_of_a_coin_is_as_wide_as_the_first() -> None:
    """A tie that were decided by a wider word would be lost nearly always: too rare to show in any number of draws."""
    asked: list[int] = []

    def draw(count: int, width: int) -> NDArray[np.uint64]:
        asked.append(width)
        return np.full(count, 1 if len(asked) < 4 else 0, dtype=np.uint64)

    bits = Bits(draw, (2, 8))  # 1/3 has the digits 1, 1, 1, … in base 4
    assert bernoulli(5, Fraction(1, 3), bits=bits).all()
    assert asked == [2] * 4
    asked.clear()
    assert bernoulli_ratios(np.ones(5, dtype=np.uint64), 3, bits=bits).all()
    assert asked == [2] * 4


def test_a_coin_in_a_late_round_is_two_coins() -> None:
    # t·k = 2**48 is too large for one division; 1/k = 2**-17 has the digits 0 (eight times), 2 in base 4.
    top = np.array([2**31], dtype=np.uint64)
    for last, expected in enumerate([True, True, False, False]):
        assert _goes_on(top, 2**31, 2**17, words([3, *[0] * 8, last], (2,)))[0] == expected
    # 2**47 is the first that is: 1/k = 2**-16 has the digits 0 (seven times), 1 in base 4.
    for last, expected in enumerate([True, False, False, False]):
        assert _goes_on(top, 2**31, 2**16, words([3, *[0] * 7, last], (2,)))[0] == expected


def test_magnitude_is_that_of_the_integers() -> None:
    random = np.random.default_rng(1)
    for scale in (Fraction(1), Fraction(2**31), Fraction(2**31, 3), Fraction(1, 2**31), Fraction(7, 5)):
        t, s = scale.numerator, scale.denominator
        for top in (3, 2**31, 2**33, 2**40, 2**63):
            u = random.integers(0, t, 200, dtype=np.uint64)
            v = random.integers(0, top, 200, dtype=np.uint64)
            v[0], v[1] = top - 1, 0  # one that is too large for 64 bits beside one that is not
            expected = [min((int(a) + t * int(b)) // s, MAX_NOISE) for a, b in zip(u, v, strict=True)]
            assert magnitude(u, v, scale).tolist() == expected


scales = st.fractions(MIN_SCALE, MAX_SCALE, max_denominator=10**30)


@settings(derandomize=True, max_examples=often(80, 400), deadline=None)
@given(scales)
@example(MIN_SCALE)
@example(MAX_SCALE)
@example(MAX_SCALE - Fraction(1, 3))
@example(MAX_SCALE / 2 + Fraction(1, 10**20))
@example(MIN_SCALE + Fraction(1, 10**25))
@example(1 - Fraction(1, 10**25))
@example(1 + Fraction(1, 10**25))
def test_small_terms_never_lower_the_scale(scale: Fraction) -> None:
    served = small_terms(scale)
    assert scale <= served <= scale * (1 + Fraction(1, 2**30))
    assert max(served.numerator, served.denominator) <= 2**31
    if max(scale.numerator, scale.denominator) <= 2**31:
        assert served == scale


def bins(scale: Fraction, *, mass: float) -> NDArray[np.int64]:
    """Return edges that cut the integers into intervals of at least this ``mass`` each, symmetric about 0.

    None is rarer, that about 0 included: a single number that were expected once in 7,000 runs would fail that run.
    """

    def above(z: int) -> float:
        return float(discrete_laplace_tail(np.array([z]), scale=scale)[0])

    step, z = max(1, int(scale) // 64), 1
    while 1 - 2 * above(z) < mass:
        z += step
    edges, tail = [z], above(z)
    while tail > 2 * mass:
        z += 1
        while tail - above(z) < mass:
            z += step
        tail = above(z)
        edges.append(z)
    return np.array([1 - z for z in reversed(edges)] + edges)


def p_value(noise: NDArray[np.int64], scale: Fraction, edges: NDArray[np.int64]) -> float:
    """Return the p-value of Pearson's test of the ``noise`` against the law of this ``scale``."""
    counts = np.bincount(np.searchsorted(edges, noise, side="right"), minlength=edges.size + 1)
    above = np.concatenate([[1.0], discrete_laplace_tail(edges, scale=scale), [0.0]])
    expected = -np.diff(above) * noise.size
    return float(stats.chisquare(counts, expected).pvalue)


SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(20), Fraction(1806), Fraction(10**6, 7)]


@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**20 + 1, 10**19), Fraction(2**31 - 1)])
def test_noise_has_its_scale_and_no_other(scale: Fraction) -> None:
    # 600,000 draws: at ±5 % the statistic's mean is beyond the threshold by more than 10 standard deviations.
    noise = discrete_laplace(600_000, scale)
    edges = bins(scale, mass=0.02)
    assert p_value(noise, scale, edges) > FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(95, 100), Fraction(105, 100), Fraction(13, 10)):
        assert p_value(noise, scale * wrong, edges) < FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(2, 3), Fraction(20), Fraction(10**20 + 1, 10**19), MAX_SCALE])
def test_what_falls_has_its_scale_and_no_other(scale: Fraction) -> None:
    """300,000 draws, more than a chunk, whose levels are sixths of the scale up to three of them."""
    drawn = falling(300_000, scale)
    assert int(drawn.min()) >= 0
    edges = np.unique(np.arange(1, 19) * float(scale) // 6).astype(np.int64)
    edges = edges[edges > 0]
    counts = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=edges.size + 1)

    def p_value_at(b: Fraction) -> float:
        above = np.concatenate([[1.0], np.exp(-edges / float(b)), [0.0]])
        return float(stats.chisquare(counts, -np.diff(above) * drawn.size).pvalue)

    assert p_value_at(scale) > FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(95, 100), Fraction(105, 100), Fraction(13, 10)):
        assert p_value_at(scale * wrong) < FALSE_ALARM


@pytest.mark.parametrize("scale", some([Fraction(1, 2), Fraction(3), Fraction(250)], 1))
def test_noise_is_distributed_as_that_of_opendp(scale: Fraction) -> None:
    # OpenDP's exact sampler as the other sample; a scale 10 % off must be told apart.
    edges = bins(scale, mass=0.04)
    theirs = add_discrete_laplace([0] * 60_000, scale=float(scale))

    def same(ours: NDArray[np.int64]) -> float:
        table = [np.bincount(np.searchsorted(edges, z, side="right"), minlength=edges.size + 1) for z in (ours, theirs)]
        return float(stats.chi2_contingency(np.array(table)).pvalue)

    assert same(discrete_laplace(400_000, scale)) > FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(9, 10), Fraction(11, 10), Fraction(13, 10)):
        assert same(discrete_laplace(400_000, scale * wrong)) < FALSE_ALARM


def test_neighbouring_cells_are_independent() -> None:
    # Signs and magnitudes of cells next to each other, and at the distance of a chunk, by Pearson's test.
    noise = discrete_laplace(900_000, Fraction(3))
    level = np.searchsorted([-4, -1, 1, 2, 5], noise)
    for lag in (1, 2, 2**17 * 5 // 8):
        table = np.zeros((6, 6), dtype=np.int64)
        np.add.at(table, (level[:-lag], level[lag:]), 1)
        assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 3), Fraction(10**40 + 1, 10**41), Fraction(1, 65537)])
def test_coins_have_their_probability_and_no_other(p: Fraction) -> None:
    size = 4_000_000
    heads = int(bernoulli(size, p).sum())
    assert stats.binomtest(heads, size, float(p)).pvalue > FALSE_ALARM
    if size * p > 1000:
        assert stats.binomtest(heads, size, float(p) * 0.95).pvalue < FALSE_ALARM


def test_certain_coins() -> None:
    assert bernoulli(10_000, Fraction(1)).all()
    assert not bernoulli(200_000, Fraction(0)).any()
    assert bernoulli_ratios(np.full(10_000, 2**47 - 1, dtype=np.uint64), 2**47 - 1).all()
    assert not bernoulli_ratios(np.zeros(200_000, dtype=np.uint64), 5).any()


def test_uniform_integers_fill_wide_ranges() -> None:
    for bound in (3, 1000, 2**24, 2**31, 2**31 - 1, 2**60):
        value = uniform_below(100_000, bound)
        assert int(value.max()) < bound
        share = np.bincount((value * np.uint64(8) // np.uint64(bound)).astype(np.int64), minlength=8)
        inside = np.diff([-(-k * bound // 8) for k in range(9)]) / bound
        assert stats.chisquare(share[inside > 0], inside[inside > 0] * value.size).pvalue > FALSE_ALARM


def test_sizes() -> None:
    for size in (0, 1, 2, 2**17, 2**17 + 1):
        assert discrete_laplace(size, Fraction(1, 1000)).shape == (size,)
        assert falling(size, Fraction(1, 1000)).shape == (size,)
        assert bernoulli(size, Fraction(1, 3)).shape == (size,)
        assert geometric(size).shape == (size,)


def test_widths_of_words() -> None:
    for width in (8, 16, 32, 64):
        drawn = system_words(1000, width)
        assert drawn.dtype.itemsize * 8 == width
        assert drawn.size == 1000
        assert int(drawn.max()) > 2 ** (width - 1)
    # Words serve one draw each: of so many of 64 bits two agree with a chance of 2⁻³¹.
    many = system_words(2**17, 64)
    assert np.unique(many).size == many.size
    assert all(narrow < wide for narrow, wide in pairwise(SYSTEM_BITS.widths))
    for widths in ((1,), (16,), (16, 64), (1, 16, 17)):
        assert Bits(system_words, widths).widths == widths


@pytest.mark.parametrize(
    "call",
    [
        lambda: system_words(1, 12),
        lambda: Bits(system_words, ()),
        lambda: Bits(system_words, (32, 16)),
        lambda: Bits(system_words, (32, 64)),
        lambda: Bits(system_words, (16, 128)),
        lambda: Bits(system_words, (16, 65)),
        lambda: Bits(system_words, (17, 64)),
        lambda: Bits(system_words, (0, 16)),
        lambda: Bits(system_words, (8, 32, 16)),
        lambda: Bits(system_words, (16, 16)),
        lambda: bernoulli(1, Fraction(3, 2)),
        lambda: bernoulli(1, Fraction(-1, 2)),
        lambda: bernoulli_ratios(np.zeros(1, dtype=np.uint64), 2**47),
        lambda: bernoulli_ratios(np.zeros(1, dtype=np.uint64), 0),
        lambda: bernoulli_exp(np.zeros(1, dtype=np.uint64), 0),
        lambda: bernoulli_exp(np.zeros(1, dtype=np.uint64), 2**31 + 1),
        lambda: uniform_below(1, 0),
        lambda: uniform_below(1, 2**64 + 1),
        lambda: small_terms(MIN_SCALE - Fraction(1, 10**9)),
        lambda: small_terms(MAX_SCALE + 1),
        lambda: discrete_laplace(-1, Fraction(1)),
        lambda: discrete_laplace(1, Fraction(0)),
        lambda: falling(-1, Fraction(1)),
        lambda: falling(0, MAX_SCALE + 1),
    ],
)
def test_refusals(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="found"):
        call()
