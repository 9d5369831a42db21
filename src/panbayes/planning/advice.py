"""Which strategy to pick, and why, in one sentence; and from which ε the noisy sufficient statistics are worth it.

The adaptive strategy measures what is worth its noise, and takes as many tables as that; so another is picked only if
its predicted error, of single attributes and linked pairs together, is :data:`FACTOR` times less, which is more than
predictions are wrong, and if adaptive's is not small anyway: then what a tree leaves out matters more than noise. Where
the public plan leaves the adaptive strategy no round, single attributes are all that can be told from noise.

**The threshold of the thesis** for noisy sufficient statistics: the ε at which noise adds as much to the bias and to
the variance of an entropy as chance does (:func:`~panbayes.planning.entropy_error.epsilon_of_bias`,
:func:`~panbayes.planning.entropy_error.epsilon_of_error`), the larger of the two, for a table of k + 1 attributes of
median size. Below it, scores tell more about noise than about records.

**Pure or not.** (ε, δ) pays where many tables are measured, since Gaussian noise of T tables grows with √T and Laplace
noise with T; for few it is worse. The same study is foreseen both ways.

Thesis: Theorems thm_noiy_ss_bias and thm_noiy_ss_mse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.planning.entropy_error import epsilon_of_bias, epsilon_of_error
from panbayes.planning.forecast import Errors, Setting, forecaster, forecasters
from panbayes.planning.supposed import supposed_law
from panbayes.privacy.adjacency import TableSensitivity

__all__ = ["FACTOR", "Advice", "Threshold", "advise", "alternatives", "statistics_threshold"]

FACTOR: Final = 2.5
"""Another strategy must be predicted so many times better than the adaptive one to be picked."""

_SMALL: Final = 0.01
_ALIKE: Final = 1.2

_AUTOMATIC: Final = ("privbayes", "noisy-model")
"""Strategies whose holders may find out themselves how many parents to take."""

_MOST_CELLS: Final = 10**6


@dataclass(frozen=True, slots=True)
class Threshold:
    """The ε from which noise adds less than chance to entropies of a table of ``cells``.

    ``least`` is how many records its smallest cell is supposed to hold: below one, the theorems' conditions fail.
    """

    epsilon: float
    cells: int
    least: float

    @property
    def fails(self) -> bool:
        """Whether no ε is enough, because the smallest cell holds less than one record."""
        return self.least < 1


@dataclass(frozen=True, slots=True)
class Advice:
    """Which ``strategy`` to pick, ``why``, and whether pure ε would be better than the study's (ε, δ)."""

    strategy: str
    why: str
    purely: str | None


def statistics_threshold(setting: Setting) -> Threshold | None:
    """Return the thesis's threshold, as a number; None where there are too few attributes or too large tables."""
    study = setting.study
    size = (1 if study.degree == "auto" else study.degree) + 1
    median = round(float(np.median(setting.sizes)))
    if len(setting.sizes) < size or median < 2 or median**size > _MOST_CELLS:
        return None
    law = np.ones(1)
    for _ in range(size):
        law = np.outer(law, supposed_law(median)).ravel()
    tables = math.comb(len(setting.sizes), size)
    moved = TableSensitivity.of(adjacency="replace", max_records=study.max_records, tables=tables).l1
    records, holders = setting.records, setting.holders
    bias = epsilon_of_bias(law, records=records, moved=moved, holders=holders)
    error = epsilon_of_error(law, records=records, moved=moved, holders=holders)
    return Threshold(max(bias, error), law.size, setting.records * float(law.min()))


def alternatives(setting: Setting) -> dict[str, Setting]:
    """Return the same setting by every strategy that could learn it; those that know pure ε and replacing as such."""
    found = {}
    for name in forecasters():
        try:
            found[name] = replace(setting, study=_by(setting.study, name))
        except InputError:
            continue  # The schema, the degree or the number of holders does not fit it.
    return found


def _by(study: Study, name: str) -> Study:
    if name == study.strategy:
        return study
    known = "delta" in strategies()[name].reads
    return replace(
        study,
        strategy=name,
        delta=study.delta if known else Fraction(0),
        adjacency=study.adjacency if known else "replace",
        degree=1 if study.degree == "auto" and name not in _AUTOMATIC else study.degree,
    )


def advise(setting: Setting, known: Mapping[str, Errors] | None = None) -> Advice:
    """Say which strategy to pick; ``known`` are errors that were foreseen already."""
    every = alternatives(setting)
    errors = {name: forecaster(one.study).errors(one) for name, one in every.items() if name not in (known or {})}
    errors |= {name: found for name, found in (known or {}).items() if name in every}
    purely = _purely(setting)
    if "adaptive" not in errors or len(setting.sizes) == 1:
        return Advice("independent", "one attribute has no dependencies to look for", purely)
    adaptive = errors["adaptive"]
    if adaptive.pairs is None:
        return Advice(
            "independent",
            "at this ε only single attributes can be told from noise, and it asks for them once, at all of ε",
            purely,
        )
    linked = {name: found for name, found in errors.items() if found.pairs is not None}
    best = min(linked, key=lambda name: _both(linked[name]))
    if best != "adaptive" and FACTOR * _both(linked[best]) < _both(adaptive) > _SMALL:
        why = f"its tables are expected {_both(adaptive) / _both(linked[best]):.1f} times as close as adaptive's"
        return Advice(best, why, purely)
    others = [name for name in linked if name != "adaptive"]
    if not others:
        return Advice("adaptive", "no other strategy that looks for dependencies fits this study", purely)
    second = min(others, key=lambda name: _both(linked[name]))
    ratio = _both(linked[second]) / _both(adaptive)
    if ratio > _ALIKE:
        why = f"it measures few tables and shares ε among those, so errors are {ratio:.1f} times less than {second}'s"
    else:
        why = f"it takes all tables that are worth it, and errors of those are small or like {second}'s"
    return Advice("adaptive", why, purely)


def _both(errors: Errors) -> float:
    return errors.marginals + (errors.pairs or 0.0)


def _purely(setting: Setting) -> str | None:
    """Say that pure ε is better, if it is."""
    study = setting.study
    if not study.delta:
        return None
    pure = replace(setting, study=replace(study, delta=Fraction(0)))
    errors, others = (forecaster(one.study).errors(one) for one in (pure, setting))
    if others.pairs is not None and (errors.pairs is None or _both(others) <= _both(errors)):
        return None
    if others.pairs is None and errors.pairs is None and others.marginals <= errors.marginals:
        return None
    return (
        f"pure ε is better here and promises more: leave delta out (marginals {100 * errors.marginals:.2g} % "
        f"instead of {100 * others.marginals:.2g} %)"
    )
