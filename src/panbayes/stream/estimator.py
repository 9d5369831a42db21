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

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.privacy.written import Written
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.ids.part import read_part
from panbayes.stream.ids.universes.kind import UniverseSpec, sampling_of
from panbayes.stream.laws.registry import DEFAULT_LAW
from panbayes.stream.private_stream import PrivateStream
from panbayes.stream.setup import StreamSetup, configure, require_same_elsewhere, with_rules
from panbayes.stream.state.coins import Coins, system_coins
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.statistic import Released

__all__ = ["DensityEstimator"]


class DensityEstimator(PrivateStream):
    """Estimates the density of a stream of users from a state that an intruder may see once.

    Called, it starts a stream in memory; :meth:`create` starts one in a file and :meth:`open` goes on with it.
    """

    __slots__ = ()

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
        where: str | Sequence[str] = (),
        at: str | None = None,
        part: str | None = None,
        key: str | None = None,
        noise: Noise | None = None,
        coins: Coins = system_coins,
    ) -> None:
        """Start a stream in memory.

        ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, ``"graph:VERTICES"``, a file with one id a line, or
        the ids; ``epsilon`` is the total E for one look at the state and all ``releases``, such as 1, 0.5 or ``"1/3"``;
        ``sample`` is m (all users by default); ``law`` names the law of the entries, with ``levels`` for the quantized
        ones; ``state_epsilon`` overrides the best split; only events ``where`` conditions such as ``"kind=buy"`` hold
        count, which are then fed as :class:`~panbayes.stream.ids.records.Records`; ``at`` ``"hourly"``, ``"daily"`` or
        ``"weekly"`` releases go by the clock; ``part`` makes the state one part of a whole, such as ``"3/16"``, whose
        parts have one ``key`` of 32 hexadecimal digits. ``noise`` and ``coins`` are secure unless others are passed,
        which stamps the estimates as not private.

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
            part=read_part(part, key),
        )
        self._start(with_rules(require_same_elsewhere(setup), where=where, at=at), noise, coins)

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
        where: str | Sequence[str] = (),
        at: str | None = None,
        part: str | None = None,
        key: str | None = None,
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
            part=read_part(part, key),
        )
        return cls.start(path, with_rules(require_same_elsewhere(setup), where=where, at=at))

    def remove(self, ids: object) -> None:
        """Take users out again: their entries are drawn from the initial law, as if they had never appeared."""
        self._redraw(ids, present=False)

    def estimate(self, *, confidence: float = 0.95) -> DensityEstimate:
        """Release an estimate; with none left, the last one again (``fresh`` is false then).

        A release is paid for and written down before it is returned. ``confidence`` is the probability with which its
        interval holds.
        """
        self._check_whole(confidence)
        count, fresh = self._release()
        return self._describe(count, confidence, fresh=fresh)

    def last(self, *, confidence: float = 0.95) -> DensityEstimate | None:
        """Return the last release again, if there was one; this costs nothing."""
        self._check_whole(confidence)
        count = self._count()
        return None if count.last is None else self._describe(count, confidence, fresh=False)

    def _check_kind(self, setup: StreamSetup) -> None:
        sampling_of(setup.universe)
        if not isinstance(setup.statistic, Density):
            raise InputError(
                "state",
                found=f"it is for another statistic, {setup.statistic.name}",
                remedy="open it with StreamEstimator.open",
            )

    def _describe(self, count: ReleaseCount, confidence: float, *, fresh: bool) -> DensityEstimate:
        if count.last is None:
            raise InputError("releases", found="none was planned", remedy="plan at least one")
        release = Released(count.last, fresh, count.left, self.private, self.setup.half_life, self.setup.scope)
        return Density().answer(self.setup.calibration, self.setup.universe, release, confidence=confidence)
