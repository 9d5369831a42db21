"""Nested groupings: against merging by brute force, and what they promise for every number of groups."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.nested import Nested

Floats = NDArray[np.float64]


def laws() -> list[Floats]:
    """Distributions of 1 to 40 values: of one kind, skewed, with ties, with zeros."""
    rng = np.random.default_rng(3)
    found = [rng.dirichlet(np.full(size, 0.4)) for size in (1, 2, 3, 7, 12, 40)]
    found += [np.full(size, 1 / size) for size in (2, 5, 16)]
    found += [np.array([0.5, 0.0, 0.0, 0.5, 0.0]), rng.integers(1, 4, 15) / 30]
    return found


def merged(law: Floats, count: int, *, ordered: bool) -> list[int]:
    """Merge the lightest two, each pair looked at, until ``count`` groups are left."""
    groups = [[value] for value in range(law.size)]
    mass = [float(part) for part in law]
    while len(groups) > max(count, 2):
        every = [
            (mass[i] + mass[j], i, j)
            for i in range(len(groups))
            for j in range(i + 1, i + 2 if ordered else len(groups))
            if j < len(groups)
        ]
        if ordered:
            _, i, j = min(every)
        else:
            lightest = sorted(range(len(groups)), key=lambda place: (mass[place], place))[:2]
            i, j = sorted(lightest)
        mass[i] += mass.pop(j)
        groups[i] += groups.pop(j)
    where = {value: number for number, group in enumerate(groups) for value in group}
    return [where[value] for value in range(law.size)]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("law", laws(), ids=lambda law: str(law.size))
def test_every_number_of_groups_is_what_merging_the_lightest_two_gives(law: Floats, ordered: bool) -> None:
    """Ties go to the first values; groups are numbered by their first values, as merging keeps them in order."""
    nested = Nested.of(law, ordered=ordered)
    for count in range(1, law.size + 3):
        assert nested.groups(count).tolist() == merged(law, count, ordered=ordered)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("law", laws(), ids=lambda law: str(law.size))
def test_groupings_are_nested_and_numbered_by_first_values(law: Floats, ordered: bool) -> None:
    nested = Nested.of(law, ordered=ordered)
    for fine in range(2, law.size + 2):
        groups = nested.groups(fine)
        assert groups.max() + 1 == min(fine, law.size)
        first = [int(np.flatnonzero(groups == number)[0]) for number in range(int(groups.max()) + 1)]
        assert first == sorted(first)
        assert not ordered or np.all(np.diff(groups) >= 0)
        for coarse in range(2, fine + 1):
            between = nested.between(fine, coarse)
            assert between.size == min(fine, law.size)
            assert np.array_equal(between[groups], nested.groups(coarse))


def test_one_value_and_two_values_are_never_merged() -> None:
    for ordered in (True, False):
        assert Nested.of(np.ones(1), ordered=ordered).groups(5).tolist() == [0]
        for count in (0, 1, 2, 3):
            assert Nested.of(np.array([0.9, 0.1]), ordered=ordered).groups(count).tolist() == [0, 1]
            assert Nested.of(np.full(3, 1 / 3), ordered=ordered).groups(min(count, 2)).max() == 1


@pytest.mark.parametrize("ordered", [True, False])
def test_groups_of_even_values_are_about_as_frequent(ordered: bool) -> None:
    """Of 2,000 about even values: no group has more than four times another, whatever their number."""
    law = np.random.default_rng(5).dirichlet(np.full(2_000, 50.0))
    nested = Nested.of(law, ordered=ordered)
    assert len(nested.merges) == 1_998
    for count in (2, 3, 10, 63, 700):
        shares = np.bincount(nested.groups(count), law)
        assert shares.size == count
        assert shares.max() < 4 * shares.min()


def test_one_frequent_value_stays_alone() -> None:
    """0.9 of the records have one value: it is no one's neighbour until two groups are left."""
    law = np.full(60, 0.1 / 59)
    law[20] = 0.9
    for ordered in (True, False):
        groups = Nested.of(law, ordered=ordered).groups(3)
        assert np.count_nonzero(groups == groups[20]) == 1
