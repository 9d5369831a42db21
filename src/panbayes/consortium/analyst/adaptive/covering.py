"""Blocks that cover all pairs of a small schema: tables of up to four attributes, and the noise of what they hold.

Where a schema is small, choosing among pairs costs more than it saves: all of them fit into a few blocks. Sixteen
attributes have 120 pairs and are covered by 20 blocks of four. A pair is read off a block by adding up the other
attributes' cells. With noise of variance v in a table that has the whole grant, a table of k cells that is one of B
evenly measured ones has B²·v under pure privacy and B·v under zCDP in a cell, and a margin m times that, m the cells
that are added up: for a pair 20²·4·v instead of 120²·v, or 20·4·v instead of 120·v. Blocks of four are about the best:
with more attributes there are fewer, but each pair is a sum of more cells.

A design is found greedily: the next block is the one with the most pairs that none has yet, of these one with the
fewest cells, of these the first, in two orders of which the better one is taken. That is a function of the sizes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import combinations
from operator import xor
from typing import Final

from panbayes.bayesnet.markov.field import Axes, shape_of

__all__ = ["covering", "is_small", "margin_variance", "noise_of_margins", "shares"]

ATTRIBUTES: Final = 16
PAIR: Final = 12
JOINT: Final = 65_536
"""A schema is small up to so many attributes, cells of a pair, and cells of all attributes together."""

WIDTH: Final = 4
BLOCK: Final = 64
"""Attributes and cells of a block at most."""

_Block = tuple[int, ...]


def is_small(sizes: Sequence[int]) -> bool:
    """Tell whether a schema with these domain ``sizes`` is small enough for blocks.

    >>> is_small([2] * 16), is_small([2] * 17), is_small([3, 4, 2]), is_small([4, 4, 2]), is_small([3] * 11)
    (True, False, True, False, False)
    """
    pair, joint = math.prod(sorted(sizes)[-2:]), math.prod(sizes)
    return 2 <= len(sizes) <= ATTRIBUTES and min(sizes) > 1 and pair <= PAIR and joint <= JOINT


@cache
def covering(sizes: tuple[int, ...]) -> tuple[Axes, ...]:
    """Return blocks such that every pair of attributes of a small schema lies in one.

    >>> [[attribute for attribute, _ in block] for block in covering((2,) * 6)]
    [[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 4, 5]]
    >>> [len(covering((2,) * attributes)) for attributes in (2, 4, 7, 8, 10, 13, 16)]
    [1, 1, 5, 6, 9, 13, 20]
    """
    offered = [
        block
        for width in range(2, WIDTH + 1)
        for block in combinations(range(len(sizes)), width)
        if width == 2 or math.prod(sizes[a] for a in block) <= BLOCK
    ]
    designs = [_greedy(sizes, offered, order) for order in (lambda _: 0, lambda block: reduce(xor, block))]
    best = min(designs, key=len)
    return tuple(tuple((attribute, sizes[attribute]) for attribute in block) for block in best)


def _greedy(sizes: Sequence[int], offered: Sequence[_Block], order: Callable[[_Block], int]) -> list[_Block]:
    left = set(combinations(range(len(sizes)), 2))
    found = []
    while left:
        best = min(
            offered,
            key=lambda block: (
                -sum(pair in left for pair in combinations(block, 2)),
                math.prod(sizes[a] for a in block),
                order(block),
            ),
        )
        found.append(best)
        left.difference_update(combinations(best, 2))
    return found


def shares(blocks: Sequence[Axes]) -> list[float]:
    """Return the parts of the blocks' grant that go to each: in proportion to the root of its cells."""
    roots = [math.sqrt(math.prod(shape_of(axes))) for axes in blocks]
    return [root / sum(roots) for root in roots]


def margin_variance(blocks: Sequence[Axes], variances: Sequence[float], attributes: Sequence[int]) -> float:
    """Return the variance of a cell of the ``attributes``' table, read off all blocks that hold them.

    ``variances`` are those of the blocks' cells; the blocks' sums are averaged by the inverses of theirs.
    """
    weight = 0.0
    for axes, variance in zip(blocks, variances, strict=True):
        if set(attributes) <= {attribute for attribute, _ in axes}:
            weight += 1 / (variance * math.prod(size for attribute, size in axes if attribute not in attributes))
    return 1 / weight


def noise_of_margins(sizes: Sequence[int], variance: Callable[[float, int], float], *, total: float) -> float:
    """Return the bits that noise costs single attributes if blocks have all of the grant.

    A cell of c of n records with noise of variance v costs v/(2·ln 2·n·c) bits; counts are taken for even. ``variance``
    tells that of a cell of a table at a part of the grant, with so many cells.
    """
    blocks = covering(tuple(sizes))
    variances = [variance(share, math.prod(shape_of(axes))) for share, axes in zip(shares(blocks), blocks, strict=True)]
    margins = (size * (size - 1) * margin_variance(blocks, variances, (a,)) for a, size in enumerate(sizes))
    return sum(margins) / (2 * math.log(2) * max(total, 1.0) ** 2)
