"""Frequent values of an unknown domain: the whole law of small releases, beside what is claimed of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import discrete_laplace_pmf, discrete_laplace_tail
from panbayes.audit.privacy_loss import hockey_stick as delta_between
from panbayes.dp.frequent import BLOCK, SERVED, frequency_threshold, frequent_values
from panbayes.dp.secure import OPENDP_CELLS, SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.exact.tails import laplace_tail_above, least_rare
from panbayes.privacy.adjacency import Adjacency, TableSensitivity
from panbayes.privacy.events import DiscreteLaplace
from tests.effort import some

FALSE_ALARM = 1e-9
"""Each statistical test of true randomness fails by chance with at most this probability."""


def event_of(epsilon: Fraction, adjacency: Adjacency, values: int) -> DiscreteLaplace:
    moved = TableSensitivity.of(adjacency=adjacency, max_records=values).l1
    return DiscreteLaplace(moved / epsilon, moved)


def tail(scale: Fraction, at: int) -> float:
    """P(Z ≥ at) of discrete Laplace noise, for any integer."""
    return float(discrete_laplace_tail(np.array([at]), scale=scale)[0])


def outcomes(count: int, *, scale: Fraction, threshold: int, last: int) -> list[float]:
    """The law of what is released of one value: hidden, threshold, …, last − 1, and all from last on.

    From the largest count on, two counts' chances have one ratio, so that nothing is lost by taking these together.
    """
    if count == 0:
        return [1.0] + [0.0] * (last - threshold + 1)
    shown = discrete_laplace_pmf(np.arange(threshold, last) - count, scale=scale)
    return [1 - tail(scale, threshold - count), *shown, tail(scale, last - count)]


def hockey_stick(
    first: tuple[int, ...], second: tuple[int, ...], *, epsilon: float, scale: Fraction, threshold: int
) -> float:
    """The δ that these two histograms need: Σ max(0, P − e^ε·Q) over all releases."""
    last = max(threshold, *first, *second) + 1
    left = [outcomes(count, scale=scale, threshold=threshold, last=last) for count in first]
    right = [outcomes(count, scale=scale, threshold=threshold, last=last) for count in second]
    p, q = np.ones(1), np.ones(1)
    for one, other in zip(left, right, strict=True):
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return delta_between(p, q, epsilon=epsilon)


def neighbours(adjacency: Adjacency, values: int, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair of histograms of two or three values with counts up to ``most`` that one person makes differ."""
    size = 3 if values > 1 else 2
    sets = [set(chosen) for n in range(values + 1) for chosen in itertools.combinations(range(size), n)]
    for base in itertools.product(range(most + 1), repeat=size):
        for gone in sets:
            for come in sets if adjacency == "replace" else [set()]:
                yield (
                    tuple(c + (i in gone) for i, c in enumerate(base)),
                    tuple(c + (i in come) for i, c in enumerate(base)),
                )


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1), Fraction(1, 100)), (Fraction(1, 2), Fraction(1, 20)), (Fraction(3), "1/1000")]
)
def test_no_pair_of_neighbours_needs_more_than_delta(
    adjacency: Adjacency, values: int, epsilon: Fraction, delta: Fraction | str
) -> None:
    allowed = Fraction(delta)
    event = event_of(epsilon, adjacency, values)
    threshold = frequency_threshold(event, delta=allowed, values=values)
    scale = event.scale
    needed = max(
        max(
            hockey_stick(one, other, epsilon=float(epsilon), scale=scale, threshold=threshold),
            hockey_stick(other, one, epsilon=float(epsilon), scale=scale, threshold=threshold),
        )
        for one, other in neighbours(adjacency, values, 2)
    )
    assert needed <= float(allowed) + 1e-12
    # One less would not do: a person with new values alone would be seen too often.
    new, nothing = (1,) * values + (0,), (0,) * values + (0,)
    assert hockey_stick(new, nothing, epsilon=float(epsilon), scale=scale, threshold=threshold - 1) > float(allowed) * (
        1 - float(allowed)
    )


def test_the_second_condition_is_needed() -> None:
    # With a large δ the first condition alone allows a threshold at which hiding a value loses more than ε.
    epsilon, delta = Fraction(1, 10), Fraction(9, 20)
    event = event_of(epsilon, "add-remove", 1)
    lenient = 1 + least_rare(event.scale * SERVED, delta)
    chosen = frequency_threshold(event, delta=delta, values=1)
    assert chosen > lenient

    def hidden_loss(threshold: int) -> float:
        return -math.log(1 - tail(event.scale, threshold - 1))

    assert hidden_loss(lenient) > float(epsilon) >= hidden_loss(chosen)


def test_the_threshold_holds_for_the_largest_scale_that_may_be_served() -> None:
    event = DiscreteLaplace(Fraction(10), 1)
    delta = laplace_tail_above(event.scale, 200)  # just enough for T = 201, if the scale were served as it is
    threshold = frequency_threshold(event, delta=delta, values=1)
    assert threshold == 202
    assert (
        laplace_tail_above(event.scale * SERVED, threshold - 1) <= delta < laplace_tail_above(event.scale * SERVED, 200)
    )


def test_the_brute_force_sees_a_threshold_that_forgets_that_a_person_has_several_values() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 100)
    event = event_of(epsilon, "add-remove", 2)
    wrong = frequency_threshold(event, delta=delta, values=1)
    assert hockey_stick((1, 1), (0, 0), epsilon=1.0, scale=event.scale, threshold=wrong) > float(delta)


def test_the_brute_force_sees_noise_for_too_few_values() -> None:
    narrow = DiscreteLaplace(Fraction(1), 1)
    threshold = frequency_threshold(narrow, delta=Fraction(1, 100), values=1)
    assert hockey_stick((9, 9), (8, 8), epsilon=1.0, scale=Fraction(1), threshold=threshold) > 0.01


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(17, 5), Fraction(400)])
def test_tails_are_above_the_sum_of_the_law_and_hardly_so(scale: Fraction) -> None:
    for at in (1, 2, 7, 40):
        far = np.arange(at, at + math.ceil(45 * float(scale)) + 1)
        summed = math.fsum(discrete_laplace_pmf(far, scale=scale))
        assert summed * (1 - 1e-12) <= float(laplace_tail_above(scale, at)) <= summed * (1 + 1e-12)


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**6), Fraction(1, 10**18)])
@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1), Fraction(333, 7), Fraction(2**20)])
def test_the_least_rare_is_the_least(scale: Fraction, chance: Fraction) -> None:
    found = least_rare(scale, chance)
    assert laplace_tail_above(scale, found) <= chance
    assert found == 1 or laplace_tail_above(scale, found - 1) > chance


def test_tails_begin_at_one() -> None:
    with pytest.raises(ValueError, match="1 or above"):
        laplace_tail_above(Fraction(1), 0)
    with pytest.raises(ValueError, match="above 0"):
        least_rare(Fraction(1), Fraction(0))


def test_pure_epsilon_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"delta: found 0: under pure ε no value of an unknown domain can be named"):
        frequency_threshold(DiscreteLaplace(Fraction(1), 1), delta=Fraction(0), values=1)


def test_a_person_moves_at_least_as_many_counts_as_it_has_values() -> None:
    with pytest.raises(ValueError, match="one person"):
        frequency_threshold(DiscreteLaplace(Fraction(1), 1), delta=Fraction(1, 100), values=2)


def test_what_is_released_is_sorted_by_count_and_text_and_nothing_else() -> None:
    counts = {"x": 400, "b": 900, "a": 900, "rare": 1, "z": 50_000}
    event = DiscreteLaplace(Fraction(1, 2**20), 1)  # noise that is zero, but for an event of probability exp(−2²⁰)
    expected = (("z", 50_000), ("a", 900), ("b", 900), ("x", 400))
    for order in some(itertools.permutations(counts), 10):
        found = frequent_values(
            order, np.array([counts[v] for v in order]), event=event, threshold=100, noise=SecureNoise()
        )
        assert found == expected


@pytest.mark.parametrize("values", [1, OPENDP_CELLS, OPENDP_CELLS + 1, BLOCK + 1])
def test_no_request_for_noise_tells_how_many_values_there_are(values: int) -> None:
    """The source serves other scales for large requests: one request a table would have a law by its private size."""

    class Asked(SimulatedNoise):
        sizes: ClassVar[set[int]] = set()

        def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
            self.sizes.add(size)
            return super().discrete_laplace(size, scale=scale)

    event, counts = DiscreteLaplace(Fraction(2), 1), np.full(values, 1000)
    found = frequent_values([str(i) for i in range(values)], counts, event=event, threshold=900, noise=Asked(1))
    assert len(found) == values
    assert {value for value, _ in found} == {str(i) for i in range(values)}
    assert Asked.sizes == {BLOCK}


def test_nothing_occurs_nothing_is_released() -> None:
    event = DiscreteLaplace(Fraction(1), 1)
    assert frequent_values([], np.zeros(0, np.int64), event=event, threshold=9, noise=SecureNoise()) == ()


@pytest.mark.parametrize(("values", "counts"), [(("a", "a"), [1, 1]), (("a",), [0]), (("a",), [1, 2])])
def test_counts_that_are_none_are_our_own_mistake(values: tuple[str, ...], counts: list[int]) -> None:
    event = DiscreteLaplace(Fraction(1), 1)
    with pytest.raises(ValueError, match="once"):
        frequent_values(values, np.array(counts), event=event, threshold=9, noise=SimulatedNoise(1))


@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(1), Fraction(13, 10)])
def test_the_share_of_runs_that_name_a_value_is_the_one_of_the_scale(factor: Fraction) -> None:
    """The right scale passes, one that is 30 % off fails: false alarms and misses are below the stated rate."""
    event = DiscreteLaplace(Fraction(20), 1)
    threshold, runs = 60, 40_000
    values = [f"{number}" for number in range(runs)]
    found = frequent_values(
        values, np.full(runs, 40, dtype=np.int64), event=event, threshold=threshold, noise=SecureNoise()
    )
    named = len(found)
    expected = tail(Fraction(20) * factor, threshold - 40)
    chance = stats.binomtest(named, runs, expected).pvalue
    assert (chance > FALSE_ALARM) == (factor == 1)
    spread = Counter(count for _, count in found)
    assert min(spread) == threshold
