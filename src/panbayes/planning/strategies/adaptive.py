"""The adaptive strategy: expected errors from its public plan.

Estimates know their noise: a cell whose noise has deviation s, and whose count is expected to within d, ends with an
error of about s·d/√(s² + d²). For single attributes d is the count itself; tables of later rounds were expected within
a small part of their counts by then, those of the first round were not. What a table does not show for want of groups
is lost: of the supposed distance from independence (:data:`~panbayes.planning.supposed.APART`) as much as it has too
few cells.

Where blocks are measured, attributes and pairs are read off them, each with the noise of its sums. Of a pair only what
its attributes do together is new: as much of a cell's variance as the interaction has of the table's dimensions.

An attribute is in some of the measured tables as well, whose rows or columns count it again: weights add up, as
inverses of variances. Where its values were measured in groups, only the groups are known better. Centred tables tell
nothing of it. Of the noise of any table only what is not in its margins counts; the error of these comes to it.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import shape_of
from panbayes.consortium.agreement.plan import ENVELOPE_BYTES
from panbayes.consortium.analyst.adaptive.division import TOTAL
from panbayes.planning.adaptive_plan import AdaptivePlan, Round
from panbayes.planning.costs import BASE_MEMORY, STARTING, cell_bytes, seconds_of_noise
from panbayes.planning.forecast import Amount, Errors, Forecast, Forecaster, Scores, Setting, Spending
from panbayes.planning.noise_moments import FloatArray
from panbayes.planning.selection import margin_at_most
from panbayes.planning.supposed import APART, size_classes, supposed_law

__all__ = ["ADAPTIVE"]

_LATER: Final = 0.03
"""How far a table of a later round is from what is expected of it, in its counts."""

_FIT: Final = 0.08
_FIT_CELLS: Final = 2e-5
_FIT_JOINT: Final = 1.5e-5
"""Seconds that a round of fitting takes, and for each cell that is offered, or that all attributes have together."""

_CANDIDATE: Final = 12
_INTERACTION: Final = 11
"""Bytes of a candidate in a question."""

_BLOCK: Final = 16
_KNOWN: Final = 20
"""Bytes of a block in a question, and of a pair that is measured again, with its counts, for each that there is."""


def _errors(setting: Setting) -> Errors:
    plan = AdaptivePlan(setting)
    pairs = _pairs(plan)
    return Errors(_marginals(plan), pairs, _scores(plan))


def _shrunk(deviation: float | FloatArray, reach: FloatArray) -> FloatArray:
    """Return the mean absolute error of estimated counts that were expected to within ``reach``."""
    found = deviation / np.sqrt(1 + np.square(deviation / reach))
    return np.asarray(math.sqrt(2 / math.pi) * found)


def _marginals(plan: AdaptivePlan) -> float:
    records, attributes = plan.setting.records, len(plan.setting.sizes)
    if plan.blocks:
        errors = [
            0.5 * float(_shrunk(plan.margin((a,)), records * supposed_law(size)).sum()) / records
            for a, size in enumerate(plan.setting.sizes)
        ]
        return sum(min(1.0, error) for error in errors) / attributes
    typical = float(np.median(plan.setting.sizes))
    error = 0.0
    for size, many in size_classes(plan.setting.sizes):
        fraction = float(plan.division.singles) + float(sum(r.singles for r in plan.rounds))
        if not plan.rounds:
            fraction += float(plan.left)
        alone = plan.noise_of_single(fraction, size).deviation
        if plan.division.concentrated:
            alone *= math.sqrt(max(1, size - 1) / size)  # what it lacks of the records is shared among its values
        weight, groups = 1 / alone**2, 0.0
        for found in () if plan.division.centred else plan.rounds:
            noise = plan.table_noise(found)
            own, other = plan.groups((size, max(2, round(typical))), noise)
            weight += 2 * found.tables / attributes / (other * noise.deviation**2)
            groups = max(groups, own / size)
        counts = records * supposed_law(size)
        better, plain = (_shrunk(s, counts) for s in (1 / math.sqrt(weight), alone))
        mixed = np.sqrt(groups * better**2 + (1 - groups) * plain**2)
        error += many * min(1.0, 0.5 * float(mixed.sum()) / records)
    return error / attributes


def _pairs(plan: AdaptivePlan) -> float | None:
    if plan.blocks:
        return _block_pairs(plan)
    if not plan.rounds:
        return None
    errors = [(found.tables, _table(plan, found, first=not number)) for number, found in enumerate(plan.rounds)]
    whole = sum(tables for tables, _ in errors)
    return math.hypot(sum(tables * error for tables, error in errors) / whole, _marginals(plan))


def _block_pairs(plan: AdaptivePlan) -> float:
    """Return the expected distance of pairs that are read off blocks, on average over all of them."""
    records, sizes = plan.setting.records, plan.setting.sizes
    errors = []
    for one, other in combinations(range(len(sizes)), 2):
        cells, free = sizes[one] * sizes[other], (sizes[one] - 1) * (sizes[other] - 1)
        noise = plan.margin((one, other)) * math.sqrt(free / cells)
        errors.append(min(1.0, 0.5 * cells * math.sqrt(2 / math.pi) * noise / records))
    return math.hypot(float(np.mean(errors)), _marginals(plan))


def _table(plan: AdaptivePlan, found: Round, *, first: bool) -> float:
    """Return the expected distance of a table of a round, on average over pairs of attributes."""
    noise, records = plan.table_noise(found), plan.setting.records
    classes = size_classes(plan.setting.sizes)
    error = whole = 0.0
    for place, (one, some) in enumerate(classes):
        for other, more in classes[place:]:
            many = some * more if other != one else some * (some - 1) / 2
            if not many:
                continue
            rows, columns = plan.groups((one, other), noise)
            deviation = noise.deviation * plan.part_of_noise((rows, columns))
            counts = records * np.outer(supposed_law(rows), supposed_law(columns))
            reach = np.full_like(counts, np.inf) if first else _LATER * counts
            lost = APART * (1 - rows * columns / (one * other)) if first else 0.0
            error += many * min(1.0, math.hypot(0.5 * float(_shrunk(deviation, reach).sum()) / records, lost))
            whole += many
    return error / whole if whole else 0.0


def _scores(plan: AdaptivePlan) -> Scores | None:
    """Return how far a choice of the first round misses the best, as a share of the holder's records."""
    if not plan.rounds or plan.blocks:
        return None
    first = plan.rounds[0]
    picks = max(1, round(first.offered / plan.setting.holders))
    event = plan.grant.loss.part(first.choosing / picks).selection_event()
    scale = 2 * plan.grant.moved.l1 / math.sqrt(event.epsilon_squared)
    offers, _ = plan.offered(first.measuring)
    missed = margin_at_most(0.05, candidates=max(2, round(offers)), scale=scale, rule=event.rule)
    return Scores(None, min(1.0, missed / 2 / plan.setting.each), unit="of its records")


def _spends(plan: AdaptivePlan) -> tuple[Spending, ...]:
    grant, setting = plan.grant.loss, plan.setting
    attributes, records = len(setting.sizes), setting.records
    mean = sum(setting.sizes) / attributes
    singles = plan.division.singles + (plan.left if not plan.rounds else 0)
    found = [Spending("the number of records", grant.part(TOTAL), plan.noise(TOTAL, cells=1).deviation, float(records))]
    if plan.division.first:
        found.append(Spending("a look whether attributes hang together", grant.part(plan.division.first)))
    if plan.blocks:
        cells = sum(math.prod(shape_of(axes)) for axes in plan.blocks) / len(plan.blocks)
        noise = float(np.mean([law.deviation for law in plan.block_noise]))
        what = "a block of all attributes" if len(plan.blocks) == 1 else f"{len(plan.blocks)} blocks of attributes"
        found.append(Spending(what, grant.part(plan.division.blocks), noise, records / cells))
    else:
        what = f"tables of {attributes} single attributes" if attributes > 1 else "the table of the attribute"
        noise = plan.noise(float(singles) / attributes, tables=attributes, cells=max(2, round(mean))).deviation
        found.append(Spending(what, grant.part(singles), noise, records / mean))
    for number, one in enumerate(plan.rounds, start=1 if plan.blocks else 0):
        tables = f"about {round(one.tables)}, at most {one.most:,},"
        if one.singles:
            found.append(Spending("single attributes again", grant.part(one.singles)))
        found.append(Spending(f"round {number + 1}: choices of tables", grant.part(one.choosing)))
        if not one.measuring:
            continue
        law = plan.table_noise(one)
        groups = plan.groups((max(2, round(mean)),) * 2, law)
        what = f"round {number + 1}: {tables} tables of groups"
        deviation = law.deviation * plan.part_of_noise(groups)
        found.append(Spending(what, grant.part(one.measuring), deviation, records / math.prod(groups)))
        if one.again:
            found.append(Spending(f"round {number + 1}: known tables again", grant.part(one.again)))
    if plan.left and plan.rounds:
        found.append(Spending("known tables again", grant.part(plan.left)))
    return tuple(found)


def _everything(setting: Setting) -> Forecast:
    plan, public = AdaptivePlan(setting), setting.study.plan
    sizes, attributes = sum(setting.sizes), len(setting.sizes)
    closing = 1 if plan.left and plan.rounds else 0
    before = plan.division.before and any(found.singles for found in plan.rounds)
    begun = 2 + bool(plan.division.first) + before
    trips = begun + sum(found.trips for found in plan.rounds) + closing
    messages = begun + sum(1 + bool(r.measuring) for r in plan.rounds) + closing
    width = cell_bytes(setting.each)
    cells = float(sum(math.prod(shape_of(axes)) for axes in plan.blocks) or sizes)
    sent = messages * 450.0 + cells * width + _BLOCK * len(plan.blocks)
    seconds = STARTING
    if plan.blocks:
        seconds += 2 * _FIT + _FIT_JOINT * math.prod(setting.sizes)
    if before:
        sent += sizes * width
    if plan.division.first:
        sent += _CANDIDATE * math.comb(attributes, 2)
    if plan.blocks and closing:
        sent += _KNOWN * math.comb(attributes, 2)
    for number, found in enumerate(plan.rounds, start=1 if plan.blocks else 0):
        parts = 1 if setting.study.choices == "turns" and number < 2 else setting.holders
        if plan.blocks:
            sent += _INTERACTION * sum(math.comb(attributes, many) for many in (3, 4)) / parts
            continue
        offers, offered = plan.offered(found.measuring)
        sent += (offers * _CANDIDATE + offered * width) / parts
        law = plan.table_noise(found)
        mean = max(2, round(sizes / attributes))
        measured = found.tables * (math.prod(plan.groups((mean, mean), law)) * width + 8)
        sent += measured
        cells += measured / width
        seconds += _FIT + _FIT_CELLS * offered
    seconds += seconds_of_noise(setting.holders * cells, gaussian=plan.division.concentrated)
    asked = sum(stage.times for stage in public.stages) * 64 * 2**20
    return Forecast(
        setting,
        _spends(plan),
        _errors(setting),
        Amount(len(plan.blocks) + sum(r.tables for r in plan.rounds), float(plan.most_tables)),
        Amount(trips, public.round_trips(setting.holders)),
        Amount(messages, public.answers),
        Amount(sent + messages * ENVELOPE_BYTES / 4, public.answer_bytes + asked),
        seconds,
        BASE_MEMORY + setting.each * attributes + 120 * sent,
    )


ADAPTIVE: Final = Forecaster("adaptive", _errors, _everything)
