"""The least ε of a stream: below it the user is told so, at it every law and every statistic can be had."""

from __future__ import annotations

import pytest

from panbayes.errors import InputError
from panbayes.stream.guarantee.calibration import MIN_TOTAL
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.laws.registry import law_kind, law_kinds
from panbayes.stream.laws.state_law import MIN_STATE_EPSILON
from panbayes.stream.setup import configure, configure_hashed
from panbayes.stream.statistics.registry import read_statistic, sampled

STATISTICS = [("density", None), ("visits", 31), ("returning", None), ("cropped-mean", 8)]
BELOW = r"^epsilon: found .*e-.*; the least a stream can keep is 1e-05"


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-29", "0.00000999"])
@pytest.mark.parametrize(("name", "most"), STATISTICS)
def test_a_total_below_the_least_is_named_with_the_least(name: str, most: int | None, epsilon: str) -> None:
    with pytest.raises(InputError, match=BELOW):
        configure(1000, epsilon=epsilon, statistic=sampled(read_statistic(name, most)))


def test_a_total_below_the_least_is_named_where_ids_are_hashed() -> None:
    with pytest.raises(InputError, match=BELOW):
        configure_hashed(HashedUniverse.of_memory(16 * 1024), epsilon="1e-9")


@pytest.mark.parametrize(("name", "most"), STATISTICS)
def test_the_least_total_serves_every_statistic(name: str, most: int | None) -> None:
    setup = configure(1000, epsilon=MIN_TOTAL, statistic=sampled(read_statistic(name, most)))
    assert setup.calibration.loss() <= MIN_TOTAL


@pytest.mark.parametrize("name", sorted(law_kinds()))
def test_the_least_state_serves_every_law_on_every_number_of_levels(name: str) -> None:
    kind = law_kind(name)
    for levels in {2, 3, 7, kind.most_levels} if kind.most_levels > 2 else {2}:
        law = kind.law(MIN_STATE_EPSILON, levels=levels)
        assert law.surely_within(MIN_STATE_EPSILON)
        assert law.signal > 0


@pytest.mark.parametrize("part", ["1e-9", "0.000000999"])
@pytest.mark.parametrize(("name", "most"), STATISTICS)
def test_a_state_below_the_least_is_named_with_the_least(name: str, most: int | None, part: str) -> None:
    with pytest.raises(InputError, match=r"^state epsilon: found .*e-.* at least 1e-06"):
        configure(1000, epsilon=1, state_epsilon=part, statistic=sampled(read_statistic(name, most)))


def test_noise_that_is_too_large_to_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match=r"^epsilon: 1e-05 for 10000 releases needs noise of scale 4\.02e\+09"):
        configure(1000, epsilon=MIN_TOTAL, releases=10_000, statistic=sampled(read_statistic("visits", 3)))
