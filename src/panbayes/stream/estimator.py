"""The pan-private density estimator.

>>> from panbayes.stream.estimator import DensityEstimator
>>> with DensityEstimator(10_000, epsilon=2) as estimator:
...     estimator.update(range(4_000))
...     answer = estimator.estimate()
>>> 0.3 < answer.density < 0.5 and answer.low <= answer.density <= answer.high
True

The state is one value, :class:`~panbayes.stream.state.entries.Entries`, in memory or in a file; the setup is
immutable. Whoever sees the state once, at any time, and all planned outputs, learns about any one user no more than
``epsilon`` allows, whenever and however often the user appears. Two looks at the state are not private at all.

Thesis: Algorithms DworkDE, OptBernDE; Definition def_pan_privacy; see errata 1 to 5.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import TracebackType
from typing import Self

from panbayes.dp.noise import Noise
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError
from panbayes.privacy.written import Written
from panbayes.stream.accuracy.density_error import worst_rmse
from panbayes.stream.accuracy.statistic_law import confidence_interval
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.universes.kind import UniverseSpec
from panbayes.stream.laws.registry import DEFAULT_LAW
from panbayes.stream.setup import StreamSetup, configure
from panbayes.stream.state.coins import Coins, system_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Store

__all__ = ["DensityEstimator"]


class DensityEstimator:
    """Estimates the density of a stream of users from a state that an intruder may see once.

    Called, it starts a stream in memory; :meth:`create` starts one in a file and :meth:`open` goes on with it.
    """

    __slots__ = ("_coins", "_noise", "_store")

    def __init__(
        self,
        universe: UniverseSpec,
        *,
        epsilon: Written,
        releases: int = 1,
        sample: int | None = None,
        law: str = DEFAULT_LAW,
        levels: int = 2,
        state_epsilon: Written | None = None,
        noise: Noise | None = None,
        coins: Coins = system_coins,
    ) -> None:
        """Start a stream in memory.

        ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, a file with one id a line, or the ids; ``epsilon``
        is the total E for one look at the state and all ``releases``, such as 1, 0.5 or ``"1/3"``; ``sample`` is m (all
        users by default); ``law`` names the law of the entries, with ``levels`` for the quantized ones;
        ``state_epsilon`` overrides the best split. ``noise`` and ``coins`` are secure unless others are passed, which
        stamps the estimates as not private.

        >>> DensityEstimator("ipv4:10.0.0.0/8", epsilon="0.5", sample=1000)
        <DensityEstimator in memory: StreamSetup(the IPv4 addresses of 10.0.0.0/8, a sample of 1,000; ...)>
        """
        setup = configure(
            universe,
            epsilon=epsilon,
            releases=releases,
            sample=sample,
            law=law,
            levels=levels,
            state_epsilon=state_epsilon,
        )
        self._coins = coins
        self._noise: Noise = SecureNoise() if noise is None else noise
        self._store: Store = MemoryStore(setup, coins)

    @classmethod
    def create(
        cls,
        path: str | Path,
        universe: UniverseSpec,
        *,
        epsilon: Written,
        releases: int = 1,
        sample: int | None = None,
        law: str = DEFAULT_LAW,
        levels: int = 2,
        state_epsilon: Written | None = None,
    ) -> Self:
        """Start a stream in a new file, and open it for feeding; an existing file is never replaced.

        ``path`` names the file, and the other arguments mean what they mean for a stream in memory. Coins and noise are
        always the system's: whoever opens the file later takes it for private.
        """
        setup = configure(
            universe,
            epsilon=epsilon,
            releases=releases,
            sample=sample,
            law=law,
            levels=levels,
            state_epsilon=state_epsilon,
        )
        StateFile.create(Path(path), setup, fill=lambda entries: entries.initialize(system_coins))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, *, writing: bool = True) -> Self:
        """Go on with a state file made by :meth:`create` or ``panbayes stream open``.

        With ``writing`` this is the one process that feeds it; without, it can estimate only.
        """
        self = cls.__new__(cls)
        self._coins, self._noise = system_coins, SecureNoise()
        self._store = StateFile(Path(path), writing=writing)
        return self

    @property
    def setup(self) -> StreamSetup:
        """What was fixed before the stream started, all of it public."""
        return self._store.setup

    @property
    def releases_left(self) -> int:
        """How many fresh estimates are left."""
        return self._count().left

    def update(self, ids: object) -> None:
        """Take in a batch of ids: an array, an Arrow or polars column, or a sequence of integers or texts.

        When this returns, the batch counts. Delivered twice, it changes nothing in distribution, because an entry drawn
        twice is distributed like one drawn once. Ids outside the universe are dropped and not counted.
        """
        self._redraw(ids, present=True)

    def remove(self, ids: object) -> None:
        """Take users out again: their entries are drawn from the initial law, as if they had never appeared."""
        self._redraw(ids, present=False)

    def estimate(self, *, confidence: float = 0.95) -> DensityEstimate:
        """Release an estimate; with none left, the last one again (``fresh`` is false then).

        A release is paid for and written down before it is returned. ``confidence`` is the probability with which its
        interval holds.
        """
        _check_confidence(confidence)
        scale = self.setup.calibration.noise_scale

        def release(count: ReleaseCount, entries: Entries) -> ReleaseCount:
            if count.left == 0:
                return count
            noisy = entries.statistic() + int(self._noise.discrete_laplace(1, scale=scale)[0])
            return ReleaseCount(count.left - 1, noisy)

        before, after = self._store.transact(release)
        return self._describe(after, confidence, fresh=after.left < before.left)

    def last(self, *, confidence: float = 0.95) -> DensityEstimate | None:
        """Return the last release again, if there was one; this costs nothing."""
        _check_confidence(confidence)
        count = self._count()
        return None if count.last is None else self._describe(count, confidence, fresh=False)

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

    def __repr__(self) -> str:
        """Say where the state is and what is public about it."""
        place = "in memory" if isinstance(self._store, MemoryStore) else "in a file"
        return f"<DensityEstimator {place}: {self.setup!r}>"

    def _count(self) -> ReleaseCount:
        return self._store.transact(lambda count, _: count)[1]

    def _redraw(self, ids: object, *, present: bool) -> None:
        with self._store.feeding() as entries:
            for chunk in chunks(ids):
                for slots in self.setup.universe.slots(chunk):
                    entries.redraw(slots, present=present, coins=self._coins)

    def _describe(self, count: ReleaseCount, confidence: float, *, fresh: bool) -> DensityEstimate:
        if count.last is None:
            raise InputError("releases", found="none was planned", remedy="plan at least one")
        design, size = self.setup.design(), self.setup.sampling.size
        low, high = confidence_interval(design, statistic=count.last, confidence=confidence)
        unbiased = design.density_of(count.last)
        density = min(1.0, max(0.0, unbiased))
        return DensityEstimate(
            density=density,
            low=min(low, density),
            high=max(high, density),
            confidence=confidence,
            distinct=round(density * size),
            distinct_low=math.floor(min(low, density) * size),
            distinct_high=math.ceil(max(high, density) * size),
            unbiased=unbiased,
            rmse=worst_rmse(design),
            statistic=count.last,
            fresh=fresh,
            releases_left=count.left,
            epsilon=self.setup.calibration.epsilon,
            private=self._noise.private and self._coins is system_coins,
        )


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError("confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
