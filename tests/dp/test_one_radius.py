"""Noise of one radius: every point of a ball, every step of the proof, and draws against the law."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, combinations, pairwise, product
from typing import TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.dp import one_radius as module
from panbayes.dp.noise import Noise
from panbayes.dp.one_radius import (
    MAX_CELLS,
    Below,
    _balanced_point,
    _drawn,
    _norm,
    _point,
    _subset,
    dimension,
    one_radius,
    points_in_ball,
)
from panbayes.dp.sampler import MAX_NOISE, MAX_SCALE
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise

FALSE_ALARM = 1e-11
"""The p-value below which a statistical test of true randomness fails."""

SEED = 20_261_207

Point = tuple[int, ...]
Drawn = TypeVar("Drawn", bound=Hashable)
both = pytest.mark.parametrize("balanced", [False, True], ids=["free", "balanced"])
sources = pytest.mark.parametrize("noise", [SecureNoise(), SimulatedNoise(SEED)], ids=["secure", "simulated"])


@cache
def points(cells: int, radius: int, *, balanced: bool) -> frozenset[Point]:
    """All points of a ball, by trying every point of a cube."""
    cube = product(range(-radius, radius + 1), repeat=cells)
    if balanced:
        return frozenset(z for z in cube if not sum(z) and sum(map(abs, z)) <= 2 * radius)
    return frozenset(z for z in cube if sum(map(abs, z)) <= radius)


def closed_form(d: int, radius: int, *, balanced: bool) -> int:
    """The number of points of a ball of dimension ``d``, by the sums that the module names."""
    if balanced:
        return sum(math.comb(d, i) ** 2 * math.comb(radius + d - i, d) for i in range(d + 1))
    return sum(math.comb(d, i) * 2**i * math.comb(radius, i) for i in range(d + 1))


@both
def test_points_of_a_ball_by_brute_force(balanced: bool) -> None:
    for cells, top in ((1, 9), (2, 9), (3, 6), (4, 4), (5, 2)):
        for radius in range(top + 1):
            count = len(points(cells, radius, balanced=balanced))
            assert points_in_ball(cells, radius, balanced=balanced) == count
            assert closed_form(dimension(cells, balanced=balanced), radius, balanced=balanced) == count


@both
def test_points_of_a_ball_by_closed_forms(balanced: bool) -> None:
    for cells in (*range(1, 61), MAX_CELLS):
        for radius in (0, 1, 2, 3, 7, 50, 10**9, 10**40 + 7):
            expected = closed_form(dimension(cells, balanced=balanced), radius, balanced=balanced)
            assert points_in_ball(cells, radius, balanced=balanced) == expected


def polynomials(top: int, *, balanced: bool) -> Iterator[list[Fraction]]:
    """Coefficients in v, lowest first, of the polynomials of dimension 0 … ``top``."""
    before, found = [Fraction(0)], [Fraction(1)]
    for d in range(top + 1):
        yield found
        ahead, back, over = (2 * d + 1, d**2, (d + 1) ** 2) if balanced else (1, d, d + 1)
        shifted, kept = [Fraction(0), *found], [*before, *[Fraction(0)] * (len(found) + 1 - len(before))]
        before, found = found, [(ahead * a + back * b) / over for a, b in zip(shifted, kept, strict=True)]


@both
def test_points_of_a_ball_are_a_polynomial_without_negative_coefficients(balanced: bool) -> None:
    """A polynomial of degree d that agrees with the closed form in d + 1 places is the closed form."""
    for d, coefficients in enumerate(polynomials(30, balanced=balanced)):
        assert len(coefficients) == d + 1
        assert coefficients[-1] > 0
        assert min(coefficients) >= 0
        for radius in range(d + 1):
            value = sum(c * (2 * radius + 1) ** i for i, c in enumerate(coefficients))
            assert value == closed_form(d, radius, balanced=balanced)


def in_all(sizes: Sequence[int], radius: int, *, balanced: bool) -> int:
    """G(radius): the points of all tables together."""
    return math.prod(points_in_ball(cells, radius, balanced=balanced) for cells in sizes)


def whole(sizes: Sequence[int], *, balanced: bool) -> int:
    """D: the dimension of all tables together."""
    return sum(dimension(cells, balanced=balanced) for cells in sizes)


MIXES: list[tuple[int, ...]] = [
    *[(2,), (3,), (4,), (9,), (2, 2), (2, 3), (1, 2), (3, 3), (2, 2, 2, 2), (2, 3, 4, 5), (2,) * 15, (7, 2, 30)],
    *[tuple(np.random.default_rng(seed).integers(1, 25, size=seed).tolist()) for seed in range(1, 7)],
]
"""Tables that share a radius, some of them drawn."""


@both
def test_balls_grow_no_faster_than_the_power_of_their_dimension(balanced: bool) -> None:
    for sizes in MIXES:
        d = whole(sizes, balanced=balanced)
        for r in (*range(40), 10**3, 10**6, 10**12):
            now, then = in_all(sizes, r, balanced=balanced), in_all(sizes, r + 1, balanced=balanced)
            assert then * (2 * r + 1) ** d <= now * (2 * r + 3) ** d
            if d and r >= 10**3:
                assert then * (2 * r + 1) ** (d - 1) > now * (2 * r + 3) ** (d - 1), "a lower power is too low"


@dataclass
class Tree:
    """Choices that are gone through like the digits of a counter, one path from the root to a leaf after the other."""

    script: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    chance: Fraction = Fraction(1)

    def choose(self, weights: Sequence[int]) -> int:
        """Choose a place whose weight is not 0."""
        places = [place for place, weight in enumerate(weights) if weight]
        if len(self.asked) == len(self.script):
            self.script.append(0)
        place = places[self.script[len(self.asked)]]
        self.asked.append(len(places))
        self.chance *= Fraction(weights[place], sum(weights))
        return place

    def below(self, bound: int) -> int:
        """Choose an integer below the ``bound``, which there must be."""
        assert bound > 0
        return self.choose([1] * bound)

    def subset(self, size: int, bound: int, _below: Below) -> list[int]:
        """Choose one of all subsets."""
        every = list(combinations(range(bound), size))
        return list(every[self.choose([1] * len(every))])

    def norm(self, cells: int, radius: int, _below: Below) -> int:
        """Choose the norm of a balanced table by the points that have it."""
        inside = [points_in_ball(cells, m, balanced=True) for m in range(radius + 1)]
        return self.choose([after - before for before, after in pairwise([0, *inside])])

    def stands_in(self, patch: pytest.MonkeyPatch) -> None:
        """Choose places, subsets and norms at once instead of by many integers: fewer paths lead to the same point."""
        patch.setattr(module, "_drawn", lambda weights, _below: self.choose(weights))
        patch.setattr(module, "_subset", self.subset)
        patch.setattr(module, "_norm", self.norm)

    def next_path(self) -> bool:
        """Turn to the next path, if there is one."""
        while self.script and self.script[-1] == self.asked[len(self.script) - 1] - 1:
            self.script.pop()
        if self.script:
            self.script[-1] += 1
        self.asked, self.chance = [], Fraction(1)
        return bool(self.script)


def outcomes(draw: Callable[[Tree], Drawn]) -> dict[Drawn, Fraction]:
    """Follow every path: what can be drawn, with exact probabilities."""
    tree, more = Tree(), True
    found: dict[Drawn, Fraction] = {}
    while more:
        drawn = draw(tree)
        found[drawn] = found.get(drawn, Fraction(0)) + tree.chance
        more = tree.next_path()
    return found


def outcomes_below(draw: Callable[[Below], Drawn]) -> dict[Drawn, Fraction]:
    """Follow every path of what is drawn by integers."""
    return outcomes(lambda tree: draw(tree.below))


def evenly(drawn: Sequence[Drawn] | frozenset[Drawn]) -> dict[Drawn, Fraction]:
    return {value: Fraction(1, len(drawn)) for value in drawn}


def test_every_outcome_of_a_drawn_place() -> None:
    for weights in ([1], [3], [1, 2], [0, 3, 1], [2, 0, 0, 5], [4, 4, 0], [0, 0, 1]):
        expected = {place: Fraction(weight, sum(weights)) for place, weight in enumerate(weights) if weight}
        assert outcomes_below(partial(_drawn, weights)) == expected


def in_a_tuple(draw: Callable[[Below], list[int]], below: Below) -> Point:
    return tuple(draw(below))


def test_every_outcome_of_a_subset() -> None:
    for bound in range(7):
        for size in range(min(bound, 5) + 1):
            draw = partial(_subset, size, bound)
            assert outcomes_below(partial(in_a_tuple, draw)) == evenly(list(combinations(range(bound), size)))


def test_every_outcome_of_a_norm() -> None:
    for cells, top in ((1, 3), (2, 30), (3, 12), (4, 7), (5, 4), (9, 2)):
        for radius in range(top + 1):
            found = outcomes_below(partial(_norm, cells, radius))
            inside = [points_in_ball(cells, m, balanced=True) for m in range(radius + 1)]
            shells = [after - before for before, after in pairwise([0, *inside])]
            expected = {m: Fraction(shell, inside[-1]) for m, shell in enumerate(shells) if shell}
            assert found == expected


def test_a_norm_is_found_wherever_the_search_for_it_begins() -> None:
    """The first and the last point of a shell, in balls whose size is far from the power that the guess takes."""
    for cells in (2, 3, 10, 60, 200):
        for radius in (1, 2, 9, 10**3, 10**9, 10**30):
            for norm in {m for m in (0, 1, 2, radius // 7, radius // 2, radius - 1, radius) if 0 <= m <= radius}:
                first = points_in_ball(cells, norm - 1, balanced=True) if norm else 0
                last = points_in_ball(cells, norm, balanced=True) - 1
                for place in (first, (first + last) // 2, last):
                    assert _norm(cells, radius, partial(min, place)) == norm


def drawn_point(cells: int, radius: int, below: Below, *, balanced: bool) -> Point:
    return tuple(_balanced_point(cells, radius, below) if balanced else _point(cells, radius, below))


@both
def test_every_outcome_of_a_point(balanced: bool) -> None:
    """Down to the integers that are drawn, in balls of which all paths can be followed."""
    for cells, top in ((1, 5), (2, 4), (3, 2), (4, 1)):
        for radius in range(top + 1):
            found = outcomes_below(partial(drawn_point, cells, radius, balanced=balanced))
            assert found == evenly(points(cells, radius, balanced=balanced))


@both
def test_every_outcome_of_a_point_of_wider_balls(balanced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of places, subsets and norms at once, all of whose own outcomes are followed above."""

    def draw(cells: int, radius: int, tree: Tree) -> Point:
        tree.stands_in(monkeypatch)
        return drawn_point(cells, radius, tree.below, balanced=balanced)

    for cells, top in ((1, 6), (2, 8), (3, 6), (4, 4), (5, 2), (6, 1)):
        for radius in range(top + 1):
            found = outcomes(partial(draw, cells, radius))
            assert found == evenly(points(cells, radius, balanced=balanced))


def norms(drawn: NDArray[np.int64], sizes: Sequence[int], *, balanced: bool) -> Point:
    """‖z‖ of every table."""
    assert drawn.shape == (sum(sizes),)
    tables = np.split(drawn, list(accumulate(sizes))[:-1])
    return tuple(int(np.abs(table).sum()) // (2 if balanced else 1) for table in tables)


@dataclass(frozen=True)
class Plan:
    """What a radius is made of: the least one there is, how many falling numbers it adds to it, and their scale."""

    least: int
    added: int
    step: Fraction


def furthest(sizes: Sequence[int], scale: Fraction, numbers: Callable[[int], list[int]], *, balanced: bool) -> Plan:
    """Draw the points that lie furthest outside, with ``numbers`` for those that fall: what was asked, and how far."""
    asked: list[tuple[int, Fraction]] = []

    def falling(size: int, step: Fraction) -> NDArray[np.int64]:
        asked.append((size, step))
        return np.array(numbers(size), dtype=np.int64)

    drawn = one_radius(sizes, scale=scale, balanced=balanced, below=lambda bound: bound - 1, falling=falling)
    [(added, step)] = asked
    reached = set(norms(drawn, [k for k in sizes if dimension(k, balanced=balanced)], balanced=balanced))
    assert len(reached) == 1, "all tables have the same radius"
    return Plan(reached.pop(), added, step)


def plan_of(sizes: Sequence[int], scale: Fraction, *, balanced: bool) -> Plan:
    return furthest(sizes, scale, lambda size: [0] * size, balanced=balanced)


SHARED = [sizes for sizes in MIXES if 1 not in sizes and sum(sizes) < 60]


@both
def test_a_radius_is_made_as_the_module_says_and_no_larger(balanced: bool) -> None:
    for sizes in SHARED:
        d, step = whole(sizes, balanced=balanced), Fraction(7, 2) if balanced else Fraction(7)
        assert plan_of(sizes, Fraction(7), balanced=balanced) == Plan((d + 1) // 2, d + 1, step)


def one_to(size: int) -> list[int]:
    return list(range(1, size + 1))


def one_of_five(size: int) -> list[int]:
    return [0] * (size - 1) + [5]


@both
def test_a_radius_adds_up_all_that_falls(balanced: bool) -> None:
    for sizes in SHARED:
        least = plan_of(sizes, Fraction(7), balanced=balanced).least
        for numbers in (one_to, one_of_five):
            found = furthest(sizes, Fraction(7), numbers, balanced=balanced)
            assert found.least == least + sum(numbers(found.added))


@both
def test_the_least_radius_and_what_it_adds_hold_the_loss_for_every_scale(balanced: bool) -> None:
    """π(r)/G(r) falls by at most e^(1/s): without the power of e, which is left out here, it does not fall at all."""
    for sizes in MIXES:
        if not whole(sizes, balanced=balanced) or 1 in sizes:
            continue
        plan = plan_of(sizes, Fraction(1), balanced=balanced)
        for j in (*range(60), 10**3, 10**6, 10**12):
            r = plan.least + j
            before = (j + 1) * in_all(sizes, r + 1, balanced=balanced)
            assert before <= (j + plan.added) * in_all(sizes, r, balanced=balanced)


def outside(sizes: Sequence[int], plan: Plan, top: int, *, balanced: bool) -> list[Decimal]:
    """F(0) … F(``top``): the probability of any one point of norm m, with 50 digits.

    Radii beyond ``top`` by 100 scales and more are left out, e⁻¹⁰⁰ of what follows a norm and less.
    """
    with localcontext() as context:
        context.prec = 50
        q = (-Decimal(plan.step.denominator) / plan.step.numerator).exp()
        chance, last = (1 - q) ** plan.added, top + plan.least + math.ceil(100 * plan.step)
        found: list[Decimal] = []
        for j in range(last + 1):
            found.append(chance / in_all(sizes, plan.least + j, balanced=balanced))
            chance *= q * (j + plan.added) / (j + 1)
        back = list(accumulate(reversed(found)))[::-1]
        return [back[0]] * plan.least + back[: top + 1 - plan.least]


def largest_loss(sizes: Sequence[int], plan: Plan, top: int, *, balanced: bool) -> tuple[Decimal, Decimal]:
    """The largest ln F(m)/F(m + 1) for m below ``top``, and the last."""
    steps = [(a / b).ln() for a, b in pairwise(outside(sizes, plan, top, balanced=balanced))]
    return max(steps), steps[-1]


SCALES = [Fraction(1, 3), Fraction(1), Fraction(2), Fraction(7, 2), Fraction(20)]
ROUNDING = Decimal("1e-30")


def as_decimal(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return Decimal(value.numerator) / value.denominator


@both
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_loss_is_what_the_scale_says_and_no_less(balanced: bool, scale: Fraction) -> None:
    """One step of ‖·‖ is a move of 1 in L1, of 2 in balanced tables: far outside nothing of Δ₁/scale is given away."""
    claimed = as_decimal((2 if balanced else 1) / scale)
    for sizes in SHARED:
        plan = plan_of(sizes, scale, balanced=balanced)
        most, last = largest_loss(sizes, plan, 60 + 6 * plan.least, balanced=balanced)
        assert most <= claimed + ROUNDING
        assert last > claimed * Decimal("0.9")


@both
def test_a_smaller_radius_loses_more_than_the_scale_says(balanced: bool) -> None:
    """Where the least radius is less by one, or one number less is added to it: neither can be saved."""
    for sizes in ((2,), (3,), (4,), (9,), (2, 2), (2, 3), (3, 3), (2, 2, 2, 2), (2, 3, 4, 5)):
        for scale in (Fraction(1), Fraction(20)):
            claimed = as_decimal((2 if balanced else 1) / scale)
            plan = plan_of(sizes, scale, balanced=balanced)
            for wrong in (replace(plan, least=plan.least - 1), replace(plan, added=plan.added - 1)):
                most, _ = largest_loss(sizes, wrong, 60 + 6 * plan.least, balanced=balanced)
                assert most > claimed * Decimal("1.0004")


def law_of_noise(
    sizes: Sequence[int], scale: Fraction, top: int, *, balanced: bool, patch: pytest.MonkeyPatch
) -> dict[Point, Decimal]:
    """The probability of every point of norm at most ``top``, of the draw itself.

    For every radius up to ``top`` all outcomes of the draw are followed; beyond, all points of these norms are as
    likely as each other.
    """
    plan = plan_of(sizes, scale, balanced=balanced)
    tail = outside(sizes, plan, top + 1, balanced=balanced)[-1]
    with localcontext() as context:
        context.prec = 50
        q = (-Decimal(plan.step.denominator) / plan.step.numerator).exp()
        found: dict[Point, Decimal] = {}
        for radius in range(plan.least, top + 1):
            j = radius - plan.least
            numbers = np.array([j, *[0] * (plan.added - 1)])

            def draw(tree: Tree, given: NDArray[np.int64] = numbers) -> Point:
                tree.stands_in(patch)
                noise = one_radius(
                    sizes, scale=scale, balanced=balanced, below=tree.below, falling=lambda _size, _step: given
                )
                return tuple(noise.tolist())

            chance = (1 - q) ** plan.added * math.comb(j + plan.added - 1, j) * q**j
            for point, share in outcomes(draw).items():
                found[point] = found.get(point, tail) + chance * share.numerator / share.denominator
    return found


def counts_of(records: Sequence[Point], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The tables of every attribute by itself, end to end; attributes have so many values."""
    return np.concatenate(
        [np.bincount([record[a] for record in records], minlength=cells) for a, cells in enumerate(sizes)]
    )


def moves(sizes: Sequence[int], *, balanced: bool) -> set[Point]:
    """How neighbours differ: one of two records is another one, or, where sums are not kept, is gone or new."""
    everyone = list(product(*(range(cells) for cells in sizes)))
    found: set[Point] = set()
    for kept, was in product(everyone, repeat=2):
        now: list[list[Point]] = [[kept, new] for new in everyone] if balanced else [[kept]]
        for other in now:
            move = counts_of(other, sizes) - counts_of([kept, was], sizes)
            found |= {tuple(move.tolist()), tuple((-move).tolist())}
    return found


@pytest.mark.parametrize(
    ("sizes", "scale", "balanced", "top"),
    [
        ((2, 3), Fraction(1), True, 5),
        ((2, 3), Fraction(6), True, 5),
        ((2, 2), Fraction(3), True, 9),
        ((1, 2), Fraction(1, 2), False, 5),
        ((1, 2), Fraction(3), False, 5),
        ((2, 1, 1), Fraction(2), False, 4),
    ],
)
def test_every_answer_of_every_neighbour(
    sizes: Point, scale: Fraction, balanced: bool, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Δ₁ = 2 where a record is another one, 1 where it is gone; the loss is Δ₁/scale, and no fifth less."""
    law = law_of_noise(sizes, scale, top, balanced=balanced, patch=monkeypatch)
    steps = moves(sizes, balanced=balanced)
    l1 = max(int(np.abs(np.split(np.array(move), list(accumulate(sizes))[:-1])[0]).sum()) for move in steps)
    assert l1 == (2 if balanced else 1)
    assert len(law) == in_all(sizes, top, balanced=balanced)
    ratios = [
        chance / law[there]
        for point, chance in law.items()
        for move in steps
        if (there := tuple(z + step for z, step in zip(point, move, strict=True))) in law
    ]
    assert max(ratios) <= as_decimal(l1 / scale).exp() * (1 + ROUNDING)
    assert max(ratios) > as_decimal(Fraction(8, 10) * l1 / scale).exp()


def law_of_norms(sizes: Sequence[int], scale: Fraction, top: int, *, balanced: bool) -> NDArray[np.float64]:
    """The probability that the tables have these norms, for all norms up to ``top``, by the formulas of the module."""
    d = whole(sizes, balanced=balanced)
    plan = Plan(-(-d // 2), d + 1, scale / 2 if balanced else scale)
    chances = np.array([float(chance) for chance in outside(sizes, plan, top, balanced=balanced)])
    found: NDArray[np.float64] = chances[np.max(np.indices((top + 1,) * len(sizes)), axis=0)]
    for axis, cells in enumerate(sizes):
        inside = [0, *(points_in_ball(cells, m, balanced=balanced) for m in range(top + 1))]
        shells = np.diff(np.array(inside, dtype=np.float64))
        found = found * shells.reshape([-1 if at == axis else 1 for at in range(len(sizes))])
    assert 0.9999 < found.sum() < 1 + 1e-9
    return found


LEVELS = np.array([2, 4, 6, 9])
"""Norms are put together between these."""


def p_value(observed: NDArray[np.int64], law: NDArray[np.float64]) -> float:
    """The p-value of Pearson's test of pairs of levels, those of an expectation below 30 put together."""
    expected = law * observed.sum()
    rare = expected < 30
    pooled = np.append(expected[~rare], observed.sum() - expected[~rare].sum())
    seen = np.append(observed[~rare], observed[rare].sum())
    return float(stats.chi2.sf(((seen - pooled) ** 2 / np.maximum(pooled, 1)).sum(), pooled.size - 1))


@sources
@pytest.mark.parametrize(
    ("sizes", "balanced"),
    [((2, 3), True), ((2, 2), True), ((2, 1), False)],
    ids=["two and three balanced", "two and two balanced", "two and one"],
)
def test_norms_have_the_law_of_one_radius_and_no_other(noise: Noise, sizes: Point, balanced: bool) -> None:
    """3,000 draws: ±30 % of the scale, and tables that had a radius each, lie far beyond the threshold."""
    scale = Fraction(4) if balanced else Fraction(2)
    observed = np.zeros((LEVELS.size + 1,) * 2, dtype=np.int64)
    for _ in range(3000):
        drawn = noise.one_radius(sizes, scale=scale, balanced=balanced)
        first, second = np.searchsorted(LEVELS, norms(drawn, sizes, balanced=balanced), side="right")
        observed[first, second] += 1
        if balanced:
            assert not any(table.sum() for table in np.split(drawn, list(accumulate(sizes))[:-1]))

    def law(b: Fraction) -> NDArray[np.float64]:
        pairs, starts = law_of_norms(sizes, b, 60, balanced=balanced), [0, *LEVELS]
        whole_law: NDArray[np.float64] = np.add.reduceat(np.add.reduceat(pairs, starts, axis=0), starts, axis=1)
        return whole_law

    right = law(scale)
    assert p_value(observed, right) > FALSE_ALARM
    apart = np.outer(right.sum(axis=1), right.sum(axis=0))
    for wrong in (law(scale * Fraction(7, 10)), law(scale * Fraction(13, 10)), apart):
        assert p_value(observed, wrong) < FALSE_ALARM


@sources
@both
@pytest.mark.parametrize("scale", [Fraction(10**7, 3), MAX_SCALE], ids=["wide", "widest"])
def test_wide_noise_has_the_norm_of_the_continuous_law(noise: Noise, scale: Fraction, balanced: bool) -> None:
    """The largest norm of all tables, in scales, has a Gamma law of shape D: by Kolmogorov and Smirnov, ±30 % apart."""
    sizes, draws = (2, 4, 3, 1), 1200
    step = float(scale) / (2 if balanced else 1)
    found = np.array(
        [
            max(norms(noise.one_radius(sizes, scale=scale, balanced=balanced), sizes, balanced=balanced)) / step
            for _ in range(draws)
        ]
    )
    law = stats.gamma(whole(sizes, balanced=balanced)).cdf
    assert stats.kstest(found, law).pvalue > FALSE_ALARM
    for wrong in (0.7, 1.3):
        assert stats.kstest(found * wrong, law).pvalue < FALSE_ALARM


@sources
@both
def test_tables_as_large_as_there_may_be(noise: Noise, balanced: bool) -> None:
    """The norm has a Gamma law of shape 511 or 512: beyond 10 standard deviations with probability below 1e-18."""
    drawn = noise.one_radius((MAX_CELLS,), scale=MAX_SCALE, balanced=balanced)
    [norm] = norms(drawn, (MAX_CELLS,), balanced=balanced)
    shape = dimension(MAX_CELLS, balanced=balanced)
    assert abs(norm / float(MAX_SCALE / 2 if balanced else MAX_SCALE) - shape) < 10 * math.sqrt(shape)


def test_noise_saturates_and_does_not_wrap_around() -> None:
    def falling(size: int, _step: Fraction) -> NDArray[np.int64]:
        return np.full(size, MAX_NOISE)

    def drawn(sizes: Sequence[int], below: Below, *, balanced: bool) -> list[int]:
        found = one_radius(sizes, scale=Fraction(1), balanced=balanced, below=below, falling=falling)
        assert found.dtype == np.int64
        return [int(z) for z in found]

    assert drawn((2, 2), lambda bound: bound - 1, balanced=True) == [-MAX_NOISE, MAX_NOISE] * 2
    assert drawn((1, 1), lambda bound: bound - 1, balanced=False) == [MAX_NOISE] * 2
    assert drawn((1, 1), lambda bound: 0 if bound == 2 else bound - 1, balanced=False) == [-MAX_NOISE] * 2


def test_a_balanced_table_of_one_cell_has_no_noise_and_no_part_in_the_radius() -> None:
    alone = [SimulatedNoise(seed).one_radius((3,), scale=Fraction(9), balanced=True).tolist() for seed in range(20)]
    beside = [SimulatedNoise(seed).one_radius((1, 3), scale=Fraction(9), balanced=True).tolist() for seed in range(20)]
    assert beside == [[0, *drawn] for drawn in alone]
    assert not SecureNoise().one_radius((1, 1), scale=Fraction(9), balanced=True).any()
