"""One set of noisy tables, as a stage of the public plan asks for it, and a study that is just that."""

from __future__ import annotations

import math
from dataclasses import dataclass

from panbayes.consortium.agreement.plan import Stage
from panbayes.consortium.protocol.queries import TablesQuery
from panbayes.errors import InternalError
from panbayes.planning.costs import BASE_MEMORY, STARTING, seconds_of_counting, seconds_of_noise
from panbayes.planning.forecast import Amount, Errors, Forecast, Setting, Spending
from panbayes.planning.noise_moments import CellNoise
from panbayes.privacy.composition import Step

__all__ = ["Release", "one_release"]


@dataclass(frozen=True, slots=True)
class Release:
    """The noise of tables that are released together, and the step that they are in the plan."""

    noise: CellNoise
    step: Step

    @classmethod
    def of(cls, setting: Setting, stage: Stage[TablesQuery]) -> Release:
        """Read it off the one step of a stage."""
        (step,) = stage.steps
        return cls.of_step(setting, step)

    @classmethod
    def of_step(cls, setting: Setting, step: Step) -> Release:
        """Read it off a step of the plan."""
        if step.event is None:
            raise InternalError("the study does not say by what its tables are made noisy")
        return cls(setting.noise(step.event), step)

    def largest(self, cells: float) -> float:
        """Return about the largest noise of so many ``cells`` of one holder."""
        many = max(math.log(max(cells, 2.0)), 1.0)
        return self.noise.scale * (math.sqrt(2 * many) if self.noise.gaussian else many)

    def spending(self, setting: Setting, mean: float) -> Spending:
        """Return what is spent on it; an average table has ``mean`` cells."""
        return Spending(self.step.what, self.step.loss, self.noise.deviation, setting.records / mean)


def one_release(
    setting: Setting,
    release: Release,
    errors: Errors,
    *,
    sent: float,
    cells: float,
    tables: int,
    several: int,
    mean: float,
) -> Forecast:
    """Foresee a study that asks once for ``tables`` of so many ``cells``, ``several`` of more than one attribute."""
    public = setting.study.plan
    seconds = STARTING + seconds_of_noise(setting.holders * cells, gaussian=release.noise.gaussian)
    seconds += seconds_of_counting(setting.records, tables) + 2e-7 * cells * len(setting.sizes) ** 0.5
    trips = public.round_trips(setting.holders)
    return Forecast(
        setting,
        (release.spending(setting, mean),),
        errors,
        Amount(several, several),
        Amount(trips, trips),
        Amount(public.answers, public.answers),
        Amount(sent, public.answer_bytes + sent),
        seconds,
        BASE_MEMORY + 8 * cells * (setting.holders + 2) + setting.each * len(setting.sizes),
    )
