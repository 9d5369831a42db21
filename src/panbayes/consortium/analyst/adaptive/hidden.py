"""What noise may have hidden from a run, and the replicates that are drawn with it.

That is the noise of a cell of a table worth measuring, that of the looks at how many there are, and that of a first
look after which none were offered (:mod:`panbayes.consortium.analyst.adaptive.replicates`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from panbayes.bayesnet.markov.field import shape_of
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.choice import LOOK, LOOKED_AT, SEEN
from panbayes.consortium.analyst.adaptive.covering import covering, margin_variance
from panbayes.consortium.analyst.adaptive.division import TOTAL, Division
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.first_look import first_noise
from panbayes.consortium.analyst.adaptive.fitting import TREE
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.replicates import draw_replicates
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.analyst.adaptive.shares import divided
from panbayes.consortium.analyst.holders import digest
from panbayes.privacy.adjacency import TableSensitivity

__all__ = ["no_surer_than_noise", "replicates_of"]


def replicates_of(session: Session, belief: Belief, division: Division) -> Replicates:
    """Draw what else the same measurements would allow."""
    rng = np.random.default_rng(int(digest(session.holders.study.hash, "replicates")[:32], 16))
    noise, look, first = None, 0.0, 0.0
    if division.first and not division.rounds:
        noise = _noise_of_each(session, 1 - TOTAL - division.first)
        first = first_noise(session, division.first)
    if division.blocks:
        noise = _noise_of_pairs(session, division.blocks)
    elif division.rounds:
        fraction = division.spend(1 - TOTAL - division.first - division.singles) * division.choosing * LOOK
        moved = LOOKED_AT * session.grant.moved.l1
        event = session.grant.loss.part(fraction).tables_event(TableSensitivity(moved, moved * session.grant.moved.l1))
        look = min(NoiseLaw.of(event).deviation, SEEN * belief.records)
        offered = _noise_of_each(session, 1 - TOTAL - division.first - division.singles)
        noise = max(offered, float(np.mean([table.law.deviation for table in belief.known] or [0.0])))
    if division.centred:
        belief = no_surer_than_noise(belief)
    added_up = division.concentrated or (not division.blocks and all(law.balanced for _, law in belief.counted))
    return draw_replicates(belief, rng, noise=noise, look=look, first=first, tree=TREE, added_up=added_up)


def no_surer_than_noise(belief: Belief) -> Belief:
    """Return the belief with single attributes as uncertain as their noise, or as they are large if that is less.

    A prior that all attributes share is too sure of those that are unlike the others. Where tables are centred nothing
    but their own counts tells of them.
    """
    singles = tuple(
        Estimate(
            one.distribution,
            np.maximum(one.variance, np.minimum(law.deviation**2, (belief.records * one.distribution) ** 2)),
        )
        for one, (_, law) in zip(belief.singles, belief.counted, strict=True)
    )
    return replace(belief, singles=singles)


def _noise_of_each(session: Session, fraction: Fraction) -> float:
    """Return the deviation of a cell, were a ``fraction`` divided among as many tables as there are attributes."""
    many = len(session.sizes)
    return session.grant.law(fraction / many, holders=len(session.holders.names), tables=many).deviation


def _noise_of_pairs(session: Session, fraction: Fraction) -> float:
    """Return the standard deviation of a cell of a pair that is read off blocks, on average over pairs."""
    blocks, holders = covering(session.sizes), len(session.holders.names)
    variances = [
        session.grant.law(
            fraction * Fraction(part, sum(parts)),
            holders=holders,
            tables=len(blocks),
            cells=math.prod(shape_of(axes)),
        ).deviation
        ** 2
        for parts in (divided(Fraction(1), blocks, centred=False),)
        for part, axes in zip(parts, blocks, strict=True)
    ]
    every = combinations(range(len(session.sizes)), 2)
    return float(np.mean([math.sqrt(margin_variance(blocks, variances, pair)) for pair in every]))
