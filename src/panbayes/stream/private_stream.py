"""What every estimator of a stream does with its state: take ids in, release noisy counts, let go.

The state is one value, :class:`~panbayes.stream.state.entries.Entries`, in memory or in a file; the setup is immutable.
An estimator adds how a stream of its kind is set up, and what a released tuple of counts says.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from panbayes.dp.noise import Noise
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError, InternalError
from panbayes.stream.flipped_copy import FlippedCopy, flip_chance
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.selection import needs_records, slot_runs
from panbayes.stream.ids.single import Id, single_slots
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import SizedUniverse
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.release import StreamRelease
from panbayes.stream.releasing import release_of, require_releasable
from panbayes.stream.schedule import Due, due_of, moment, now
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.coins import Coins, system_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.state.processes import refuse_copies
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Store

__all__ = ["PrivateStream", "check_confidence"]


class PrivateStream(ABC):
    """A stream whose state an intruder may see once."""

    __slots__ = ("_coins", "_noise", "_slot", "_store")

    _coins: Coins
    _noise: Noise
    _slot: Callable[[object], int]
    _store: Store

    def _start(self, setup: StreamSetup, noise: Noise | None, coins: Coins) -> None:
        """Start a stream in memory."""
        self._coins = coins
        self._noise = SecureNoise() if noise is None else noise
        self._store = MemoryStore(setup, coins)
        self._slot = _single(setup)

    @classmethod
    def start(cls, path: str | Path, setup: StreamSetup) -> Self:
        """Start a stream of any setup in a new file, and open it for feeding; an existing file is never replaced."""
        StateFile.create(Path(path), setup, fill=lambda entries: entries.initialize(system_coins))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, *, writing: bool = True) -> Self:
        """Go on with a state file made by ``create`` or ``panbayes stream open``.

        With ``writing`` this is the one process that feeds it; without, it can estimate only.
        """
        return cls.of(StateFile(Path(path), writing=writing))

    @classmethod
    def of(cls, store: StateFile) -> Self:
        """Go on with an open state file; one of another kind of stream is closed and refused."""
        self = cls.__new__(cls)
        self._coins, self._noise, self._store = system_coins, SecureNoise(), store
        self._slot = _single(store.setup)
        try:
            self._check_kind(store.setup)
        except InputError:
            store.close()
            raise
        return self

    @abstractmethod
    def _check_kind(self, setup: StreamSetup) -> None:
        """Refuse the setup of another kind of stream."""

    @property
    def setup(self) -> StreamSetup:
        """What was fixed before the stream started, all of it public."""
        return self._store.setup

    @property
    def releases_left(self) -> int:
        """How many fresh estimates are left."""
        return self._count().left

    @property
    def released(self) -> bool:
        """Whether anything was released yet."""
        return self._count().last is not None

    @property
    def private(self) -> bool:
        """Whether coins and noise are the system's, so that the guarantee holds."""
        return self._noise.private and self._coins is system_coins

    def update(self, ids: object) -> None:
        """Take in a batch of ids: an array, an Arrow or polars column, or a sequence of integers or texts.

        Where only some events count, give :class:`~panbayes.stream.ids.records.Records`: ids with the fields that say
        which do.

        When this returns, the batch counts. Ids outside the universe are dropped and not counted. For a density a batch
        that is delivered twice changes nothing in distribution, because an entry drawn twice is distributed like one
        drawn once; where visits are counted, every delivery is a visit.
        """
        self._redraw(ids, present=True)

    def add(self, one: Id) -> None:
        """Take in one id, as :meth:`update` takes in a batch of one; in memory many times faster.

        No coin is drawn before the id comes, and none is left after: a look sees neither.
        """
        if self.setup.forget:
            self._redraw([one], present=True)
            return
        with self._store.feeding() as entries:
            entries.redraw_one(self._slot(one), present=True, coins=self._coins)

    def turn(self) -> None:
        """End a period and begin the next: forget what the window says, and let the next panel count.

        Where every period starts anew, so do its releases; release what you want of the old period before. The turn is
        on the disk when this returns. Cut short, it must be done again.
        """
        setup = self.setup
        if not setup.forget:
            raise InputError(
                "state", found="its stream has no periods", remedy="start one with a panel, periods or a half-life"
            )
        planned, at = setup.calibration.releases, now()

        def forget(entries: Entries) -> None:
            # Only who feeds may turn, so nobody else can turn between this question and the end of the turn.
            self.require_due(at)
            entries.forget(setup.forget, self._coins)

        def step(count: ReleaseCount, _entries: Entries) -> ReleaseCount:
            begun = replace(count, turn=count.turn + 1, period=_period(setup, at))
            return replace(begun, left=planned, flipped=0) if setup.renews else begun

        self._store.turn(forget, step)

    def due(self, at: float | None = None) -> Due | None:
        """Say what is due by the schedule, now or ``at`` another moment; None if there is no schedule."""
        count, setup = self._count(), self.setup
        if setup.schedule is None or count.period is None:
            return None
        return due_of(setup.schedule, count.period, None if setup.forget else count.left, now() if at is None else at)

    def require_due(self, at: float | None = None) -> None:
        """Refuse to go on if a schedule says that nothing is due."""
        found = self.due(at)
        if found is not None and not found.now:
            raise InputError(
                "state", found=f"nothing is due before {moment(found.next)}", remedy="run it again from then on"
            )

    @property
    def turns(self) -> int:
        """How many periods have ended."""
        return self._count().turn

    @property
    def flipped_left(self) -> int:
        """How many flipped copies may still be handed over."""
        return self.setup.calibration.flipped - self._count().flipped

    def look(self) -> FlippedCopy:
        """Return a flipped copy of the state, which may be handed over; it is paid for before it is returned."""
        setup, made = self.setup, list[FlippedCopy]()
        calibration, law = setup.calibration, setup.calibration.law
        if not calibration.flipped or not isinstance(law, StateLaw):
            raise InputError("flipped", found="no copy was planned", remedy="plan copies when the stream is opened")

        def step(count: ReleaseCount, entries: Entries) -> ReleaseCount:
            if count.flipped == calibration.flipped:
                raise InputError("flipped", found="every planned copy was handed over", remedy="use one of those")
            if count.site is None:
                raise InternalError("a state that hands over copies has no site")
            chance = flip_chance(calibration.eta)
            made.append(
                FlippedCopy(
                    users=setup.universe.describe(),
                    entries=entries.sample,
                    sections=setup.universe.sections,
                    init=law.init[1],
                    update=law.update[1],
                    flip=chance,
                    epsilon=calibration.epsilon,
                    eta=calibration.eta,
                    turn=count.turn,
                    private=self.private,
                    bits=entries.flipped(chance, self._coins),
                    universe=hashlib.sha256(setup.universe.save().header).hexdigest(),
                    spread=setup.universe.spread if isinstance(setup.universe, HashedUniverse) else (),
                    size=setup.sampling.size if isinstance(setup.universe, SizedUniverse) else None,
                    forget=setup.forget,
                    where=tuple(str(condition) for condition in setup.where),
                    site=count.site,
                )
            )
            return replace(count, flipped=count.flipped + 1)

        self._store.transact(step)
        return made[0]

    def release(self, *, repeat: bool = False) -> StreamRelease:
        """Release counts in the form that is published; with none left, or to ``repeat``, the last ones again.

        From a part this is all there is: :func:`~panbayes.stream.release.combine` adds up those of all parts.
        """
        require_releasable(self.setup)
        count, fresh = (self._count(), False) if repeat else self._release()
        return release_of(self.setup, count, fresh=fresh, private=self.private)

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

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: every copy of a state is a look."""
        refuse_copies()

    def __repr__(self) -> str:
        """Say where the state is and what is public about it."""
        place = "in memory" if isinstance(self._store, MemoryStore) else "in a file"
        return f"<{type(self).__name__} {place}: {self.setup!r}>"

    def _count(self) -> ReleaseCount:
        return self._store.transact(lambda count, _: count)[1]

    def _check_whole(self, confidence: float) -> None:
        """Refuse an estimate from a part, before a release is spent, and what is no confidence."""
        check_confidence(confidence)
        if self.setup.part is not None:
            raise InputError(
                "state",
                found=f"it is {self.setup.part}, which says nothing of the whole by itself",
                remedy="call release() of every part, and combine() what they return",
            )

    def _redraw(self, ids: object, *, present: bool) -> None:
        if self.setup.fields and not isinstance(ids, Records):
            self._slot(ids)
        with self._store.feeding() as entries, entries.arena as arena:
            users, share = self.setup.users_at(self._count().turn if self.setup.forget else 0), _share(self.setup)
            for events, slots in slot_runs(ids, users, self.setup.where, arena):
                blocks = self.setup.own_slots(slots, arena)
                entries.redraw_blocks(blocks, math.ceil(share * events), present=present, coins=self._coins)

    def _release(self) -> tuple[ReleaseCount, bool]:
        """Release once more if any release is left: return what stands then, and whether it is fresh."""
        scale = self.setup.calibration.noise_scale

        def release(count: ReleaseCount, entries: Entries) -> ReleaseCount:
            if count.left == 0 or not _is_due(self.setup, count, at):
                return count
            counts, own = _own_counts(self.setup, entries)
            drawn = iter(self._noise.discrete_laplace(sum(own), scale=scale).tolist())
            # A section of which the state has no entry counts 0 whoever came, and needs no noise.
            noise = [next(drawn) if mine else 0 for mine in own]
            period = count.period if self.setup.forget else _period(self.setup, at)
            released = tuple(map(sum, zip(counts, noise, strict=True)))
            return replace(count, left=count.left - 1, last=released, period=period)

        at = now()
        before, after = self._store.transact(release)
        if after.last is None:
            self.require_due(at)
        return after, after.left < before.left


def _own_counts(setup: StreamSetup, entries: Entries) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Return the counts of a release, before their noise, and of which sections the state has entries at all."""
    part, sections = setup.part, setup.universe.sections
    if part is None or not part.stretches:
        counts = entries.counts(sections)
        return counts, (True,) * len(counts)
    edges = part.edges(sections, setup.universe.entries)
    return tuple(entries.ones(*edge) for edge in edges), tuple(start < end for start, end in edges)


def _share(setup: StreamSetup) -> float:
    """Of all events, about how many are of entries that the state has; it decides the speed, and nothing else."""
    part, users = setup.part, setup.universe
    if part is None:
        return 1.0
    if not part.stretches or not isinstance(users, HashedUniverse):
        return 1 / part.of
    edges = part.edges(users.sections, users.entries)
    return sum((end - start) / spread for (start, end), spread in zip(edges, users.spread, strict=True))


def _period(setup: StreamSetup, at: float) -> int | None:
    """The period of the clock at a moment, by the schedule, if there is one."""
    return None if setup.schedule is None else setup.schedule.period(at)


def _is_due(setup: StreamSetup, count: ReleaseCount, at: float) -> bool:
    """Say whether a release may be made: by a schedule one in each period, if it is not turns that are due."""
    if setup.schedule is None or count.period is None or setup.forget:
        return True
    return due_of(setup.schedule, count.period, count.left, at).now


def _single(setup: StreamSetup) -> Callable[[object], int]:
    """Return what finds the slot of a single id; where fields decide, what refuses one."""
    if setup.fields:
        return needs_records(" and ".join(setup.fields))
    find, part, whole = single_slots(setup.universe, Arena()), setup.part, setup.universe.entries
    return find if part is None else lambda one: part.slot(find(one), whole)


def check_confidence(confidence: float) -> None:
    """Refuse what is not a probability between 0 and 1."""
    if not 0 < confidence < 1:
        raise InputError("confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
