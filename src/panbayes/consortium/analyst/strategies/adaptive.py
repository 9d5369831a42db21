"""The adaptive strategy: measure what is worth it, and fit one law to all that was measured.

1. The noisy **total** of every holder, from which the division of the grant follows
   (:mod:`panbayes.consortium.analyst.adaptive.division`).
2. Where even single attributes are hard to measure, a **first look** whether any hang together; if not, all that is
   left is for them (:mod:`panbayes.consortium.analyst.adaptive.first_look`).
3. The tables of all **single** attributes; larger ones get more (in proportion to the root of their size). They are
   added up over holders and estimated with their noise in mind
   (:mod:`panbayes.consortium.analyst.adaptive.estimation`).
   In a small schema, where the division says so, **blocks** of several attributes that hold all pairs instead, off
   which single attributes, pairs and more are read (:mod:`panbayes.consortium.analyst.adaptive.blocks`): they are the
   first round, and those that follow, if any, look for interactions.
4. **Rounds.** In each, holders are offered all pairs at several granularities, and from the third on interactions of
   three or four attributes (:mod:`panbayes.consortium.analyst.adaptive.offers`). They look how many are worth
   measuring, given what the law so far expects and what the noise would cost, and choose so many
   (:mod:`panbayes.consortium.holder.handlers.table_choice`). The first round takes a forest of pairs. All holders
   measure what was chosen, with it in the first round single attributes again if they need it; under zCDP and
   add-remove without the margins, which single attributes tell (:mod:`panbayes.privacy.adjacency`, centred tables).
   Every table is estimated against what was expected, and one law is fitted to all tables
   (:mod:`panbayes.consortium.analyst.adaptive.belief`) that still say something once it holds the stronger ones
   (:mod:`panbayes.consortium.analyst.adaptive.selection`).
5. What is left after the last round measures the known tables again, or the single attributes if there are none.
   Under zCDP what a table has had counts: all together have then what is due to their cells. Where there is next to
   no noise, triples whose pairs are known are measured with them
   (:mod:`panbayes.consortium.analyst.adaptive.triangles`).

The law is a Markov network over a junction tree of bounded size, published as what it is exactly: a Bayesian network.

Holders choose in turns in the first two rounds, or all together, as the study says
(:mod:`panbayes.consortium.analyst.adaptive.choice`). Where it has a target, tables without it are worth a quarter
to them, and those with it have half the price.

A holder may drop out in any round. What is measured from then on is of fewer records, so the belief is brought to their
number before anything is set against it (:meth:`~panbayes.consortium.analyst.adaptive.belief.Belief.rescaled`); the
network is then of all holders, as far as they took part.

Everything is a deterministic function of the study and the releases: a run that is resumed on the same installation, on
the same kind of processor, asks the same questions and gives the same network to the bit. Another processor has other
instructions for exponentials, logarithms and sums of products, which round differently, and a fit ends when it hardly
gains: probabilities then differ, those of pairs by up to 2·10⁻⁴ where this was tried. Questions are put in whole
records, and after the first fit a count may round otherwise; such a question is refused, before it costs anything,
because another one was answered in its round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.maxent import BRIEFLY, THOROUGHLY
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.blocks import learned_from, margin
from panbayes.consortium.analyst.adaptive.choice import LOOK, LOOKED_AT, SEEN, Choice
from panbayes.consortium.analyst.adaptive.covering import covering, margin_variance
from panbayes.consortium.analyst.adaptive.division import TOTAL, Division
from panbayes.consortium.analyst.adaptive.first_look import attributes_hang_together, first_noise
from panbayes.consortium.analyst.adaptive.fitting import TREE, askable
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.interactions import interactions
from panbayes.consortium.analyst.adaptive.margins import added_up, adding_up
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import GRAINS, Offer, pairs, price
from panbayes.consortium.analyst.adaptive.own_marginals import own_marginals
from panbayes.consortium.analyst.adaptive.replicates import draw_replicates
from panbayes.consortium.analyst.adaptive.selection import with_worthwhile
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.analyst.adaptive.shares import as_weight, divided, made_even
from panbayes.consortium.analyst.adaptive.triangles import triangles
from panbayes.consortium.analyst.holders import Holders, digest
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.result import finish
from panbayes.privacy.adjacency import TableSensitivity

__all__ = ["ADAPTIVE"]

_WEIGHT: Final = 1000
_INTERACTIONS_FROM: Final = 2
_FOURS_FROM: Final = 3

_SMOOTHING: Final = 1.0
"""Records of smoothing in every row of the network, at most (:mod:`panbayes.bayesnet.markov.chordal`)."""


def _learn(holders: Holders) -> Network:
    session = Session.of(holders)
    (total,) = session.measure([()], TOTAL, "the number of records", round_number=0)
    counted = _counted(session, total)
    division = Division.of(
        session.grant,
        session.sizes,
        total=sum(counted.values()),
        holders=len(counted),
        look_first=holders.study.target is None,
    )
    if division.first and not attributes_hang_together(session, counted, division.first):
        division = division.alone()
    if division.blocks:
        blocks = _measure_blocks(session, division.blocks, round_number=2)
        records, singles = _read_off(session, session.left(counted), total, blocks)
        belief = Belief.begun(sum(records.values()), singles, ordered=session.ordered)
        belief = learned_from(belief, blocks).fitted(THOROUGHLY)
    else:
        measured = _measure_singles(session, division.singles, round_number=2)
        records, variance = _records(session, session.left(counted), total, measured)
        singles = added_up(measured, records, variance=variance)
        belief = Belief.begun(sum(records.values()), singles, ordered=session.ordered)
    own = own_marginals(belief, singles, records)
    left = 1 - TOTAL - division.first - division.singles - division.blocks
    for number in range(1 if division.blocks else 0, division.rounds):
        records = session.left(records)
        belief, left, more = _round(session, belief, division, records, own, left, number=number)
        if not more:
            break
    if left:
        belief = _again(session, belief, records, left, round_number=3 + 2 * division.rounds)
    structure, tables = belief.network(_SMOOTHING)
    error = _replicates(session, belief, division)
    return finish(holders, structure, tables, session.spent, private=session.private, error=error)


def _replicates(session: Session, belief: Belief, division: Division) -> Replicates:
    """Draw what else the same measurements would allow."""
    rng = np.random.default_rng(int(digest(session.holders.study.hash, "replicates")[:32], 16))
    noise, look, first = None, 0.0, 0.0
    if division.first and not division.rounds:
        noise = session.grant.law(
            (1 - TOTAL - division.first) / len(session.sizes), holders=len(session.holders.names)
        ).deviation
        first = first_noise(session, division.first)
    if division.blocks:
        noise = _noise_of_pairs(session, division.blocks)
    elif division.rounds:
        fraction = division.spend(1 - TOTAL - division.first - division.singles) * division.choosing * LOOK
        moved = LOOKED_AT * session.grant.moved.l1
        event = session.grant.loss.part(fraction).tables_event(TableSensitivity(moved, moved * session.grant.moved.l1))
        look = min(NoiseLaw.of(event).deviation, SEEN * belief.records)
        share = (1 - TOTAL - division.first - division.singles) / len(session.sizes)
        offered = session.grant.law(share, holders=len(session.holders.names)).deviation
        noise = max(offered, float(np.mean([table.law.deviation for table in belief.known] or [0.0])))
    return draw_replicates(belief, rng, noise=noise, look=look, first=first, tree=TREE, added_up=division.concentrated)


def _noise_of_pairs(session: Session, fraction: Fraction) -> float:
    """Return the standard deviation of a cell of a pair that is read off blocks, on average over pairs."""
    blocks, holders = covering(session.sizes), len(session.holders.names)
    variances = [
        session.grant.law(fraction * Fraction(part, sum(parts)), holders=holders).deviation ** 2
        for parts in (divided(fraction, blocks, centred=False),)
        for part in parts
    ]
    every = combinations(range(len(session.sizes)), 2)
    return float(np.mean([math.sqrt(margin_variance(blocks, variances, pair)) for pair in every]))


def _number_is_public(session: Session) -> bool:
    study = session.holders.study
    return study.adjacency == "replace" and study.schema.unit is None


def _counted(session: Session, total: Measurement) -> dict[str, float]:
    """Return every holder's number of records: as published, or else as measured."""
    if _number_is_public(session):
        return {name: max(1.0, float(size)) for name, size in session.people.items() if size is not None}
    return {name: max(1.0, float(table)) for name, table in total.tables.items()}


def _measure_singles(session: Session, fraction: Fraction, *, round_number: int) -> list[Measurement]:
    """Measure every attribute alone."""
    tables, weights = _singles(session)
    what = f"tables of {len(weights)} single attributes" if len(weights) > 1 else "the table of the attribute"
    return session.measure(tables, fraction, what, weights=weights, round_number=round_number)


def _measure_blocks(session: Session, fraction: Fraction, *, round_number: int) -> list[Measurement]:
    """Measure blocks that hold every pair of attributes."""
    blocks = covering(session.sizes)
    what = "a block of all attributes" if len(blocks) == 1 else f"{len(blocks)} blocks of attributes"
    return session.measure(
        blocks, fraction, what, weights=divided(fraction, blocks, centred=False), round_number=round_number
    )


def _singles(session: Session) -> tuple[list[Axes], list[int]]:
    """Return the tables of every attribute alone, and weights that grow with the root of its domain."""
    tables: list[Axes] = [((attribute, size),) for attribute, size in enumerate(session.sizes)]
    return tables, [round(_WEIGHT * math.sqrt(size)) for size in session.sizes]


def _records(
    session: Session, counted: Mapping[str, float], total: Measurement, measured: Sequence[Measurement]
) -> tuple[dict[str, float], float]:
    """Estimate every holder's number of records from its noisy total and the sums of its tables, with its variance."""
    if _number_is_public(session):
        return dict(counted), 0.0
    variances = [total.law.deviation**2, *(table.pooled.size * table.law.deviation**2 for table in measured)]
    weights = [1 / variance for variance in variances]
    found = {
        name: max(1.0, float(np.average([number, *(table.tables[name].sum() for table in measured)], weights=weights)))
        for name, number in counted.items()
    }
    return found, 1 / sum(weights)


def _read_off(
    session: Session, counted: Mapping[str, float], total: Measurement, blocks: Sequence[Measurement]
) -> tuple[dict[str, float], list[Measurement]]:
    """Return every holder's number of records and the tables of single attributes, as blocks have them."""
    records, variance = _records(session, counted, total, blocks)
    alone = [margin(blocks, (attribute,)) for attribute in range(len(session.sizes))]
    return records, [adding_up(table, records, variance=variance) for table in alone]


def _round(
    session: Session,
    belief: Belief,
    division: Division,
    records: Mapping[str, float],
    own: Mapping[str, Sequence[FloatArray]],
    left: Fraction,
    *,
    number: int,
) -> tuple[Belief, Fraction, bool]:
    """Choose and measure; return the new belief, what is left, and whether another round makes sense."""
    more = min(left / 2, division.more(belief.noise_of_singles)) if not number else Fraction(0)
    fraction = division.spend(left - more)
    last = number == division.rounds - 1
    choosing, measuring = fraction * division.choosing, fraction * (1 - division.choosing)
    rng = np.random.default_rng(int(digest(session.holders.study.hash, f"round {number}")[:32], 16))
    offers = _offers(session, belief, measuring, rng, number=number, holders=len(records), in_pairs=not division.blocks)
    if not offers:
        return belief, left, False
    choice = Choice(
        grant=session.grant,
        offers=offers,
        in_turns=session.holders.study.choices == "turns" and number < adaptive.TURNS,
        records=records,
        own=own,
        common=[single.distribution for single in belief.singles],
        nested=belief.nested,
        price=price(division.level, first=not number),
        fraction=fraction,
        choosing=division.choosing,
        number=number,
        rule="any" if number else "forest",
        rng=rng,
        target=session.holders.study.target_attribute,
        last=last,
    )
    taken = session.choose(choice, choosing, round_number=3 + 2 * number)
    belief = _of_those_left(session, belief, records)
    alone, sizes = _singles(session) if more else ([], [])
    refined = _refined(session, belief, taken, measuring, holders=len(session.left(records)))
    if last:
        refined += _triangles(session, belief, refined, left - choosing)
    new = askable(belief, refined, beside=alone)
    belief = belief.idling([axes for axes in refined if axes not in new])
    if not new:
        return belief, left - choosing, bool(taken) or not any(len(offer.axes) > 2 for offer in offers)
    again = belief.known if last else ()
    spent = left - choosing if last else measuring + more
    for_pairs = _weights(session, new, again, measuring, spent - measuring - more)
    for_singles = [as_weight(more * size / sum(sizes)) for size in sizes]
    weights = [*for_pairs[: len(new)], *for_singles, *for_pairs[len(new) :]]
    what = f"{_tables(len(new))} of pairs and more"
    what += f", and {len(again)} again" if again else ", and single attributes again" if alone else ""
    measured = session.measure(
        [*new, *alone, *(table.axes for table in again)],
        spent,
        what,
        nested=belief.nested,
        weights=weights,
        round_number=4 + 2 * number,
    )
    belief = _of_those_left(session, belief, records)
    fresh, rest = measured[: len(new)], measured[len(new) + len(alone) :]
    if alone:
        found = added_up(measured[len(new) : len(new) + len(alone)], session.left(records))
        belief = belief.counted_again(found, ordered=session.ordered)
    if rest:
        belief = belief.learned((), rest, effort=BRIEFLY)
    belief = with_worthwhile(belief, fresh, last=last).fitted(THOROUGHLY if last else BRIEFLY)
    return belief, left - choosing - spent, True


def _of_those_left(session: Session, belief: Belief, records: Mapping[str, float]) -> Belief:
    """Bring the belief to the number of records of those holders that still take part."""
    return belief.rescaled(sum(session.left(records).values()))


def _tables(number: int) -> str:
    return "one table" if number == 1 else f"{number} tables"


def _triangles(session: Session, belief: Belief, new: Sequence[Axes], fraction: Fraction) -> list[Axes]:
    """Return triples to measure in the end beside ``new`` tables and the known ones, at a ``fraction`` of the grant.

    Under pure privacy there are none, for there tables that are measured again should have been measured better.
    """
    if not session.grant.law(fraction).gaussian:
        return []
    holders = len(session.holders.names)
    return triangles(belief, new, lambda tables: session.grant.law(fraction / tables, holders=holders).deviation)


def _weights(
    session: Session, new: Sequence[Axes], again: Sequence[Known], for_new: Fraction, for_again: Fraction
) -> list[int]:
    """Divide fractions of the grant among ``new`` tables and those that are measured ``again``."""
    centred, axes = session.grant.centred, [table.axes for table in again]
    if not again or not again[0].law.gaussian:
        return [*divided(for_new, new, centred=centred), *divided(for_again, axes, centred=centred)]
    tables = [*new, *axes]
    had = [0.0] * len(new) + [session.part_of(table.axes, table.law) for table in again]
    return made_even(for_new + for_again, tables, had, [session.width(one) for one in tables], centred=centred)


def _offers(
    session: Session,
    belief: Belief,
    measuring: Fraction,
    rng: np.random.Generator,
    *,
    number: int,
    holders: int,
    in_pairs: bool,
) -> list[Offer]:
    """Offer pairs, and interactions from the third round on, or once what is known is not ``in_pairs``, or nothing."""
    deviation = session.grant.law(measuring / len(session.sizes), holders=holders).deviation
    found = list(pairs(belief, deviation))
    at_once = not in_pairs or not belief.known
    if len(session.sizes) > 2 and (number >= _INTERACTIONS_FROM or (number and at_once)):
        found += interactions(belief, rng, fours=number >= _FOURS_FROM or at_once)
    return found


def _refined(
    session: Session, belief: Belief, taken: Sequence[Axes], measuring: Fraction, *, holders: int
) -> list[Axes]:
    """Return the tables to measure: as fine as the noise of so many allows, pairs at least as fine as they were taken.

    Interactions were taken in two groups each, and a pair at what seemed worth it of a few granularities; but as long
    as the noise of a cell is below its chance, finer tables only say more.
    """
    found = []
    for axes in taken:
        deviation = session.grant.law(measuring / len(taken), holders=holders).deviation
        least = GRAINS[0] * deviation if len(axes) > 2 else max(GRAINS[1] * deviation, deviation**2)
        cells = min(adaptive.TABLE_CELLS, belief.records / least)
        counts = groups_within([session.sizes[a] for a, _ in axes], max(2 ** len(axes), cells))
        if all(count >= had for count, (_, had) in zip(counts, axes, strict=True)):
            axes = tuple((a, count) for (a, _), count in zip(axes, counts, strict=True))
        found.append(axes)
    return found


def _again(
    session: Session, belief: Belief, records: Mapping[str, float], left: Fraction, *, round_number: int
) -> Belief:
    """Spend what is left on the known tables and triangles of them, or on single attributes if there are none."""
    if belief.known:
        new = askable(belief, _triangles(session, belief, (), left))
        what = f"{_tables(len(belief.known))} again"
        measured = session.measure(
            [*new, *(table.axes for table in belief.known)],
            left,
            f"{_tables(len(new))} of triples, and {what}" if new else what,
            nested=belief.nested,
            weights=_weights(session, new, belief.known, Fraction(0), left),
            round_number=round_number,
        )
        belief = _of_those_left(session, belief, records).learned((), measured[len(new) :], effort=BRIEFLY)
        return with_worthwhile(belief, measured[: len(new)]).fitted(THOROUGHLY)
    measured = _measure_singles(session, left, round_number=round_number)
    found = added_up(measured, session.left(records))
    return _of_those_left(session, belief, records).counted_again(found, ordered=session.ordered)


ADAPTIVE: Final = Method(adaptive.ADAPTIVE.name, _learn)
