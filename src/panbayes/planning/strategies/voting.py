"""Votes, and models inside holders: choices by a private score, then the noisy tables of what was chosen.

Noisy majority voting adds the tables of all holders up. Of models inside holders the analyst draws synthetic records,
which deviate from the models as any records do, and learns again, where pairs that no holder linked are lost.

Thesis: Algorithms "Noisy Majority Voting" and "Sharing the Noisy Model"; section "PrivBayes".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from panbayes.consortium.agreement.strategies import local_models, majority_voting
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import LINEAR
from panbayes.consortium.protocol.queries import Query
from panbayes.dp.sensitivity import linear_score, score_per_person, sensitivity_of, step_sensitivity
from panbayes.errors import InternalError
from panbayes.planning.costs import (
    ANSWER,
    BASE_MEMORY,
    STARTING,
    cell_bytes,
    question_bytes,
    seconds_of_counting,
    seconds_of_noise,
)
from panbayes.planning.forecast import Amount, Errors, Forecast, Forecaster, Scores, Setting, Spending
from panbayes.planning.releases import Release
from panbayes.planning.selection import margin_at_most
from panbayes.planning.supposed import Cells, size_classes, supposed_law
from panbayes.planning.trees import SPREAD, chance_score, mean_family_cells, tree_error
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Selection, Together

__all__ = ["MAJORITY_VOTING", "NOISY_MODEL", "PRIVBAYES", "vote_scale"]

_APART: Final = 1.8
"""How much more wrong pairs are where holders' models link others than the analyst's does."""

_VOTE: Final = 6e-3
_DRAWN: Final = 2.2e-7
"""Seconds of a vote of one holder, and of a synthetic value that is drawn and learned from."""

_SURE: Final = 0.05
"""Of 20 votes, 19 come as close to the best as is said."""


def degree_of(study: Study) -> int:
    """Return the parents of an attribute; where holders find out how many, one is expected."""
    return 1 if study.degree == "auto" else study.degree


def _steps(study: Study) -> tuple[Step, Step]:
    """Return the last two steps of the plan, choices and tables; the linear score has single attributes before."""
    choices, tables = study.plan.steps[-2:]
    return choices, tables


def vote_scale(setting: Setting) -> tuple[float, Selection]:
    """Return the scale 2Δ/ε of one choice at a holder, in the unit of the score, and its event.

    The unit of the linear score, which counts records, is here all records of a holder.
    """
    study, degree = setting.study, degree_of(setting.study)
    event = _steps(study)[0].event
    if not isinstance(event, Together) or not isinstance(event.events[0], Selection):
        raise InternalError("the study does not say by what its choices are made")
    one, sizes = event.events[0], sorted(setting.sizes)
    if study.score == LINEAR:
        moved = linear_score(max_records=study.max_records, parents=degree) / setting.each
        return 2 * moved / math.sqrt(one.epsilon_squared), one
    child = 2 if sensitivity_of(study.score).binary_child else sizes[-1]
    candidates = [(child, math.prod(sizes[-1 - degree : -1]) or 1)]
    people, records = max(2, round(setting.each)), study.max_records
    if study.schema.unit is None or records == 1:
        delta = step_sensitivity(study.score, records=people, candidates=candidates)
    else:
        delta = score_per_person(study.score, persons=people, max_records=records, candidates=candidates)
    return 2 * delta / math.sqrt(one.epsilon_squared), one


def _choices(setting: Setting) -> int:
    """Return among how many candidates a choice is made at most."""
    attributes, degree = len(setting.sizes), degree_of(setting.study)
    return max(
        (attributes - placed) * math.comb(placed, min(degree, placed)) for placed in range(1, max(2, attributes))
    )


def _errors(setting: Setting) -> Errors:
    study = setting.study
    noise = Release.of_step(setting, _steps(study)[1]).noise
    scale, event = vote_scale(setting)

    error = tree_error(
        setting.sizes,
        degree=degree_of(study),
        records=setting.records,
        noise=noise,
        holders_clip=study.holder_clips,
        scored=lambda child, parents: _scored(setting, child, parents),
        spread=max(SPREAD, scale),
    )
    missed = margin_at_most(_SURE, candidates=max(2, _choices(setting)), scale=scale, rule=event.rule)
    most, unit = _largest(setting)
    scores = Scores(None, min(missed, most) / (math.log(2) if unit == "bits" else 1.0), unit)
    return Errors(error.marginals, error.pairs, scores, families=degree_of(study) > 1)


def _scored(setting: Setting, child: Cells, parents: Cells) -> float:
    return chance_score(child, parents, records=setting.each)


def _largest(setting: Setting) -> tuple[float, str]:
    """Return the largest score there can be, and its unit."""
    sizes = sorted(setting.sizes)
    if setting.study.score == LINEAR:
        return float(degree_of(setting.study) * setting.study.max_records), "of its records"
    if setting.study.score == "I":
        return math.log(max(2, sizes[-2])) * setting.study.max_records, "bits"
    return float(setting.study.max_records), f"of {setting.study.score}"


def _pooled_errors(setting: Setting) -> Errors:
    """Return the errors of models that are pooled by synthetic records."""
    found = _errors(setting)
    alone = pairs = 0.0
    for size, many in size_classes(setting.sizes):
        alone += many * _drawn(size, setting.records) / len(setting.sizes)
        pairs += many * _drawn(size, setting.records) * math.sqrt(size) / len(setting.sizes)
    linked = None if found.pairs is None else min(1.0, math.hypot(_APART * found.pairs, pairs))
    return Errors(min(1.0, math.hypot(found.marginals, alone)), linked, found.scores, families=found.families)


def _drawn(size: int, records: int) -> float:
    """Return how far so many records are from the law they are drawn from, as an expected distance."""
    law = supposed_law(size)
    return 0.5 * float(np.sqrt(2 * law * (1 - law) / (math.pi * records)).sum())


def _spends(setting: Setting, mean: float) -> tuple[Spending, ...]:
    choices, tables = _steps(setting.study)
    before = [
        Release.of_step(setting, step).spending(setting, sum(setting.sizes) / len(setting.sizes))
        for step in setting.study.plan.steps[:-2]
    ]
    return (
        *before,
        Spending(choices.what, choices.loss),
        Release.of_step(setting, tables).spending(setting, mean),
    )


def _family_cells(setting: Setting) -> float:
    scale, _ = vote_scale(setting)
    return mean_family_cells(
        setting.sizes,
        degree=degree_of(setting.study),
        scored=lambda child, parents: _scored(setting, child, parents),
        spread=max(SPREAD, scale),
    )


def _seconds(setting: Setting, cells: float, *, models: bool) -> float:
    """Return the time: noise, counting every family once, one score after the other, and records drawn from models."""
    attributes, degree = len(setting.sizes), degree_of(setting.study)
    families = math.comb(attributes, degree + 1)
    found = STARTING + seconds_of_noise(setting.holders * cells, gaussian=False)
    found += seconds_of_counting(setting.records, families) + 3e-6 * families * setting.holders
    return found + (_DRAWN * setting.records * attributes if models else _VOTE * setting.holders * attributes)


def _voting(setting: Setting) -> Forecast:
    study, attributes, mean = setting.study, len(setting.sizes), _family_cells(setting)
    degree, cells = degree_of(study), mean * attributes
    sent, vote = _before(setting)
    for placed in range(1, attributes):
        asked = vote(tuple(range(placed)))
        sent += question_bytes(study, asked, round_number=placed) + ANSWER - 22 + 2 * (degree + 1)
    sets = tuple(tuple(range(child, child + degree + 1)) for child in range(attributes))
    asked = majority_voting.tables(study).ask(sets=sets)
    release = Release.of_step(setting, _steps(study)[1])
    sent += question_bytes(study, asked) + ANSWER + cells * cell_bytes(setting.each + release.largest(cells))
    return _forecast(setting, _errors(setting), sent=sent, mean=mean, models=False)


def _before(setting: Setting) -> tuple[float, Callable[[tuple[int, ...]], Query]]:
    """Return the bytes that are sent before the votes, and what asks for a vote."""
    study, attributes = setting.study, len(setting.sizes)
    if study.score != LINEAR:
        plain = majority_voting.votes(study)
        return 0.0, lambda placed: plain.ask(placed=placed)
    asked = majority_voting.singles(study).ask(**majority_voting.every_single(attributes))
    release = Release.of_step(setting, study.plan.steps[0])
    answer = sum(setting.sizes) * cell_bytes(setting.each + release.largest(sum(setting.sizes)))
    linear = majority_voting.linear_votes(study)
    sides = tuple((0,) * (size - 1) + (1,) for size in setting.sizes)
    means = (1000,) * attributes
    sent = question_bytes(study, asked) + ANSWER + answer
    return sent, lambda placed: linear.ask(placed=placed, sides=sides, means=means)


def _model(setting: Setting) -> Forecast:
    study, mean = setting.study, _family_cells(setting)
    cells = mean * len(setting.sizes)
    more = {"degree": degree_of(study)} if study.degree == "auto" else {}
    release = Release.of_step(setting, _steps(study)[1])
    sent = float(question_bytes(study, local_models.model(study).ask(**more)) + ANSWER)
    sent += (4 + degree_of(study)) * len(setting.sizes)
    sent += cells * cell_bytes(setting.each + release.largest(cells))
    pooled = study.strategy == NOISY_MODEL.name
    errors = _pooled_errors(setting) if pooled else _errors(setting)
    return _forecast(setting, errors, sent=sent, mean=mean, models=pooled)


def _forecast(setting: Setting, errors: Errors, *, sent: float, mean: float, models: bool) -> Forecast:
    public, attributes = setting.study.plan, len(setting.sizes)
    trips, cells = public.round_trips(setting.holders), mean * attributes
    pooled = setting.records * attributes if models else 0
    return Forecast(
        setting,
        _spends(setting, mean),
        errors,
        Amount(attributes - 1, attributes - 1),
        Amount(trips, trips),
        Amount(public.answers, public.answers),
        Amount(sent, public.answer_bytes + sent),
        _seconds(setting, cells, models=models),
        BASE_MEMORY + 8 * cells * (setting.holders + 2) + 3 * setting.each * attributes + 2 * pooled,
    )


MAJORITY_VOTING: Final = Forecaster("noisy-majority-voting", _errors, _voting)
NOISY_MODEL: Final = Forecaster("noisy-model", _pooled_errors, _model)
PRIVBAYES: Final = Forecaster("privbayes", _errors, _model)
