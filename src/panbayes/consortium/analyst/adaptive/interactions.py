"""Interactions of three or four attributes, for what no pair shows: offered once the law has pairs, or has found none.

A holder's score of an interaction is how far the parity of two groups each is from what the law expects, counted in
records drawn from it. An exclusive or of values in halves shows there, and a gate of three attributes with more values
may show in other splits only. So sets of which two pairs were measured, where gates are likely, are offered at several
splits: the halves, and the most frequent values each against the rest. Other sets are offered in halves; too many are
thinned out at random.

By chance alone the sum of parities over n records deviates by √(n·f). If all attributes were independent, with the
records' own margins, and μ² the squared mean parity of each alone, f = 1 − ∏μ² − Σ(1 − μᵢ²)·∏μⱼ² over the others j ≠ i:
1 for even halves, little for rare values. To it come the chance of the drawn records and what noise has left in the
law; and the largest of so many is what chance is taken for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Final, TypeVar

import numpy as np

from panbayes.bayesnet.inference.sampling import draw_prior
from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.nested import Groups
from panbayes.consortium.agreement.strategies.adaptive import INTERACTIONS
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.consortium.analyst.adaptive.offers import Offer, most_of
from panbayes.tables.counting.parities import parities

__all__ = ["interactions", "neighbours"]

PRICE: Final = 2
QUADRUPLES_UP_TO: Final = 16
"""Interactions of four attributes are offered if there are at most so many."""

_SINGLED_OUT: Final = 2
"""So many of the most frequent values are each set against the rest."""

_LINKED: Final = 0.75
"""At most this part of all offers is for sets of which two pairs were measured."""

_SAMPLES: Final = 4
_LEAST_SAMPLES: Final = 50_000
_MOST_SAMPLES: Final = 400_000

_Set = tuple[int, ...]
_Kind = TypeVar("_Kind")


def interactions(belief: Belief, rng: np.random.Generator, *, fours: bool) -> list[Offer]:
    """Offer interactions of three attributes, and of ``fours`` where asked."""
    varying = [a for a, single in enumerate(belief.singles) if single.distribution.size > 1]
    tables = _tables(belief)
    done = {tuple(a for a, _ in axes) for axes in (*tables, *belief.idle)}
    sets: list[_Set] = [found for found in combinations(varying, 3) if found not in done]
    if fours and len(varying) <= QUADRUPLES_UP_TO:
        sets += [found for found in combinations(varying, 4) if found not in done]
    linked = _linked(tables)
    splits = [_splits(belief, a) for a in range(len(belief.singles))]
    near = [
        tuple(zip(members, places, strict=True))
        for members in sets
        if members in linked
        for places in product(*(range(len(splits[a])) for a in members))
    ]
    near = _thinned(near, int(INTERACTIONS * _LINKED), rng)
    far = _thinned([members for members in sets if members not in linked], INTERACTIONS - len(near), rng)
    offered = near + [tuple([(a, 0) for a in members]) for members in far]
    return _offers(belief, splits, offered, rng) if offered else []


def _offers(
    belief: Belief, splits: Sequence[Sequence[Groups]], offered: Sequence[Axes], rng: np.random.Generator
) -> list[Offer]:
    """Offer sets of (attribute, number of its split), with what records drawn from the law say of them."""
    drawn = int(min(max(_SAMPLES * belief.records, _LEAST_SAMPLES), _MOST_SAMPLES))
    codes = draw_prior(*belief.network(0.0), drawn, rng, np.uint16)
    every = [(a, place) for a, found in enumerate(splits) for place in range(len(found))]
    row = {split: number for number, split in enumerate(every)}
    halves = np.empty((len(every), drawn), dtype=np.uint8)
    for number, (a, place) in enumerate(every):
        np.take(splits[a][place].astype(np.uint8), codes[a], out=halves[number], mode="clip")
    rows = [tuple(row[split] for split in members) for members in offered]
    means = parities(halves, rows)[:, None] / drawn
    alone = (1 - 2 * halves.mean(axis=1)) ** 2
    noise = max((table.law.deviation for table in belief.known), default=0.0) ** 2 / belief.records
    deviations = most_of(len(offered)) * np.sqrt(_chances(alone, rows) * (1 + belief.records / drawn) + noise)
    written = [tuple(splits[a][place].tolist()) for a, place in every]
    halved = [(a, 2) for a in range(len(splits))]
    return [
        Offer(
            tuple([halved[a] for a, _ in members]),
            mean,
            PRICE * 2 ** len(members),
            deviation,
            tuple([written[number] for number in found]),
        )
        for members, found, mean, deviation in zip(offered, rows, means, deviations.tolist(), strict=True)
    ]


def _chances(squares: FloatArray, rows: Sequence[Sequence[int]]) -> FloatArray:
    """Return f of the module for sets of ``rows``, whose mean parities have these ``squares``; never nothing at all."""
    found = np.empty(len(rows))
    lengths = np.array([len(members) for members in rows])
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        own = squares[np.array([rows[place] for place in places.tolist()])]
        rest = sum((1 - own[:, place]) * np.delete(own, place, axis=1).prod(axis=1) for place in range(length))
        found[places] = 1 - own.prod(axis=1) - rest
    return np.maximum(found, 1e-9)


def _splits(belief: Belief, attribute: int) -> list[Groups]:
    """Return groupings of an attribute's values into two, each once: halves first."""
    law = belief.singles[attribute].distribution
    found = [belief.nested[attribute].groups(2)]
    if law.size > 2:
        for value in np.argsort(-law, kind="stable")[:_SINGLED_OUT].tolist():
            groups = ((np.arange(law.size) == value) != (value == 0)).astype(np.int64)
            if not any(np.array_equal(groups, other) for other in found):
                found.append(groups)
    return found


def _tables(belief: Belief) -> list[Axes]:
    return [table.axes for table in belief.known]


def _linked(tables: Sequence[Axes]) -> set[_Set]:
    """Return the sets of three attributes of which some tables hold two pairs or more."""
    near = neighbours(tables)
    return {tuple(sorted((a, b, c))) for a, others in near.items() for b, c in combinations(sorted(others), 2)}


def neighbours(tables: Sequence[Axes]) -> dict[int, set[int]]:
    """Return for each attribute in some tables those that it shares one with."""
    near: dict[int, set[int]] = {}
    for axes in tables:
        for (a, _), (b, _) in combinations(axes, 2):
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
    return near


def _thinned(sets: Sequence[_Kind], most: int, rng: np.random.Generator) -> list[_Kind]:
    """Keep at most so many, drawn at random, in their order."""
    if len(sets) <= most:
        return list(sets)
    return [sets[place] for place in np.sort(rng.choice(len(sets), most, replace=False)).tolist()]
