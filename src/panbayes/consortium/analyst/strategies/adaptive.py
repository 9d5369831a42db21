"""The adaptive strategy: measure what is worth it, and fit one law to all that was measured.

1. The noisy **total** of every holder, from which the division of the grant follows
   (:mod:`panbayes.consortium.analyst.adaptive.division`).
2. Where even single attributes are hard to measure, a **first look** whether any hang together; if not, all that is
   left is for them (:mod:`panbayes.consortium.analyst.adaptive.first_look`).
3. The tables of all **single** attributes; larger ones get more
   (:mod:`panbayes.consortium.analyst.adaptive.shares`). They are added up over holders and estimated with their noise
   in mind (:mod:`panbayes.consortium.analyst.adaptive.estimation`). Under zCDP they are measured again as far as their
   estimates need it, before anything is chosen; at the highest level with the first tables. Under pure privacy tables
   share radii of noise, here and below (:mod:`panbayes.consortium.analyst.adaptive.radii`).
   In a small schema, where the division says so, **blocks** of several attributes that hold all pairs instead, off
   which single attributes, pairs and more are read (:mod:`panbayes.consortium.analyst.adaptive.blocks`): they are the
   first round, and those that follow, if any, look for interactions.
4. **Rounds.** In each, holders are offered pairs at several granularities, and from the third on interactions of
   three or four attributes (:mod:`panbayes.consortium.analyst.adaptive.offers`). They look how many are worth
   measuring, given what the law so far expects and what the noise would cost, and choose so many
   (:mod:`panbayes.consortium.holder.handlers.table_choice`). The first round takes a forest of pairs. All holders
   measure what was chosen; under zCDP and add-remove without the margins, which single attributes tell
   (:mod:`panbayes.privacy.adjacency`, centred tables).
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

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.maxent import BRIEFLY, THOROUGHLY
from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.blocks import learned_from, margin
from panbayes.consortium.analyst.adaptive.choice import Choice
from panbayes.consortium.analyst.adaptive.covering import covering
from panbayes.consortium.analyst.adaptive.division import TOTAL, Division
from panbayes.consortium.analyst.adaptive.first_look import attributes_hang_together
from panbayes.consortium.analyst.adaptive.fitting import askable
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.hidden import replicates_of
from panbayes.consortium.analyst.adaptive.interactions import interactions
from panbayes.consortium.analyst.adaptive.margins import added_up, adding_up
from panbayes.consortium.analyst.adaptive.measurement import Measurement, mean_of_both
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.consortium.analyst.adaptive.offers import GRAINS, Offer, pairs, price
from panbayes.consortium.analyst.adaptive.own_marginals import own_marginals
from panbayes.consortium.analyst.adaptive.selection import with_worthwhile
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.analyst.adaptive.shares import alone, as_weight, divided, made_even
from panbayes.consortium.analyst.adaptive.triangles import triangles
from panbayes.consortium.analyst.holders import Holders, digest
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.result import finish
from panbayes.exact.score_rounding import MAX_RECORDS

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
    left = 1 - TOTAL - division.first - division.singles - division.blocks
    more = Fraction(0) if division.blocks else division.more(belief.noise_of_singles, left=left)
    if more and division.before:
        measured = _measure_singles(session, more, round_number=3, again=True)
        records = session.left(records)
        found = added_up(measured, records)
        singles = [mean_of_both(*both) for both in zip(singles, found, strict=True)]
        belief = Belief.begun(sum(records.values()), singles, ordered=session.ordered)
        left, more = left - more, Fraction(0)
    own = own_marginals(belief, singles, records)
    for number in range(1 if division.blocks else 0, division.rounds):
        records = session.left(records)
        belief, left, going = _round(session, belief, division, records, own, left, more, number=number)
        if not going:
            break
        more = Fraction(0)
    if left:
        belief = _again(session, belief, records, left, round_number=4 + 2 * division.rounds)
    structure, tables = belief.network(_SMOOTHING)
    error = replicates_of(session, belief, division)
    return finish(holders, structure, tables, session.spent, private=session.private, error=error)


def _counted(session: Session, total: Measurement) -> dict[str, float]:
    """Return every holder's number of records: as published, or else as measured."""
    if session.grant.balanced:
        return {name: max(1.0, float(size)) for name, size in session.people.items() if size is not None}
    return {name: _possible(float(table)) for name, table in total.tables.items()}


def _possible(records: float) -> float:
    """Return an estimate of a holder's number of records, within what a table can have."""
    return min(max(1.0, records), float(MAX_RECORDS))


def _measure_singles(
    session: Session, fraction: Fraction, *, round_number: int, again: bool = False
) -> list[Measurement]:
    """Measure every attribute alone."""
    tables, weights = _singles(session)
    what = f"tables of {len(weights)} single attributes" if len(weights) > 1 else "the table of the attribute"
    what += " again" if again else ""
    return session.measure(tables, fraction, what, weights=weights, round_number=round_number)


def _measure_blocks(session: Session, fraction: Fraction, *, round_number: int) -> list[Measurement]:
    """Measure blocks that hold every pair of attributes."""
    blocks = covering(session.sizes)
    what = "a block of all attributes" if len(blocks) == 1 else f"{len(blocks)} blocks of attributes"
    return session.measure(
        blocks, fraction, what, weights=divided(Fraction(1), blocks, centred=False), round_number=round_number
    )


def _singles(session: Session) -> tuple[list[Axes], list[int]]:
    """Return the tables of every attribute alone, and their weights."""
    tables: list[Axes] = [((attribute, size),) for attribute, size in enumerate(session.sizes)]
    return tables, [round(_WEIGHT * alone(size)) for size in session.sizes]


def _records(
    session: Session, counted: Mapping[str, float], total: Measurement, measured: Sequence[Measurement]
) -> tuple[dict[str, float], float]:
    """Estimate every holder's number of records from its noisy total and the sums of its tables, with its variance."""
    if session.grant.balanced:
        return dict(counted), 0.0
    variances = [total.law.deviation**2, *(table.pooled.size * table.law.deviation**2 for table in measured)]
    weights = [1 / variance for variance in variances]
    found = {
        name: _possible(float(np.average([number, *(table.tables[name].sum() for table in measured)], weights=weights)))
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
    more: Fraction,
    *,
    number: int,
) -> tuple[Belief, Fraction, bool]:
    """Choose and measure; return the new belief, what is left, and whether another round makes sense.

    Single attributes get ``more`` of what is left, and are measured again with the tables.
    """
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
    if not any(choice.offered(turn, ()) for turn in choice.turns):
        return belief, left, True
    taken = session.choose(choice, choosing, round_number=4 + 2 * number)
    belief = _of_those_left(session, belief, records)
    singles, parts = _singles(session) if more else ([], [])
    refined = _refined(session, belief, taken, measuring, holders=len(session.left(records)))
    if last:
        refined += _triangles(session, belief, refined, left - choosing)
    new = askable(belief, refined, beside=singles)
    belief = belief.idling([axes for axes in refined if axes not in new])
    if not new:
        return belief, left - choosing, bool(taken) or not any(len(offer.axes) > 2 for offer in offers)
    again = belief.known if last else ()
    spent = left - choosing if last else measuring + more
    for_pairs = _weights(session, new, again, measuring, spent - measuring - more)
    for_singles = [as_weight(more * part / sum(parts)) for part in parts]
    weights = [*for_pairs[: len(new)], *for_singles, *for_pairs[len(new) :]]
    what = f"{_tables(len(new))} of pairs and more"
    what += f", and {len(again)} again" if again else ", and single attributes again" if singles else ""
    measured = session.measure(
        [*new, *singles, *(table.axes for table in again)],
        spent,
        what,
        nested=belief.nested,
        weights=weights,
        round_number=5 + 2 * number,
    )
    belief = _of_those_left(session, belief, records)
    fresh, rest = measured[: len(new)], measured[len(new) + len(singles) :]
    if singles:
        found = added_up(measured[len(new) : len(new) + len(singles)], session.left(records))
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
    many = len(session.sizes)
    deviation = session.grant.law(measuring / many, holders=holders, tables=many).deviation
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
        deviation = session.grant.law(measuring / len(taken), holders=holders, tables=len(taken)).deviation
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
    measured = _measure_singles(session, left, round_number=round_number, again=True)
    found = added_up(measured, session.left(records))
    return _of_those_left(session, belief, records).counted_again(found, ordered=session.ordered)


ADAPTIVE: Final = Method(adaptive.ADAPTIVE.name, _learn)
