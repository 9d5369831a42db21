"""Which tables share a radius of noise, and the law of a cell that has it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.consortium.analyst.adaptive.margins import law_of_sums, law_without_margins, without_margins
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.radii import Sharing, sharing
from panbayes.dp.one_radius import MAX_CELLS
from panbayes.dp.simulated import SimulatedNoise
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import OneRadius
from tests.effort import some

ONE = Pure(Fraction(1))


def shared(
    cells: list[int], weights: list[int] | None = None, *, loss: Pure = ONE, moved: int = 2, balanced: bool = True
) -> list[tuple[int, ...]]:
    found = sharing(cells, weights or [1] * len(cells), loss=loss, moved=moved, balanced=balanced)
    return [group.places for group in found]


@given(
    st.lists(st.tuples(st.integers(1, 700), st.integers(1, 10**6)), min_size=1, max_size=40),
    st.sampled_from(["1/100", "1/3", "1", "7", "100"]),
    st.booleans(),
)
def test_groups_are_of_different_tables_alike_and_lose_what_their_weights_say(
    tables: list[tuple[int, int]], epsilon: str, balanced: bool
) -> None:
    cells, weights = [cells for cells, _ in tables], [weight for _, weight in tables]
    loss = Pure(Fraction(epsilon))
    found = sharing(cells, weights, loss=loss, moved=2, balanced=balanced)
    places = [place for group in found for place in group.places]
    assert len(places) == len(set(places))
    assert all(1 < cells[place] <= MAX_CELLS for place in places)
    for group in found:
        assert group.cells == tuple(cells[place] for place in group.places)
        assert len({size.bit_length() for size in group.cells}) == 1
        own = [weights[place] for place in group.places]
        assert max(own) <= 2 * min(own)
        part = loss.epsilon * Fraction(sum(own), sum(weights))
        assert group.event == OneRadius(2 / part, 2)
        assert loss.of_event(group.event) == Pure(part)
        assert len(group.places) == 1 or part <= (2 if balanced else 4), "more groups where much may be lost"


def test_tables_of_other_sizes_or_weights_do_not_share() -> None:
    assert shared([4, 2, 3, 2, 5, 7, 8]) == [(1, 2, 3), (0, 4, 5), (6,)]
    assert shared([4, 4, 4, 4], [1, 2, 3, 6]) == [(0, 1), (2, 3)]
    assert shared([1, 2, 2]) == [(1, 2)], "of one cell: nothing that could be noisy"
    little = Pure(Fraction(1, 100))
    assert shared([MAX_CELLS, MAX_CELLS], loss=little) == [(0, 1)]
    assert shared([MAX_CELLS + 1, MAX_CELLS + 1], loss=little) == []


def test_where_much_may_be_lost_there_are_more_groups_and_then_none() -> None:
    """Under replace balanced tables lose at most 1 together, others 2; from about 1 for each of them Laplace wins."""
    tables = [4] * 8
    assert shared(tables, loss=Pure(Fraction(1))) == [tuple(range(8))]
    assert shared(tables, loss=Pure(Fraction(3))) == [(0, 1), (2, 3, 4), (5, 6, 7)]
    assert shared(tables, loss=Pure(Fraction(80))) == []
    assert shared(tables, loss=Pure(Fraction(2)), balanced=False) == [tuple(range(8))]
    assert shared(tables, loss=Pure(Fraction(3)), balanced=False) == [tuple(range(4)), tuple(range(4, 8))]


def test_a_table_alone_gains_only_by_its_public_sum() -> None:
    assert shared([3], loss=Pure(Fraction(1, 10))) == [(0,)]
    assert shared([3], loss=Pure(Fraction(1, 10)), balanced=False) == []


GROUPS = [
    ((2,) * 9, "1/40", True),
    ((2,) * 9, "1/40", False),
    ((4, 5, 7, 4), "1/7", True),
    ((4, 5, 7, 4), "1/7", False),
    ((16,) * 3, "1", True),
    ((40, 60), "1/10", True),
    ((40, 60), "1/10", False),
    ((3,), "1/10", True),
]


@pytest.mark.parametrize(("cells", "epsilon", "balanced"), some(GROUPS, 3))
def test_the_law_of_a_cell_has_the_moments_of_what_is_drawn(
    cells: tuple[int, ...], epsilon: str, balanced: bool
) -> None:
    """Deviations of every table within 5 %, fourth moments within 15 %, of the noise, its sums and its part alone."""
    moved = 2
    scale = moved / Fraction(epsilon)
    group = Sharing(tuple(range(len(cells))), cells, OneRadius(scale, moved), balanced)
    source = SimulatedNoise(5)
    drawn = np.array([source.one_radius(cells, scale=scale, balanced=balanced) for _ in range(1_500)], dtype=float)
    start = 0
    for size in dict.fromkeys(cells):
        start = sum(cells[: cells.index(size)])
        table = drawn[:, start : start + size]
        law = group.law(size)
        assert law.balanced == balanced
        assert table.std() == pytest.approx(law.deviation, rel=0.05)
        assert law.deviation**2 * 1.3 > table.var() > law.deviation**2 / 1.3
        kurtosis = float((table**4).mean() / (table**2).mean() ** 2)
        (_, times) = law.parts[0]
        assert 3 + 3 / times == pytest.approx(max(3.1, kurtosis), rel=0.15)
        if size % 4 == 0:
            halves = table.reshape(len(table), 4, -1).sum(axis=2)
            assert halves.std() == pytest.approx(law_of_sums(law, size, 4).deviation, rel=0.07)
            pairs = np.array([without_margins(one) for one in table.reshape(len(table), 2, -1)])
            assert pairs.std() == pytest.approx(law_without_margins(law, (2, size // 2)).deviation, rel=0.07)
    assert group.law(cells[0], holders=3).deviation == pytest.approx(group.law(cells[0]).deviation * 3**0.5)


def test_sums_of_independent_cells_and_of_all_cells() -> None:
    independent = NoiseLaw(False, ((3.0, 1),))
    assert law_of_sums(independent, 12, 4).deviation == pytest.approx(independent.deviation * 3**0.5)
    whole = NoiseLaw(False, ((3.0, 1),), balanced=True)
    assert law_of_sums(whole, 12, 12).deviation == pytest.approx(whole.deviation)
    assert not whole.plus(independent).balanced
    assert whole.plus(whole).scaled(2).summed(3).balanced


@pytest.mark.parametrize(("cells", "part"), [(2, 1 / 12), (4, 0.315), (16, 0.756), (256, 0.98)])
def test_what_many_tables_of_one_radius_have_of_laplace_noise_without_the_public_sum(cells: int, part: float) -> None:
    """A thousand tables under replace at ε = 1/10 for all, against Laplace noise at a thousandth of it for each."""
    tables, epsilon = 1_000, 0.1
    law = NoiseLaw.of_radius(OneRadius(Fraction(20), 2), cells, dimensions=tables * (cells - 1), balanced=True)
    laplace = 2 * (2 / (epsilon / tables)) ** 2 * (1 - 1 / cells)
    assert law.deviation**2 / laplace == pytest.approx(part, rel=0.02)


def test_hardly_any_noise_has_a_law() -> None:
    law = NoiseLaw.of_radius(OneRadius(Fraction(1, 10**4), 2), 4, dimensions=3, balanced=True)
    assert 0 < law.deviation < 3
