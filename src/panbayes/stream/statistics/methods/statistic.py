"""What a statistic is: what a stream is asked for, with the law of its entries, what is released, and the answer.

A statistic chooses a law for the entries (:mod:`panbayes.stream.laws.law`), which says what an appearance does to an
entry and what a release counts; :mod:`panbayes.stream.guarantee.proof` says what such a law loses. The rest is here:
the calibration of least error, the error to expect, and what the released counts mean.

What users call them stands in :mod:`panbayes.stream.statistics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeVar, runtime_checkable

from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.ids.universes.kind import Universe
from panbayes.stream.laws.law import Law

__all__ = ["WHOLE_STREAM", "Answer", "Budget", "Released", "SampledStatistic", "Statistic"]

WHOLE_STREAM: Final = "one look at the state and all releases"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a calibration has to keep: ``epsilon`` in all, for one look and ``releases``.

    ``sample`` is m and ``universe`` is U (``None``: infinite); they decide the error, never the guarantee.
    ``state_epsilon`` is the state's part, or ``None`` for the best. ``flipped`` copies of the state add ``eta`` each
    to what the releases lose. An estimate adds up what so many ``parts`` of the state release, with so many noises
    (``terms``) in the count of each tier where they are stretches.
    """

    epsilon: Fraction
    sample: int
    universe: int | None
    releases: int = 1
    state_epsilon: Fraction | None = None
    flipped: int = 0
    eta: Fraction = Fraction(0)
    parts: int = 1
    terms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Released:
    """Released ``counts``, ``fresh`` or the last ones again; ``left`` more are planned.

    ``private`` is false if coins or noise were simulated. ``half_life`` is after how many turns half is forgotten,
    and ``scope`` what the guarantee is for.
    """

    counts: tuple[int, ...]
    fresh: bool
    left: int
    private: bool
    half_life: float | None = None
    scope: str = WHOLE_STREAM


class Answer(Protocol):
    """What an estimate says, whatever it is about."""

    @property
    def fresh(self) -> bool:
        """Whether this is a new release, and not the last one again."""

    @property
    def releases_left(self) -> int:
        """How many fresh estimates are left."""

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it."""

    def notes(self) -> list[str]:
        """Return what must be said below them."""

    def lines(self, universe: int | None) -> list[tuple[str, ...]]:
        """Return what people want to see, as rows of texts; ``universe`` is how many users there are, if known."""


A_co = TypeVar("A_co", bound=Answer, covariant=True)


class Statistic(Protocol[A_co]):
    """What a stream is asked for."""

    @property
    def name(self) -> str:
        """What users and state files call it."""

    @property
    def most(self) -> int | None:
        """The largest number of visits it tells apart, if it tells any apart."""

    @property
    def figure(self) -> str:
        """What its error is the error of."""

    @property
    def repeatable(self) -> bool:
        """Whether a batch that was delivered twice counts once."""

    @property
    def deletes(self) -> bool:
        """Whether what was fed can be taken out again."""

    def answer(self, calibration: Calibration[Law], users: Universe, release: Released, *, confidence: float) -> A_co:
        """Say what released counts mean."""

    def error(self, calibration: Calibration[Law], users: Universe) -> float:
        """The error to expect, at worst."""

    def fits(self, law: Law) -> bool:
        """Whether entries of this law can be estimated from."""

    def remarks(self, calibration: Calibration[Law]) -> list[tuple[str, str]]:
        """Say what a user of this statistic must know, as rows of a name and a text."""


@runtime_checkable
class SampledStatistic(Statistic[A_co], Protocol[A_co]):
    """What a stream of known users is asked for, of whom a sample has entries."""

    def calibrate(self, budget: Budget) -> Calibration[Law]:
        """Choose the law and the least noise that keep the budget, for the least error."""

    def rmse(self, calibration: Calibration[Law], *, sample: int, universe: int | None) -> float:
        """The root mean squared error to expect, at worst."""

    def failure(
        self, calibration: Calibration[Law], *, sample: int, universe: int | None, alpha: float, everywhere: bool
    ) -> float:
        """The probability of an error of ``alpha`` or more: at worst (``everywhere``), or in the middle, sooner."""
