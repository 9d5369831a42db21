"""The pan-private counter of distinct users whom nobody has listed.

>>> from panbayes.stream.distinct_counter import DistinctCounter
>>> with DistinctCounter(epsilon=2, expect=10_000) as counter:
...     counter.update(f"visitor-{i % 4_000}@example.org" for i in range(10_000))
...     answer = counter.estimate()
>>> 3_000 < answer.users < 5_000 and answer.low <= answer.users <= answer.high
True

Ids of any kind fall into the cells of a hashed universe (:mod:`panbayes.stream.ids.universes.hashed`, with the proof of
the guarantee); a release is one noisy count for each tier of cells, and the estimate follows from those
(:mod:`panbayes.stream.accuracy.tier_design`, :mod:`panbayes.stream.accuracy.tier_law`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.privacy.written import Written
from panbayes.stream.distinct_estimate import DistinctEstimate
from panbayes.stream.flipped_copy import NO_COPIES, FlippedCopies
from panbayes.stream.ids.part import parse_key, parse_part
from panbayes.stream.ids.universes.hashed import DEFAULT_MEMORY, HashedUniverse, Ipv6Bits, hashed
from panbayes.stream.private_stream import PrivateStream
from panbayes.stream.setup import StreamSetup, configure_hashed, with_rules
from panbayes.stream.state.coins import Coins, system_coins
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.distinct import Distinct
from panbayes.stream.statistics.methods.statistic import Released
from panbayes.stream.turns import WHOLE, Window

__all__ = ["DistinctCounter", "any_ids", "expected", "parse_memory"]


class DistinctCounter(PrivateStream):
    """Counts distinct users without a list of them, from a state that an intruder may see once.

    Called, it starts a stream in memory; :meth:`create` starts one in a file and :meth:`open` goes on with it.
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        epsilon: Written,
        releases: int = 1,
        expect: int | None = None,
        memory: int | str = DEFAULT_MEMORY,
        ipv6: int | None = None,
        key: str | None = None,
        state_epsilon: Written | None = None,
        window: Window = WHOLE,
        flipped: FlippedCopies = NO_COPIES,
        where: str | Sequence[str] = (),
        at: str | None = None,
        part: str | None = None,
        noise: Noise | None = None,
        coins: Coins = system_coins,
    ) -> None:
        """Start a stream in memory.

        ``epsilon`` is the total E for one look at the state and all ``releases``, such as 1, 0.5 or ``"1/3"``;
        ``expect`` is the number of users, if it is known within a factor of three, which makes the error a third;
        ``memory`` is how large the state may be, in bytes or such as ``"128K"`` or ``"1M"``; ``ipv6`` makes a user of
        an IPv6 address (128) or of its network (64), however it is written; ``key`` is that of another counter
        (``counter.key``), so that the same ids share the same cells; ``state_epsilon`` overrides the best split;
        ``window`` says who counts when, and ``flipped`` plans copies to hand over; only events ``where`` conditions
        such as ``"kind=buy"`` hold count, which are then fed as :class:`~panbayes.stream.ids.records.Records`; ``at``
        ``"hourly"``, ``"daily"`` or ``"weekly"`` releases go by the clock; ``part`` makes the state one part of a
        whole, such as ``"3/16"``, whose parts have one ``key`` and in all so much ``memory``. ``noise`` and
        ``coins`` are secure unless others are passed, which stamps the estimates as not private.

        >>> DistinctCounter(epsilon="0.5")
        <DistinctCounter in memory: StreamSetup(any ids, hashed into 18 tiers of 58,240 cells; ...)>
        """
        share = None if part is None else parse_part(part, key)
        users = any_ids(
            expect=expected(expect, window), memory=memory, ipv6=ipv6, key=key, parts=1 if share is None else share.of
        )
        setup = configure_hashed(
            users,
            epsilon=epsilon,
            releases=releases,
            state_epsilon=state_epsilon,
            window=window,
            flipped=flipped,
            part=share,
        )
        self._start(with_rules(setup, where=where, at=at), noise, coins)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        epsilon: Written,
        releases: int = 1,
        expect: int | None = None,
        memory: int | str = DEFAULT_MEMORY,
        ipv6: int | None = None,
        key: str | None = None,
        state_epsilon: Written | None = None,
        window: Window = WHOLE,
        flipped: FlippedCopies = NO_COPIES,
        where: str | Sequence[str] = (),
        at: str | None = None,
        part: str | None = None,
    ) -> Self:
        """Start a stream in a new file, and open it for feeding; an existing file is never replaced.

        ``path`` names the file, and the other arguments mean what they mean for a stream in memory. Coins and noise are
        always the system's: whoever opens the file later takes it for private.
        """
        share = None if part is None else parse_part(part, key)
        users = any_ids(
            expect=expected(expect, window), memory=memory, ipv6=ipv6, key=key, parts=1 if share is None else share.of
        )
        setup = configure_hashed(
            users,
            epsilon=epsilon,
            releases=releases,
            state_epsilon=state_epsilon,
            window=window,
            flipped=flipped,
            part=share,
        )
        return cls.start(path, with_rules(setup, where=where, at=at))

    @property
    def key(self) -> str:
        """The public key of the hash, to be given to another counter."""
        return hashed(self.setup.universe).key.hex()

    def estimate(self, *, confidence: float = 0.95) -> DistinctEstimate:
        """Release an estimate; with none left, the last one again (``fresh`` is false then).

        A release is paid for and written down before it is returned. ``confidence`` is the probability with which its
        interval holds.
        """
        self._check_whole(confidence)
        count, fresh = self._release()
        return self._describe(count, confidence, fresh=fresh)

    def last(self, *, confidence: float = 0.95) -> DistinctEstimate | None:
        """Return the last release again, if there was one; this costs nothing."""
        self._check_whole(confidence)
        count = self._count()
        return None if count.last is None else self._describe(count, confidence, fresh=False)

    def _check_kind(self, setup: StreamSetup) -> None:
        hashed(setup.universe)

    def _describe(self, count: ReleaseCount, confidence: float, *, fresh: bool) -> DistinctEstimate:
        if count.last is None:
            raise InputError("releases", found="none was planned", remedy="plan at least one")
        release = Released(count.last, fresh, count.left, self.private, self.setup.half_life, self.setup.scope)
        return Distinct().answer(self.setup.calibration, self.setup.universe, release, confidence=confidence)


def any_ids(
    *,
    expect: int | None = None,
    memory: int | str = DEFAULT_MEMORY,
    ipv6: int | None = None,
    key: str | None = None,
    parts: int = 1,
) -> HashedUniverse:
    """Read what a user says about ids without a list, as :class:`DistinctCounter` takes it; a state has ``parts``."""
    bits: dict[int | None, Ipv6Bits] = {None: 0, 64: 64, 128: 128}
    if ipv6 not in bits:
        raise InputError("ipv6", found=f"found {ipv6}", remedy="give 64 (a network is a user) or 128 (an address is)")
    chosen = None if key is None else parse_key(key)
    return HashedUniverse.of_memory(parse_memory(memory), expect=expect, key=chosen, ipv6=bits[ipv6], parts=parts)


def expected(users: int | None, window: Window) -> int | None:
    """Of so many users, how many to expect in one panel."""
    return None if users is None else -(-users // window.panels)


_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_memory(written: int | str) -> int:
    """Read an amount of memory: a number of bytes, or a text such as 128K, 1M or 16 KB.

    >>> parse_memory("128K"), parse_memory("1.5 MB"), parse_memory(4096)
    (131072, 1572864, 4096)
    """
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([KMG]?)(?:i?B)?", str(written).strip(), re.IGNORECASE)
    if isinstance(written, bool) or found is None:
        raise InputError("memory", found=f"found {str(written)[:40]!r}", remedy="write it like 128K, 1M or 1G")
    return int(float(found[1]) * _UNITS[found[2].upper()])
