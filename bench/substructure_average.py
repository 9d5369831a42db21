"""Tables averaged over all sub-structures of a structure, from counts with errors of a known variance.

A structure says of every child which parents it may have. Whether it has all of them, some or none is not certain where
counts are noisy. If the parents of each child are judged by themselves, the average of the laws of all sub-structures,
weighed by how credible each is, is again a law of the structure: the table of a child becomes

    p(x | π) = Σ over S ⊆ Π of P(S | counts) · p_S(x | π_S).

**How credible.** Let y be the counts of the child with the parents S, b(π) the parents' own, p the child's law, and
e(x, π) = b(π)·p(x) what is expected if the child does not depend on S. If it does, with a strength t, each cell differs
from e by a normal deviate of variance t·e² (so that √t is a relative difference). Counts add errors of variance
v = e + σ², records being drawn from a population and σ² the variance that is given. With d = y − Σₓy·p,

    ln P(y | t) − ln P(y | 0) = f·½Σ [d²/v·κ + ln(1 − κ)],    κ = t·e² / (t·e² + v),

f = (|X|−1)(|S|−1)/(|X|·|S|) for the cells that margins fix, and the expected table is p(x)·(1 + κ·d/e). Strengths lie
on a grid from a relative difference of 1/128 to 4; how common each is, and no dependence at all, is learned from all
children together (expectation maximisation, with a prior of half for no dependence that counts as one child).

Single attributes are the means of normal laws cut off at zero (:func:`positive`): no value that may occur is said never
to. The errors of counts are taken for normal and independent, which sums of several holders' are more nearly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import log_ndtr, logsumexp

from panbayes.bayesnet.counts import Counts, FloatArray
from panbayes.bayesnet.structure import Structure

__all__ = ["Dependence", "Likely", "averaged_tables", "chances", "dependences", "laws_of", "positive"]

STRENGTHS: Final = 4.0 ** np.arange(-7, 3)
_LEAST: Final = 1e-3
"""No dependence makes a value less than a thousandth as likely as it is alone."""

_STEPS: Final = 30
_FAR: Final = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """A child's dependence on some of its parents: evidence for every strength, and its table at each, over p(x)."""

    evidence: FloatArray
    shrunk: FloatArray
    difference: FloatArray

    def table(self, strengths: FloatArray, law: FloatArray) -> FloatArray:
        """Return p(x | π) where strengths are so likely and the child has this ``law``: axes (parents …, child)."""
        shrunk = np.tensordot(strengths / max(float(strengths.sum()), 1e-300), self.shrunk, 1)
        rows = law * np.maximum(1 + shrunk * self.difference, _LEAST)
        return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """What is likely of a child: the logarithm of no dependence, and every [set of parents, strength]."""

    log_none: float
    each: FloatArray

    @property
    def none(self) -> float:
        """How likely it is that the child depends on none of its parents."""
        return math.exp(self.log_none)


def averaged_tables(
    structure: Structure, counts: Counts, *, variance: Callable[[tuple[int, ...]], float]
) -> tuple[FloatArray, ...]:
    """Return the averaged table of every attribute, axes as in :mod:`panbayes.bayesnet.network`.

    ``variance`` says of a set of attributes how large the variance of the error of each cell of its table is.
    """
    sizes, laws = counts.sizes, laws_of(counts, variance=variance)
    found = [
        list(dependences(child, structure.parents(child), counts, laws[child], variance=variance))
        for child in range(len(sizes))
    ]
    likely = chances([np.array([one.evidence for one in own]) for own in found if own])
    tables = []
    for child, own in enumerate(found):
        table = np.broadcast_to(laws[child], [*(sizes[p] for p in structure.parents(child)), sizes[child]])
        if own:
            here = likely.pop(0)
            table = here.none * table + sum(
                float(strengths.sum()) * one.table(strengths, laws[child])
                for one, strengths in zip(own, here.each, strict=True)
            )
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return tuple(tables)


def laws_of(counts: Counts, *, variance: Callable[[tuple[int, ...]], float]) -> list[FloatArray]:
    """Return the law of every attribute alone."""
    laws = []
    for attribute, size in enumerate(counts.sizes):
        (alone,) = counts.tables([(attribute,)])
        mean = max(counts.total, 1.0) / size
        kept = positive(alone.astype(np.float64), variance=variance((attribute,)), mean=mean)
        laws.append(kept / kept.sum())
    return laws


def positive(values: FloatArray, *, variance: float, mean: float) -> FloatArray:
    """Return what counts that cannot be negative are expected to be, given noisy ``values`` of them.

    Before they were measured they had an exponential law of this ``mean``; the error is normal.

    >>> positive(np.array([500.0, 3.0, -20.0]), variance=100.0, mean=1000.0).round(1).tolist()
    [499.9, 9.2, 3.7]
    """
    if variance <= 0:
        return np.maximum(values, 1.0)
    deviation = math.sqrt(variance)
    z = (np.asarray(values, dtype=np.float64) - variance / mean) / deviation
    near = np.clip(z, -_FAR, _FAR)
    moved = near + np.exp(-(near**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(near))
    far = np.where(z > 0, z, -1 / np.minimum(z, -_FAR))
    return np.asarray(deviation * np.where(np.abs(z) < _FAR, moved, far))


def dependences(
    child: int,
    parents: tuple[int, ...],
    counts: Counts,
    law: FloatArray,
    *,
    variance: Callable[[tuple[int, ...]], float],
) -> Iterator[Dependence]:
    """Yield the child's dependence on every set of its parents but none."""
    if not parents:
        return
    own, total = (*parents, child), max(counts.total, 1.0)
    (whole,) = counts.tables([own])
    for length in range(1, len(parents) + 1):
        for places in combinations(range(len(parents)), length):
            away = tuple(place for place in range(len(parents)) if place not in places)
            table = whole.sum(axis=away, keepdims=True)
            noise = variance(own) * whole.size / table.size
            rows = table.sum(axis=-1, keepdims=True)
            held = positive(rows, variance=noise * law.size, mean=total * law.size / table.size)
            expected = held / held.sum() * total * law
            error = expected + noise
            difference = table - rows * law
            free = (law.size - 1) * (table.size // law.size - 1) / table.size
            spread = STRENGTHS.reshape(-1, *[1] * table.ndim) * expected**2
            shrunk = spread / (spread + error)
            axes = tuple(range(1, shrunk.ndim))
            evidence = free / 2 * (difference**2 / error * shrunk + np.log1p(-shrunk)).sum(axis=axes)
            yield Dependence(evidence, shrunk, difference / np.maximum(expected, 1e-9))


def chances(evidence: list[FloatArray]) -> list[Likely]:
    """Return for every child, of which there is evidence for each [set of parents, strength], what is likely.

    How common each strength is, is learned from all children; before, it is as :data:`STRENGTHS` lie, and half of all
    have no dependence.
    """
    first = np.full(STRENGTHS.size + 1, 0.5 / STRENGTHS.size)
    first[0] = 0.5
    common = first
    for _ in range(_STEPS):
        found = [_posterior(one, common) for one in evidence]
        sums = sum((np.append(one.none, one.each.sum(axis=0)) for one in found), first)
        common = sums / (len(evidence) + 1)
    return [_posterior(one, common) for one in evidence]


def _posterior(evidence: FloatArray, common: FloatArray) -> Likely:
    logarithms = np.log(common[1:]) + evidence - math.log(len(evidence))
    none = math.log(common[0])
    whole = float(np.logaddexp(none, logsumexp(logarithms)))
    return Likely(none - whole, np.exp(logarithms - whole))
