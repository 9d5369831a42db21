"""Estimating any statistic of a stream from a state that an intruder may see once.

>>> from panbayes.stream.statistics.methods.visits import Visits
>>> with StreamEstimator(10_000, Visits(3), epsilon=4) as estimator:
...     estimator.update([*range(4_000), *range(1_000)])
...     answer = estimator.estimate()
>>> 0.2 < answer.exactly[1].share < 0.4 and 0.05 < answer.at_least[2].share < 0.15
True

Whoever sees the state once, at any time, and all planned outputs, learns about any one user no more than ``epsilon``
allows, whenever and however often the user appears. Two looks at the state are not private at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Generic, Self, TypeVar, cast

from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.privacy.written import Written
from panbayes.stream.flipped_copy import NO_COPIES, FlippedCopies
from panbayes.stream.ids.part import read_part
from panbayes.stream.ids.universes.hashed import no_deletions
from panbayes.stream.ids.universes.kind import UniverseSpec
from panbayes.stream.private_stream import PrivateStream
from panbayes.stream.setup import StreamSetup, configure, require_same_elsewhere, with_rules
from panbayes.stream.state.coins import Coins, system_coins
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.statistic import Answer, Released, SampledStatistic, Statistic
from panbayes.stream.turns import WHOLE, Window

__all__ = ["StreamEstimator"]

A = TypeVar("A", bound=Answer)


class StreamEstimator(PrivateStream, Generic[A]):
    """Estimates a statistic of a stream of users from a state that an intruder may see once.

    Called, it starts a stream in memory; :meth:`create` starts one in a file and :meth:`open` goes on with it.

    >>> from panbayes import Visits
    >>> with StreamEstimator(10_000, Visits(3), epsilon=4) as estimator:
    ...     estimator.update(range(5_000))
    ...     estimator.update(range(2_000))
    ...     answer = estimator.estimate()
    >>> abs(answer.returning.share - 0.2) < 0.2
    True
    """

    __slots__ = ()

    def __init__(
        self,
        universe: UniverseSpec,
        statistic: SampledStatistic[A],
        *,
        epsilon: Written,
        releases: int = 1,
        sample: int | None = None,
        state_epsilon: Written | None = None,
        window: Window = WHOLE,
        flipped: FlippedCopies = NO_COPIES,
        where: str | Sequence[str] = (),
        at: str | None = None,
        part: str | None = None,
        key: str | None = None,
        noise: Noise | None = None,
        coins: Coins = system_coins,
    ) -> None:
        """Start a stream in memory.

        ``universe`` is a number U, ``"ipv4"``, ``"ipv4:NETWORK"``, ``"graph:VERTICES"``, a file with one id a line, or
        the ids; ``statistic`` says what to estimate; ``epsilon`` is the total E for one look at the state and all
        ``releases``, such as 1, 0.5 or ``"1/3"``; ``sample`` is m (all users by default); ``state_epsilon`` overrides
        the best split; ``window`` says who counts when, and ``flipped`` plans copies to hand over; only events
        ``where`` conditions such as ``"kind=buy"`` hold count, which are then fed as
        :class:`~panbayes.stream.ids.records.Records`; ``at`` ``"hourly"``, ``"daily"`` or ``"weekly"`` releases (or
        turns) go by the clock; ``part`` makes the state one part of a whole, such as ``"3/16"``, whose parts have one
        ``key`` of 32 hexadecimal digits. ``noise`` and ``coins`` are secure unless others are passed, which stamps
        the estimates as not private.
        """
        setup = configure(
            universe,
            statistic=statistic,
            epsilon=epsilon,
            releases=releases,
            sample=sample,
            state_epsilon=state_epsilon,
            window=window,
            flipped=flipped,
            part=read_part(part, key),
        )
        self._start(with_rules(require_same_elsewhere(setup), where=where, at=at), noise, coins)

    @classmethod
    def create(
        cls,
        path: str | Path,
        universe: UniverseSpec,
        statistic: SampledStatistic[A],
        *,
        epsilon: Written,
        releases: int = 1,
        sample: int | None = None,
        state_epsilon: Written | None = None,
        window: Window = WHOLE,
        flipped: FlippedCopies = NO_COPIES,
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
            statistic=statistic,
            epsilon=epsilon,
            releases=releases,
            sample=sample,
            state_epsilon=state_epsilon,
            window=window,
            flipped=flipped,
            part=read_part(part, key),
        )
        return cls.start(path, with_rules(require_same_elsewhere(setup), where=where, at=at))

    @property
    def statistic(self) -> Statistic[A]:
        """What is estimated."""
        return cast(Statistic[A], self.setup.statistic)

    def remove(self, ids: object) -> None:
        """Take back what was fed: users of a density, visits where those are counted."""
        if not self.setup.lists_users:
            raise no_deletions()
        if not self.statistic.deletes:
            raise InputError(
                "ids", found="they cannot be taken out again", remedy=f"{self.statistic.name} is for streams that grow"
            )
        self._redraw(ids, present=False)

    def estimate(self, *, confidence: float = 0.95) -> A:
        """Release an estimate; with none left, the last one again (``fresh`` is false then).

        A release is paid for and written down before it is returned. ``confidence`` is the probability with which its
        intervals hold.
        """
        self._check_whole(confidence)
        count, fresh = self._release()
        return self._describe(count, confidence, fresh=fresh)

    def last(self, *, confidence: float = 0.95) -> A | None:
        """Return the last release again, if there was one; this costs nothing."""
        self._check_whole(confidence)
        count = self._count()
        return None if count.last is None else self._describe(count, confidence, fresh=False)

    def _check_kind(self, _setup: StreamSetup) -> None:
        """Every statistic will do."""

    def _describe(self, count: ReleaseCount, confidence: float, *, fresh: bool) -> A:
        if count.last is None:
            raise InputError("releases", found="none was planned", remedy="plan at least one")
        release = Released(count.last, fresh, count.left, self.private, self.setup.half_life, self.setup.scope)
        return self.statistic.answer(self.setup.calibration, self.setup.universe, release, confidence=confidence)
