"""Noisy sufficient statistics: every table of k+1 attributes, so much noise in each, scores and parameters from them.

Thesis: Algorithm "Sharing the Noisy Sufficient Statistics"; Theorems thm_noiy_ss_bias and thm_noiy_ss_mse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from panbayes.consortium.agreement.checks import fixed_degree
from panbayes.consortium.agreement.limits import MAX_CELLS, cells_of_all
from panbayes.consortium.agreement.strategies import sufficient_statistics
from panbayes.planning.costs import ANSWER, cell_bytes, question_bytes
from panbayes.planning.forecast import Errors, Forecast, Forecaster, Scores, Setting
from panbayes.planning.releases import Release, one_release
from panbayes.planning.score_error import noisy_score
from panbayes.planning.supposed import Cells, joint, size_classes, supposed_cells
from panbayes.planning.trees import SPREAD, tree_error

__all__ = ["SUFFICIENT_STATISTICS"]

_LISTED: Final = 20_000
"""Sets that a question is written out for, to know its bytes; beyond, they follow in proportion."""


def _errors(setting: Setting) -> Errors:
    noise = Release.of(setting, sufficient_statistics.tables(setting.study)).noise
    clip, degree = setting.study.holder_clips, fixed_degree(setting.study)

    def scored(child: Cells, parents: Cells) -> float:
        return noisy_score(child, parents, records=setting.records, noise=noise, holders_clip=clip).mean

    error = tree_error(
        setting.sizes,
        degree=degree,
        records=setting.records,
        noise=noise,
        holders_clip=clip,
        scored=scored,
        spread=SPREAD,
    )
    squares = weights = 0.0
    for child, parents, many in _families(setting, degree):
        found = noisy_score(child, parents, records=setting.records, noise=noise, holders_clip=clip)
        squares += many * found.error**2
        weights += many
    bits = math.sqrt(squares / weights) / math.log(2) if weights else 0.0
    return Errors(error.marginals, error.pairs, Scores(bits, None), families=degree > 1)


def _families(setting: Setting, degree: int) -> Iterator[tuple[Cells, Cells, float]]:
    """Yield pairs of classes of sizes, and how many pairs of attributes are in each; more parents are alike."""
    classes = size_classes(setting.sizes)
    for place, (one, some) in enumerate(classes):
        for other, more in classes[place:]:
            many = some * more if other != one else some * (some - 1) / 2
            if many:
                yield supposed_cells(one), joint([supposed_cells(other)] * degree), many


def _everything(setting: Setting) -> Forecast:
    stage, size = sufficient_statistics.tables(setting.study), fixed_degree(setting.study) + 1
    release = Release.of(setting, stage)
    attributes = len(setting.sizes)
    tables, cells = math.comb(attributes, size), min(cells_of_all(setting.sizes, size), MAX_CELLS)
    sets = tuple(found for _, found in zip(range(_LISTED), combinations(range(attributes), size), strict=False))
    asked = question_bytes(setting.study, stage.ask(sets=sets)) * tables / len(sets)
    answered = ANSWER + cells * cell_bytes(setting.each + release.largest(cells))
    return one_release(
        setting,
        release,
        _errors(setting),
        sent=asked + answered,
        cells=float(cells),
        tables=tables,
        several=tables,
        mean=cells / tables,
    )


SUFFICIENT_STATISTICS: Final = Forecaster("noisy-sufficient-statistics", _errors, _everything)
