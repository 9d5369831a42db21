"""What is foreseen of a study: what it spends where, how wrong its network will be, and what it takes to run.

Every number is a function of the study, the number of holders and the number of records: nothing is read and nothing is
spent. *Expected* values may come out higher or lower (``docs/planning.md`` has factors); what is said to be *at most*
cannot be exceeded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.discovery import registry
from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.planning.noise_moments import CellNoise
from panbayes.privacy.events import Event
from panbayes.privacy.loss import Loss

__all__ = [
    "MOST_HOLDERS",
    "Amount",
    "Errors",
    "Forecast",
    "Forecaster",
    "Scores",
    "Setting",
    "Spending",
    "forecast",
    "forecaster",
    "forecasters",
]

MOST_HOLDERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Setting:
    """A study, so many ``holders`` of it, and the ``records`` of all of them together, in equal parts."""

    study: Study
    holders: int
    records: int

    def __post_init__(self) -> None:
        """Refuse what no study could be run with."""
        if not 1 <= self.holders <= MOST_HOLDERS:
            raise InputError("--holders", found=f"found {self.holders:,}", remedy=f"give 1 to {MOST_HOLDERS:,}")
        if self.records < self.holders:
            raise InputError(
                "--records",
                found=f"found {self.records:,} for {self.holders:,} holders",
                remedy="give the records of all holders together, at least one each",
            )
        if self.records > MAX_RECORDS:
            raise InputError("--records", found=f"found {self.records:,}", remedy=f"give at most {MAX_RECORDS:,}")
        if not self.study.private:
            raise InputError(
                "STUDY",
                found=f'has strategy "{self.study.strategy}", which asks for no privacy and adds no noise',
                remedy="plan a study of another strategy",
            )
        if self.holders > 1 and not self.study.how.several:
            raise InputError(
                "--holders",
                found=f'found {self.holders}, and strategy "{self.study.strategy}" learns from one',
                remedy='give 1, or use strategy "noisy-model"',
            )

    @property
    def each(self) -> float:
        """The records of one holder."""
        return self.records / self.holders

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return self.study.schema.sizes

    def noise(self, event: Event) -> CellNoise:
        """Return the noise of an ``event`` at every holder."""
        return CellNoise.of(event, holders=self.holders)


@dataclass(frozen=True, slots=True)
class Spending:
    """One thing that every holder spends on: ``what``, at which ``loss``, and the noise of a cell of all holders.

    ``noise`` is the standard deviation in records; None where no counts are released. ``cell`` is how many records the
    average cell of such a table holds.
    """

    what: str
    loss: Loss
    noise: float | None = None
    cell: float | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """How wrong scores are: ``expected`` of noisy tables, or the ``most`` that 19 of 20 choices miss the best by.

    The ``unit`` is bits, or a share of the records of the holder that chooses.
    """

    expected: float | None
    most: float | None
    unit: str = "bits"


@dataclass(frozen=True, slots=True)
class Errors:
    """Expected distances from the records, as shares: of single attributes, and of pairs that the network links.

    ``pairs`` is None where the network links none; ``families`` says that it is of tables of more than two attributes,
    which their pairs do not exceed.
    """

    marginals: float
    pairs: float | None
    scores: Scores | None = None
    families: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """What is expected, and what it is at most."""

    expected: float
    most: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is foreseen of a :class:`Setting`; see the module.

    ``messages`` and ``bytes`` are of one holder, questions and answers; ``seconds`` of computing, all parties together;
    ``memory`` in bytes, of the party that takes the most. ``tables`` are those of several attributes.
    """

    setting: Setting
    spends: tuple[Spending, ...]
    errors: Errors
    tables: Amount
    trips: Amount
    messages: Amount
    bytes: Amount
    seconds: float
    memory: float


@dataclass(frozen=True, slots=True)
class Forecaster:
    """How a strategy's study is foreseen, under the strategy's ``name``: errors alone, or everything."""

    name: str
    errors: Callable[[Setting], Errors]
    everything: Callable[[Setting], Forecast]


@cache
def forecasters() -> dict[str, Forecaster]:
    """Return every forecaster by its strategy's name."""
    return registry("panbayes.planning.strategies", Forecaster, lambda forecaster: forecaster.name)


def forecast(setting: Setting) -> Forecast:
    """Foresee a study."""
    return forecaster(setting.study).everything(setting)


def forecaster(study: Study) -> Forecaster:
    """Return who foresees a study."""
    known = forecasters()
    if study.strategy not in known:
        raise InputError(
            "STUDY", found=f'has strategy "{study.strategy}"', remedy=f"plan one of: {', '.join(sorted(known))}"
        )
    return known[study.strategy]
