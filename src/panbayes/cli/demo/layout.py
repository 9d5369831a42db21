"""Where the boxes and arrows of a network stand, so that every arrow is seen from one end to the other.

Attributes stand in columns, each one column to the right of its rightmost parent, those without any dependency in rows
of their own below. An arrow that passes a column has a place of its own in it, as a box has; between columns it bends.
So no arrow can pass behind a box: inside a column it keeps to its own place, and outside there are no boxes.

The unit is an inch; y grows upwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from panbayes.bayesnet.structure import Structure

__all__ = ["Box", "Layout", "Point", "lay_out"]

Point: TypeAlias = tuple[float, float]
Place: TypeAlias = tuple[int, int, int]
"""What stands in a column: an attribute as (column, attribute, -1), or a passing arrow as (column, parent, child)."""

HEIGHT: Final = 0.34
"""How high a box is."""

ROW: Final = 0.62
"""Between the middles of two boxes at least."""

LANE: Final = 0.42
"""Between the middles of a passing arrow and of what is next to it at least; more than half a box."""

BEND: Final = 0.75
"""Between two columns, where arrows bend."""

HEAD: Final = 0.15
"""How far an arrow goes straight before it meets its box, at least: as long as its head."""

GAP: Final = 0.25
SWEEPS: Final = 8
ALONE_IN_A_ROW: Final = 6


@dataclass(frozen=True, slots=True)
class Box:
    """A box around (``x``, ``y``)."""

    x: float
    y: float
    width: float
    height: float = HEIGHT


@dataclass(frozen=True, slots=True)
class Layout:
    """The box of every attribute, and for every (parent, child) the points of its arrow.

    The points are joined by a straight line, a bend (a cubic Bézier curve with two further points), a straight line and
    so on: 1 + 1, then 3 + 1 again and again.
    """

    boxes: Mapping[int, Box]
    arrows: Mapping[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float


def lay_out(structure: Structure, widths: Sequence[float]) -> Layout:
    """Lay out a structure whose attributes have boxes of these ``widths``."""
    linked = {end for edge in structure.edges for end in edge}
    depth: dict[int, int] = {}
    for child in structure.order:
        depth[child] = 1 + max((depth[parent] for parent in structure.parents(child)), default=-1)
    columns: list[list[Place]] = [[] for _ in range(1 + max((depth[one] for one in linked), default=-1))]
    for child in structure.order:
        if child in linked:
            columns[depth[child]].append((depth[child], child, -1))
    chains = {edge: _chain(edge, depth) for edge in structure.edges}
    for chain in chains.values():
        for place in chain[1:-1]:
            columns[place[0]].append(place)
    heights = _heights(columns, list(chains.values()))
    spans = _spans(columns, widths)
    boxes = {
        attribute: Box(sum(spans[column]) / 2, heights[column, attribute, child], widths[attribute])
        for column, attribute, child in heights
        if child < 0
    }
    arrows = {edge: _arrow(chain, boxes, heights, spans) for edge, chain in chains.items()}
    floor = min(heights.values(), default=0.0)
    boxes.update(_alone([one for one in structure.order if one not in linked], widths, below=floor))
    return _moved(boxes, arrows)


def _chain(edge: tuple[int, int], depth: Mapping[int, int]) -> list[Place]:
    """Return the places of an arrow from column to column."""
    parent, child = edge
    passing = [(column, parent, child) for column in range(depth[parent] + 1, depth[child])]
    return [(depth[parent], parent, -1), *passing, (depth[child], child, -1)]


def _heights(columns: list[list[Place]], chains: list[list[Place]]) -> dict[Place, float]:
    """Order every column by the neighbours of what stands in it, and move it next to them as far as there is room."""
    near: dict[Place, list[Place]] = {place: [] for column in columns for place in column}
    for chain in chains:
        for left, right in pairwise(chain):
            near[left].append(right)
            near[right].append(left)
    heights: dict[Place, float] = {}
    for column in columns:
        heights.update(_spread(column, [-i * ROW for i in range(len(column))]))
    for sweep in range(SWEEPS):
        for column in columns[:: 1 if sweep % 2 == 0 else -1]:
            wanted = {place: sum(heights[one] for one in near[place]) / len(near[place]) for place in column}
            column.sort(key=lambda place: (-wanted[place], place))
            heights.update(_spread(column, [wanted[place] for place in column]))
    return heights


def _spread(column: list[Place], wanted: list[float]) -> dict[Place, float]:
    """Give every place of a column, from top to bottom, a height near the wanted one and apart from the next."""
    placed: list[float] = []
    for i, height in enumerate(wanted):
        room = LANE if i and (column[i][2] >= 0 or column[i - 1][2] >= 0) else ROW
        placed.append(height if not i else min(height, placed[-1] - room))
    shift = sum(want - got for want, got in zip(wanted, placed, strict=True)) / max(len(placed), 1)
    return {place: height + shift for place, height in zip(column, placed, strict=True)}


def _spans(columns: list[list[Place]], widths: Sequence[float]) -> list[tuple[float, float]]:
    """Return from where to where every column goes."""
    spans: list[tuple[float, float]] = []
    for column in columns:
        begin = spans[-1][1] + BEND if spans else 0.0
        spans.append((begin, begin + max(widths[attribute] for _, attribute, child in column if child < 0)))
    return spans


def _arrow(
    chain: list[Place], boxes: Mapping[int, Box], heights: Mapping[Place, float], spans: list[tuple[float, float]]
) -> tuple[Point, ...]:
    first, last = boxes[chain[0][1]], boxes[chain[-1][1]]
    points: list[Point] = [(first.x + first.width / 2, first.y)]
    for left, right in pairwise(chain):
        leave, enter = spans[left[0]][1], spans[right[0]][0] - HEAD
        middle = (leave + enter) / 2
        points += [
            (leave, heights[left]),
            (middle, heights[left]),
            (middle, heights[right]),
            (enter, heights[right]),
        ]
    return (*points, (last.x - last.width / 2, last.y))


def _alone(attributes: list[int], widths: Sequence[float], *, below: float) -> dict[int, Box]:
    """Put attributes without any dependency into rows of their own."""
    boxes: dict[int, Box] = {}
    for row, start in enumerate(range(0, len(attributes), ALONE_IN_A_ROW)):
        left = 0.0
        for attribute in attributes[start : start + ALONE_IN_A_ROW]:
            boxes[attribute] = Box(left + widths[attribute] / 2, below - (row + 1.5) * ROW, widths[attribute])
            left += widths[attribute] + GAP
    return boxes


def _moved(boxes: Mapping[int, Box], arrows: Mapping[tuple[int, int], tuple[Point, ...]]) -> Layout:
    """Move everything into a page that begins at (0, 0)."""
    points = [point for arrow in arrows.values() for point in arrow]
    floor = min([box.y - box.height for box in boxes.values()] + [y - GAP for _, y in points])
    top = max([box.y + box.height for box in boxes.values()] + [y + GAP for _, y in points])
    right = max(box.x + box.width / 2 for box in boxes.values())
    return Layout(
        {one: Box(box.x + GAP, box.y - floor, box.width) for one, box in boxes.items()},
        {edge: tuple((x + GAP, y - floor) for x, y in arrow) for edge, arrow in arrows.items()},
        right + 2 * GAP,
        top - floor,
    )
