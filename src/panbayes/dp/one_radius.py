"""Noise of one radius: exact integers for many tables at once, of which only the largest counts.

Laplace noise on T tables pays for what one person moves in all of them together, T times as much as in one. But a
person who moves every table moves *each* by no more than a single one, and noise can be cut to that: all tables get a
point drawn evenly from a ball of one common, random radius (the K-norm mechanism of Hardt and Talwar, 2010, for a
product of balls). Where tables have few cells that is much less noise: under replace, and without what Laplace noise
has in the public sum, a twelfth of the variance for two cells, a third for four, level for hundreds.

Let z = (z₁, …, z_T) be whole numbers in T tables, ‖z_t‖ = Σ|z_t(x)|, or half of that where tables are ``balanced`` and
every z_t adds up to 0 (as what is done to a table does whose sum is public). Let a table of k cells have the dimension
k, or k − 1 if balanced, D the sum of all dimensions, and s the ``scale``, halved if balanced. Draw

    r = ⌈D/2⌉ + y₀ + y₁ + … + y_D,     the y independent, P(y) ∝ exp(−y/s) for y = 0, 1, …,

and every z_t evenly among the points with ‖z_t‖ ≤ r.

**Claim.** If a person moves no table by more than Δ in ‖·‖, the loss is at most Δ/s.

*Points in a ball.* L(r) points of one table have ‖z‖ ≤ r. As a polynomial in v = 2r + 1 they follow

    (d + 1)·f_{d+1} = v·f_d + d·f_{d−1}              or, balanced,  (d + 1)²·f_{d+1} = (2d + 1)·v·f_d + d²·f_{d−1},

f₀ = 1 and f₁ = v (Delannoy numbers, and continuous Hahn polynomials; the closed forms are Σ C(d, i)·2^i·C(r, i) and
Σ C(d, i)²·C(r + d − i, d)). So f_d has no negative coefficient and the degree d, and with G(r) the product over all
tables G(r)/v^D does not grow with r: G(r + 1)/G(r) ≤ ((2r + 3)/(2r + 1))^D.

*The radius.* With r = ⌈D/2⌉ + j, π(r) ∝ C(j + D, D)·exp(−j/s), so π(r)/π(r + 1) = e^(1/s)·(j + 1)/(j + 1 + D). Now
ln((j + 1 + D)/(j + 1)) = Σ φ(j + 1 + i) over i = 0 … D − 1 with φ(u) = ln(1 + 1/u), which is convex and falls, so it is
at least D·φ(j + 1 + (D − 1)/2) ≥ D·φ(r + ½) = ln ((2r + 3)/(2r + 1))^D ≥ ln(G(r + 1)/G(r)), since r + ½ ≥ j + ½ + D/2.
Hence g(r) = π(r)/G(r) falls by at most e^(1/s) from one r to the next.

*The loss.* z has the probability F(m) = Σ g(r) over all r ≥ m, m = max ‖z_t‖, and so F(m) ≤ e^(1/s)·F(m + 1). What
was added changes by at most Δ in every ‖z_t‖ if the records change, so m changes by at most Δ, and the probability of
any answer by the factor e^(Δ/s) at most. ∎

The radius is (D + 1)·s + D/(12·s) on average, up to a little, as long as s is not below 1: for smaller s let fewer
tables share one. All arithmetic is that of integers; ``below`` and ``falling`` are where randomness comes from. (A
falling number is cut off at 2⁶², as all noise here is, of which the chance is below exp(−2³⁰).)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.sampler import MAX_NOISE

__all__ = ["MAX_CELLS", "Below", "Falling", "dimension", "one_radius", "points_in_ball"]

Below: TypeAlias = Callable[[int], int]
"""Draws an integer of 0 … bound − 1, each with the same probability, for any bound."""

Falling: TypeAlias = Callable[[int, Fraction], NDArray[np.int64]]
"""Draws so many integers y ≥ 0 with probability proportional to exp(−y/scale)."""

MAX_CELLS: Final = 512
"""Cells of a table at most: the work for a table grows with the square of its cells, and larger ones gain nothing."""


def dimension(cells: int, *, balanced: bool) -> int:
    """Return the dimension of a table of so many ``cells``."""
    return cells - 1 if balanced else cells


def points_in_ball(cells: int, radius: int, *, balanced: bool) -> int:
    """Return L(``radius``), the number of points with ‖z‖ ≤ radius in a table of so many ``cells``; see the module.

    >>> points_in_ball(2, 3, balanced=True), points_in_ball(3, 1, balanced=True), points_in_ball(2, 1, balanced=False)
    (7, 7, 5)
    """
    v, before, found = 2 * radius + 1, 0, 1
    for d in range(dimension(cells, balanced=balanced)):
        if balanced:
            before, found = found, ((2 * d + 1) * v * found + d**2 * before) // (d + 1) ** 2
        else:
            before, found = found, (v * found + d * before) // (d + 1)
    return found


def one_radius(
    sizes: Sequence[int], *, scale: Fraction, balanced: bool, below: Below, falling: Falling
) -> NDArray[np.int64]:
    """Draw the noise of tables of these ``sizes``, end to end; see the module.

    A person who moves no table by more than Δ₁ in L1 loses Δ₁/``scale``: in ‖·‖ of balanced tables that is half of Δ₁,
    and s half of the scale.
    """
    tables = [int(cells) for cells in sizes]  # of any width, as all numbers here
    whole = sum(dimension(cells, balanced=balanced) for cells in tables)
    step = scale / 2 if balanced else scale
    radius = -(-whole // 2) + sum(map(int, falling(whole + 1, step)))
    drawn: list[int] = []
    for cells in tables:
        drawn += _balanced_point(cells, radius, below) if balanced else _point(cells, radius, below)
    return np.array([max(-MAX_NOISE, min(MAX_NOISE, z)) for z in drawn], dtype=np.int64)


def _point(cells: int, radius: int, below: Below) -> list[int]:
    """Draw a point with Σ|z| ≤ ``radius``.

    C(k, n)·2^n·C(r, n) of them have n cells that are not 0: their places, signs, and magnitudes, which are the steps
    between n of the numbers 1 … r.
    """
    weights = [comb(cells, n) * 2**n * comb(radius, n) for n in range(cells + 1)]
    many = _drawn(weights, below)
    found = [0] * cells
    ends = [0, *(place + 1 for place in _subset(many, radius, below))]
    for place, (start, end) in zip(_subset(many, cells, below), pairwise(ends), strict=True):
        found[place] = (end - start) * (1 if below(2) else -1)
    return found


def _balanced_point(cells: int, radius: int, below: Below) -> list[int]:
    """Draw a point with Σ z = 0 and Σ|z| ≤ 2·``radius``: first how much m is above 0, then which cells are.

    Of those with m > 0, C(k, n)·C(m − 1, n − 1)·C(m + k − n − 1, k − n − 1) have n cells above 0: m is divided among
    these, each with one at least, and −m among the others.
    """
    above = _norm(cells, radius, below)
    if not above:
        return [0] * cells
    weights = [
        comb(cells, n) * comb(above - 1, n - 1) * comb(above + cells - n - 1, cells - n - 1) for n in range(1, cells)
    ]
    many = 1 + _drawn(weights, below)
    others = cells - many
    ends = [0, *(place + 1 for place in _subset(many - 1, above - 1, below)), above]
    bars = [-1, *_subset(others - 1, above + others - 1, below), above + others - 1]
    up, down = [b - a for a, b in pairwise(ends)], [a + 1 - b for a, b in pairwise(bars)]
    chosen = set(_subset(many, cells, below))
    return [up.pop() if place in chosen else down.pop() for place in range(cells)]


def _norm(cells: int, radius: int, below: Below) -> int:
    """Draw ‖z‖ of a balanced table: the least m for which more points than a number below L(r) have ‖z‖ ≤ m."""
    if cells == 1:
        return 0
    whole = points_in_ball(cells, radius, balanced=True)
    place = below(whole)
    # Nearly v^d of the points have a norm below v: a guess to look from, which the search does not rely on.
    guess = min(radius, max(0, int((radius + 0.5) * (place / whole) ** (1 / (cells - 1)))))
    low, high, step = -1, guess, 1
    while points_in_ball(cells, high, balanced=True) <= place:
        low, high, step = high, min(radius, high + step), 2 * step
    while low < 0 < high:
        candidate = max(0, high - step)
        if points_in_ball(cells, candidate, balanced=True) <= place:
            low = candidate
        else:
            high, step = candidate, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if points_in_ball(cells, middle, balanced=True) > place:
            high = middle
        else:
            low = middle
    return high


def _drawn(weights: Sequence[int], below: Below) -> int:
    """Draw a place, each with probability in proportion to its weight."""
    left = below(sum(weights))
    for place, weight in enumerate(weights):
        if left < weight:
            return place
        left -= weight
    raise AssertionError("a number below the sum of all weights lies in one of them")


def _subset(size: int, bound: int, below: Below) -> list[int]:
    """Draw ``size`` different integers below ``bound``, every set with the same probability, in order (Floyd)."""
    found: set[int] = set()
    for top in range(bound - size, bound):
        drawn = below(top + 1)
        found.add(top if drawn in found else drawn)
    return sorted(found)
