"""The demo's figure tells no dependency that is not there: no arrow passes behind a box."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from panbayes.bayesnet.structure import Structure
from panbayes.cli.demo.layout import Box, Layout, Point, lay_out
from panbayes.cli.demo.population import clinic_network

APART = 0.03


def random_structure(seed: int) -> tuple[Structure, list[float]]:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 30))
    order = [int(one) for one in rng.permutation(size)]
    pairs = []
    for place, child in enumerate(order):
        number = int(rng.integers(0, min(place, int(rng.integers(0, 4))) + 1))
        pairs.append((child, tuple(int(one) for one in rng.choice(order[:place], number, replace=False))))
    return Structure.of(pairs), [float(width) for width in rng.uniform(0.3, 3.0, size)]


def curve(points: tuple[Point, ...]) -> list[Point]:
    """Many points of an arrow: lines and cubic Bézier curves in turn."""
    t = np.linspace(0, 1, 41)[:, None]
    found = []
    for start in range(0, len(points) - 2, 4):
        a, b, c, d, e = (np.array(point) for point in points[start : start + 5])
        found += [a + t * (b - a), (1 - t) ** 3 * b + 3 * (1 - t) ** 2 * t * c + 3 * (1 - t) * t**2 * d + t**3 * e]
    a, b = (np.array(point) for point in points[-2:])
    found.append(a + t * (b - a))
    return [(float(x), float(y)) for x, y in np.concatenate(found)]


def inside(point: Point, box: Box, *, margin: float) -> bool:
    wide, high = box.width / 2 + margin, box.height / 2 + margin
    return abs(point[0] - box.x) < wide and abs(point[1] - box.y) < high


def check(structure: Structure, layout: Layout) -> None:
    assert set(layout.boxes) == set(structure.order)
    assert set(layout.arrows) == set(structure.edges)
    for (parent, child), points in layout.arrows.items():
        start, end = layout.boxes[parent], layout.boxes[child]
        assert points[0] == pytest.approx((start.x + start.width / 2, start.y))
        assert points[-1] == pytest.approx((end.x - end.width / 2, end.y))
        assert points[-1][0] - points[-2][0] > 0.14, "the head needs a straight line"
        way = curve(points)
        assert all(later[0] >= before[0] - 1e-9 for before, later in pairwise(way)), "an arrow goes to the right"
        assert all(0 < x < layout.width and 0 < y < layout.height for x, y in way)
        for other, box in layout.boxes.items():
            margin = -1e-9 if other in (parent, child) else APART
            assert not any(inside(point, box, margin=margin) for point in way)
    for first, second in combinations(layout.boxes.values(), 2):
        across = abs(first.x - second.x) > (first.width + second.width) / 2 + APART
        assert across or abs(first.y - second.y) > first.height + APART
    for box in layout.boxes.values():
        assert box.width / 2 < box.x < layout.width - box.width / 2
        assert box.height / 2 < box.y < layout.height - box.height / 2


@pytest.mark.parametrize("seed", range(150))
def test_no_arrow_passes_behind_a_box(seed: int) -> None:
    structure, widths = random_structure(seed)
    check(structure, lay_out(structure, widths))


def test_the_demos_population() -> None:
    structure = clinic_network().structure
    layout = lay_out(structure, [1.0] * len(structure.order))
    check(structure, layout)


def test_the_check_sees_an_arrow_behind_a_box() -> None:
    structure = Structure.of([(0, ()), (1, (0,)), (2, (0, 1))])
    layout = lay_out(structure, [1.0] * 3)
    check(structure, layout)
    hidden = layout.boxes[1]
    straight = ((layout.arrows[0, 2][0]), *layout.arrows[0, 2][1:-1], layout.arrows[0, 2][-1])
    moved = tuple((x, hidden.y) if 3 < i < 7 else (x, y) for i, (x, y) in enumerate(straight))
    with pytest.raises(AssertionError):
        check(structure, Layout(layout.boxes, {**layout.arrows, (0, 2): moved}, layout.width, layout.height))
