"""The adaptive strategy: measure little, and only what the noise leaves worth measuring.

1. The noisy **total** of every holder, from which the division of the grant follows
   (:mod:`panbayes.consortium.analyst.adaptive.division`).
2. The tables of all **single** attributes; larger ones get more (in proportion to the root of their size). They are
   added up over holders and estimated with their noise in mind
   (:mod:`panbayes.consortium.analyst.adaptive.estimation`).
3. A choice of **pairs**: holders take turns, largest first, each with picks in proportion to its records and with all
   that is kept for choosing. A pair's score is how far the holder's own table is from independence, ½‖c − e‖₁, less
   what the noise of measuring it would add. Values are grouped so that cells stay above the noise
   (:mod:`panbayes.consortium.analyst.adaptive.grouping`). Pairs may not close a cycle, and none may be taken.
4. The tables of these pairs, from all holders. With the single attributes they make a forest.
5. A choice of **triples** (attribute, its parent, a second parent) against what the forest expects, in turns again.
6. Their tables; where they differ from what was expected, an attribute gets a second parent.

If no pair is taken, what was kept for them is spent on the single attributes again: the strategy abstains.

Everything is a deterministic function of the study and the releases: a run that is resumed on the same installation, on
the same kind of processor, asks the same questions and gives the same network to the bit. Another processor has other
instructions for exponentials, logarithms and sums of products, which round differently: with and without AVX-512, AVX2
and FMA, on the Diabetes schema and on small ones, the questions were the same and probabilities differed by at most
2·10⁻¹⁵. (An expectation just at a half could round to another whole number; it would then ask another question, and be
refused once the grant is spent. Nothing is ever overspent.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.division import CHOOSING, TOTAL, Division
from panbayes.consortium.analyst.adaptive.estimation import (
    Estimate,
    estimate_given_model,
    estimate_marginal,
    update_by_groups,
)
from panbayes.consortium.analyst.adaptive.forest import Forest
from panbayes.consortium.analyst.adaptive.grouping import grouped
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.consortium.analyst.adaptive.offers import Offer, pair_offers, triple_offers
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.analyst.holders import Holders
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.result import finish

__all__ = ["ADAPTIVE"]

_WEIGHT: Final = 1000
_FITTING: Final = 10


def _learn(holders: Holders) -> Network:
    session = Session.of(holders)
    (total,) = session.measure([()], TOTAL, "the number of records", round_number=0)
    counted = _counted(session, total)
    division = Division.of(session.grant, session.sizes, total=sum(counted.values()), holders=len(counted))
    singles = _measure_singles(session, division.singles, round_number=1)
    records = counted if _number_is_public(session) else _records(counted, total, singles)
    marginals = _marginals(session, singles, records)
    pairs = _choose_pairs(session, division, marginals, singles, records)
    if pairs:
        return _network(session, *_grow(session, division, marginals, pairs, records))
    if division.pair_picks:
        left = division.pairs * (1 - CHOOSING) + division.triples
        again = _measure_singles(session, left, round_number=3)
        singles = [first.averaged(second) for first, second in zip(singles, again, strict=True)]
        marginals = _marginals(session, singles, records)
    return _network(session, Forest.of([found.distribution for found in marginals], {}), {})


def _number_is_public(session: Session) -> bool:
    study = session.holders.study
    return study.adjacency == "replace" and study.schema.unit is None


def _counted(session: Session, total: Measurement) -> dict[str, float]:
    """Return every holder's number of records: as published, or else as measured."""
    if _number_is_public(session):
        return {name: max(1.0, float(size)) for name, size in session.people.items() if size is not None}
    return {name: float(table) for name, table in total.tables.items()}


def _measure_singles(session: Session, fraction: Fraction, *, round_number: int) -> list[Measurement]:
    """Measure every attribute alone, with weights that grow with the root of its domain."""
    weights = [round(_WEIGHT * math.sqrt(size)) for size in session.sizes]
    axes = [((attribute, None),) for attribute in range(len(session.sizes))]
    what = f"tables of {len(weights)} single attributes"
    return session.measure(axes, fraction, what, weights=weights, round_number=round_number)


def _records(counted: Mapping[str, float], total: Measurement, singles: Sequence[Measurement]) -> dict[str, float]:
    """Estimate every holder's number of records from its noisy total and the sums of its tables."""
    variances = [total.law.deviation**2, *(single.pooled.size * single.law.deviation**2 for single in singles)]
    weights = [1 / variance for variance in variances]
    return {
        name: max(1.0, float(np.average([number, *(single.tables[name].sum() for single in singles)], weights=weights)))
        for name, number in counted.items()
    }


def _marginals(session: Session, singles: Sequence[Measurement], records: Mapping[str, float]) -> list[Estimate]:
    """Estimate the distribution of every attribute."""
    total = sum(records.values())
    return [
        estimate_marginal(single.pooled, single.pooled_law, total, ordered=ordered)
        for single, ordered in zip(singles, session.ordered, strict=True)
    ]


def _choose_pairs(
    session: Session,
    division: Division,
    marginals: Sequence[Estimate],
    singles: Sequence[Measurement],
    records: Mapping[str, float],
) -> list[Offer]:
    """Let the holders choose pairs that are away from independence."""
    total = sum(records.values())
    offers = pair_offers(session.grant, division, marginals, session.ordered, total, len(records))
    own = _own_marginals(marginals, singles, records)
    expected = {name: [_product(offer, own[name], records[name]) for offer in offers] for name in records}
    fraction = division.pairs * CHOOSING
    return session.choose(offers, expected, records, division.pair_picks, fraction, "forest", round_number=2)


def _own_marginals(
    marginals: Sequence[Estimate], singles: Sequence[Measurement], records: Mapping[str, float]
) -> dict[str, list[FloatArray]]:
    """Estimate every holder's own distributions: holders may differ, and a difference is no dependency.

    They start from the common ones and leave them as far as a holder's noisy tables ask for it.
    """
    common = [marginal.distribution for marginal in marginals]
    if len(records) == 1:
        return dict.fromkeys(records, common)
    found = {}
    for name, number in records.items():
        estimates = [
            estimate_given_model(single.tables[name], number * distribution, single.law)
            for single, distribution in zip(singles, common, strict=True)
        ]
        found[name] = [estimate / estimate.sum() for estimate in estimates]
    return found


def _product(offer: Offer, distributions: Sequence[FloatArray], records: float) -> FloatArray:
    """Return what independence expects of a pair."""
    (a, of_a), (b, of_b) = offer.axes
    return records * np.outer(grouped(distributions[a], of_a, 0), grouped(distributions[b], of_b, 0))


def _grow(
    session: Session,
    division: Division,
    marginals: Sequence[Estimate],
    pairs: Sequence[Offer],
    records: Mapping[str, float],
) -> tuple[Forest, dict[int, tuple[int, FloatArray]]]:
    """Measure the chosen pairs, grow a forest from them, and give some attributes a second parent."""
    total = sum(records.values())
    left = division.pairs * (1 - CHOOSING)
    axes = [offer.axes for offer in pairs]
    measured = session.measure(axes, left, f"{len(pairs)} tables of pairs", round_number=3)
    singles = _corrected(marginals, pairs, measured, total)
    joints = {}
    for offer, pair in zip(pairs, measured, strict=True):
        (a, of_a), (b, of_b) = offer.axes
        margins = grouped(singles[a], of_a, 0), grouped(singles[b], of_b, 0)
        independent = np.outer(*margins)
        joint = _fitted(estimate_given_model(pair.pooled, total * independent, pair.pooled_law), margins)
        joints[a, b] = (of_a, of_b, joint / np.maximum(independent, 1e-300))
    forest = Forest.of(singles, joints)
    return forest, _second_parents(session, division, forest, singles, records) if division.triple_picks else {}


def _corrected(
    marginals: Sequence[Estimate], pairs: Sequence[Offer], measured: Sequence[Measurement], total: float
) -> list[FloatArray]:
    """Correct the single attributes by the sums of the tables of pairs."""
    found = list(marginals)
    for offer, pair in zip(pairs, measured, strict=True):
        for axis, (attribute, groups) in enumerate(offer.axes):
            error = pair.pooled_law.deviation * math.sqrt(pair.pooled.shape[1 - axis])
            sums = pair.pooled.sum(axis=1 - axis)
            found[attribute] = update_by_groups(found[attribute], groups, sums, error, total)
    return [estimate.distribution for estimate in found]


def _fitted(table: FloatArray, margins: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Scale rows and columns in turn until the margins fit (iterative proportional fitting)."""
    joint: FloatArray = table / table.sum()
    for _ in range(_FITTING):
        joint = joint * (margins[0] / np.maximum(joint.sum(axis=1), 1e-300))[:, None]
        joint = joint * (margins[1] / np.maximum(joint.sum(axis=0), 1e-300))
    return joint


def _second_parents(
    session: Session,
    division: Division,
    forest: Forest,
    singles: list[FloatArray],
    records: Mapping[str, float],
) -> dict[int, tuple[int, FloatArray]]:
    """Choose and measure triples; return for some attributes a second parent and p(attribute | parent, second)."""
    total = sum(records.values())
    offers, distributions = triple_offers(
        session.grant, division, forest, singles, session.ordered, total, len(records)
    )
    if not offers:
        return {}
    expected = {name: [number * each for each in distributions] for name, number in records.items()}
    choosing = division.triples * CHOOSING
    chosen = session.choose(offers, expected, records, division.triple_picks, choosing, "once", round_number=4)
    if not chosen:
        return {}
    axes = [offer.axes for offer in chosen]
    what = f"{len(chosen)} tables of triples"
    measured = session.measure(axes, division.triples - choosing, what, round_number=5)
    found = {}
    for offer, triple in zip(chosen, measured, strict=True):
        (x, of_x), (_, of_parent), (second, of_second) = offer.axes
        expects = np.maximum(total * distributions[offers.index(offer)], 1e-9)
        ratios = estimate_given_model(triple.pooled, expects, triple.pooled_law) / np.maximum(expects, 0.5)
        spread = ratios[of_x][:, of_parent][:, :, of_second]
        conditional: FloatArray = forest.tables[x][:, None, :] * spread.transpose(1, 2, 0)
        found[x] = (second, conditional / conditional.sum(axis=2, keepdims=True))
    return found


def _network(session: Session, forest: Forest, second: Mapping[int, tuple[int, FloatArray]]) -> Network:
    """Put the network together."""
    pairs: list[tuple[int, tuple[int, ...]]] = []
    tables = list(forest.tables)
    for x in forest.order:
        parent = forest.parents[x]
        parents = () if parent is None else (parent,)
        if x in second:
            parents = (*parents, second[x][0])
            tables[x] = second[x][1]
        pairs.append((x, parents))
    study = session.holders.study
    return finish(study, Structure.of(pairs), tables, session.spent, private=session.private)


ADAPTIVE: Final = Method(adaptive.ADAPTIVE.name, _learn)
