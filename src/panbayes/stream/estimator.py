"""The pan-private density estimator.

>>> from panbayes.stream.estimator import DensityEstimator
>>> with DensityEstimator(10_000, epsilon=2) as estimator:
...     estimator.update(range(4_000))
...     answer = estimator.estimate()
>>> 0.3 < answer.density < 0.5 and answer.low <= answer.density <= answer.high
True

The state is one value, :class:`~panbayes.stream.state.entries.Entries`, in memory or in a file; the configuration is
immutable. Whoever sees the state once, at any time, and all planned outputs, learns about any one user no more than
``epsilon`` allows, whenever and however often the user appears. Two looks at the state are not private at all.

Thesis: Algorithms DworkDE, OptBernDE; Definition def_pan_privacy; see errata 1 to 5.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from panbayes.dp.noise import Noise, SecureNoise
from panbayes.errors import InputError
from panbayes.privacy.written import parse_epsilon
from panbayes.stream.accuracy.density_error import worst_rmse
from panbayes.stream.accuracy.statistic_law import confidence_interval
from panbayes.stream.guarantee.calibration import sound
from panbayes.stream.guarantee.laws import Family
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.universe import universe_of
from panbayes.stream.state.coins import Coins, system_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.setup import Configuration, Ledger

__all__ = ["DensityEstimator", "Estimate", "configure", "create_state"]


class _Store(Protocol):
    """Where a state lives."""

    @property
    def configuration(self) -> Configuration: ...

    @property
    def entries(self) -> Entries: ...

    @property
    def writing(self) -> bool: ...

    def settle(self) -> None: ...

    def ledger(self) -> Ledger: ...

    def transact(self, step: Callable[[Ledger], Ledger]) -> tuple[Ledger, Ledger]: ...

    def close(self) -> None: ...


class _MemoryStore:
    """A state in memory, gone with the process."""

    writing = True

    def __init__(self, configuration: Configuration, coins: Coins) -> None:
        """Draw the initial state."""
        self.configuration = configuration
        memory = np.zeros(configuration.state_bytes, dtype=np.uint8)
        self.entries = Entries(configuration.calibration.law, configuration.sampling.sample, memory)
        self.entries.initialize(coins)
        self._ledger = Ledger(configuration.calibration.releases)
        self._lock = threading.Lock()

    def settle(self) -> None:
        """Do nothing: there is no disk."""

    def ledger(self) -> Ledger:
        """Return the ledger."""
        return self._ledger

    def transact(self, step: Callable[[Ledger], Ledger]) -> tuple[Ledger, Ledger]:
        """Replace the ledger by ``step`` of it, and return both."""
        with self._lock:
            before, self._ledger = self._ledger, step(self._ledger)
            return before, self._ledger

    def close(self) -> None:
        """Overwrite the state."""
        self.entries.memory[:] = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A released estimate; everything in it follows from the noisy ``statistic`` and public numbers.

    ``density`` is the fraction of the universe that appeared, cut to [0, 1]; ``unbiased`` is not cut. ``low`` and
    ``high`` enclose the true density with probability ``confidence`` or more, the sampling of users included.
    ``distinct`` and its ends are the same in users. ``fresh`` is false if this is the last release again.
    ``rmse`` is the predicted root mean squared error of the density, for the worst density. ``private`` is false if
    coins or noise were simulated.
    """

    density: float
    low: float
    high: float
    confidence: float
    distinct: int
    distinct_low: int
    distinct_high: int
    unbiased: float
    rmse: float
    statistic: int
    fresh: bool
    releases_left: int
    epsilon: Fraction
    private: bool


def configure(
    universe: int | str | Path | Iterable[str],
    *,
    epsilon: str | int | float | Fraction,
    releases: int = 1,
    sample: int | None = None,
    state: Family = "optimal-bernoulli",
    levels: int = 2,
    state_epsilon: str | int | float | Fraction | None = None,
) -> Configuration:
    """Fix everything that is public before a stream starts.

    ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, a file with one id a line, or the ids; ``epsilon`` is
    the total E for one look at the state and all ``releases``; ``sample`` is m (all users by default); ``state`` names
    the law of the entries, with ``levels`` for the quantized ones; ``state_epsilon`` overrides the best split.
    """
    total = parse_epsilon(epsilon, argument="epsilon")
    share = None if state_epsilon is None else parse_epsilon(state_epsilon, argument="state epsilon")
    users = universe_of(universe, sample=sample)
    sampling = users.sampling
    calibration = sound(
        epsilon=total,
        sample=sampling.sample,
        universe=sampling.size,
        releases=releases,
        family=state,
        levels=levels,
        state_epsilon=share,
    )
    return Configuration(users, calibration)


def create_state(path: Path, configuration: Configuration) -> None:
    """Write a new state file. Its coins are always the system's: whoever opens it later takes it for private."""
    StateFile.create(path, configuration, fill=lambda entries: entries.initialize(system_coins))


class DensityEstimator:
    """Estimates the density of a stream of users from a state that an intruder may see once."""

    __slots__ = ("_coins", "_noise", "_redrawing", "_store")

    def __init__(
        self,
        universe: int | str | Path | Iterable[str],
        *,
        epsilon: str | int | float | Fraction,
        releases: int = 1,
        sample: int | None = None,
        state: Family = "optimal-bernoulli",
        levels: int = 2,
        state_epsilon: str | int | float | Fraction | None = None,
        noise: Noise | None = None,
        coins: Coins = system_coins,
    ) -> None:
        """Start a stream in memory; the arguments are those of :func:`configure`.

        ``noise`` and ``coins`` are secure unless others are passed, which stamps the estimates as not private.
        """
        configuration = configure(
            universe,
            epsilon=epsilon,
            releases=releases,
            sample=sample,
            state=state,
            levels=levels,
            state_epsilon=state_epsilon,
        )
        self._coins = coins
        self._redrawing = threading.Lock()
        self._noise: Noise = SecureNoise() if noise is None else noise
        self._store: _Store = _MemoryStore(configuration, coins)

    @classmethod
    def open(cls, path: str | Path, *, writing: bool = True) -> Self:
        """Open a state file made by :func:`create_state` or ``panbayes stream open``.

        With ``writing`` this is the one process that feeds it; without, it can estimate only.
        """
        self = cls.__new__(cls)
        self._coins, self._noise, self._redrawing = system_coins, SecureNoise(), threading.Lock()
        self._store = StateFile(Path(path), writing=writing)
        return self

    @property
    def configuration(self) -> Configuration:
        """The public configuration."""
        return self._store.configuration

    @property
    def releases_left(self) -> int:
        """How many fresh estimates are left."""
        return self._store.ledger().left

    def update(self, ids: object) -> None:
        """Take in a batch of ids: an array, an Arrow or polars column, or a sequence of integers or texts.

        When this returns, the batch counts. Delivered twice, it changes nothing in distribution, because an entry drawn
        twice is distributed like one drawn once. Ids outside the universe are dropped and not counted.
        """
        self._redraw(ids, present=True)

    def remove(self, ids: object) -> None:
        """Take users out again: their entries are drawn from the initial law, as if they had never appeared."""
        self._redraw(ids, present=False)

    def estimate(self, *, confidence: float = 0.95) -> Estimate:
        """Release an estimate; with none left, the last one again (``fresh`` is false then).

        A release is paid for and written down before it is returned.
        """
        if not 0 < confidence < 1:
            raise InputError("confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
        scale = self.configuration.calibration.noise_scale

        def release(ledger: Ledger) -> Ledger:
            if ledger.left == 0:
                return ledger
            noisy = self._store.entries.statistic() + int(self._noise.discrete_laplace(1, scale=scale)[0])
            return Ledger(ledger.left - 1, noisy)

        before, after = self._store.transact(release)
        return self._describe(after, confidence, fresh=after.left < before.left)

    def last(self, *, confidence: float = 0.95) -> Estimate | None:
        """Return the last release again, if there was one; this costs nothing."""
        ledger = self._store.ledger()
        return None if ledger.last is None else self._describe(ledger, confidence, fresh=False)

    def close(self) -> None:
        """Let the state go: overwrite it in memory, or unlock its file."""
        self._store.close()

    def __enter__(self) -> Self:
        """Return the estimator itself."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _redraw(self, ids: object, *, present: bool) -> None:
        if not self._store.writing:
            raise InputError("writing", found="this state was opened for estimates only", remedy="open it for writing")
        # Words are read, changed and written: two threads at once could undo each other's redraws.
        with self._redrawing:
            for chunk in chunks(ids):
                for slots in self.configuration.universe.slots(chunk):
                    self._store.entries.redraw(slots, present=present, coins=self._coins)
            self._store.settle()

    def _describe(self, ledger: Ledger, confidence: float, *, fresh: bool) -> Estimate:
        if ledger.last is None:
            raise InputError("releases", found="none was planned", remedy="plan at least one")
        design, size = self.configuration.design(), self.configuration.sampling.size
        low, high = confidence_interval(design, statistic=ledger.last, confidence=confidence)
        unbiased = design.density_of(ledger.last)
        density = min(1.0, max(0.0, unbiased))
        return Estimate(
            density=density,
            low=min(low, density),
            high=max(high, density),
            confidence=confidence,
            distinct=round(density * size),
            distinct_low=math.floor(min(low, density) * size),
            distinct_high=math.ceil(max(high, density) * size),
            unbiased=unbiased,
            rmse=worst_rmse(design),
            statistic=ledger.last,
            fresh=fresh,
            releases_left=ledger.left,
            epsilon=self.configuration.calibration.epsilon,
            private=self._noise.private and self._coins is system_coins,
        )
