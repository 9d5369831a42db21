"""Every attribute alone: the error of its one noisy table, and no pairs."""

from __future__ import annotations

from typing import Final

from panbayes.consortium.agreement.strategies import independent
from panbayes.planning.costs import ANSWER, cell_bytes, question_bytes
from panbayes.planning.forecast import Errors, Forecast, Forecaster, Setting
from panbayes.planning.releases import Release, one_release
from panbayes.planning.supposed import size_classes, supposed_cells
from panbayes.planning.table_error import table_distance

__all__ = ["INDEPENDENT"]


def _errors(setting: Setting) -> Errors:
    noise = Release.of(setting, independent.tables(setting.study)).noise
    clip = setting.study.holder_clips
    distances = [
        many * table_distance(supposed_cells(size), records=setting.records, noise=noise, holders_clip=clip)
        for size, many in size_classes(setting.sizes)
    ]
    return Errors(sum(distances) / len(setting.sizes), None)


def _everything(setting: Setting) -> Forecast:
    stage = independent.tables(setting.study)
    release = Release.of(setting, stage)
    sets = tuple((attribute,) for attribute in range(len(setting.sizes)))
    asked = question_bytes(setting.study, stage.ask(sets=sets))
    answered = ANSWER + sum(setting.sizes) * cell_bytes(setting.each + release.largest(sum(setting.sizes)))
    return one_release(
        setting,
        release,
        _errors(setting),
        sent=asked + answered,
        cells=float(sum(setting.sizes)),
        tables=len(sets),
        several=0,
        mean=sum(setting.sizes) / len(setting.sizes),
    )


INDEPENDENT: Final = Forecaster("independent", _errors, _everything)
