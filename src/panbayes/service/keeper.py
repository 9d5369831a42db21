"""Looking after the states: beats, releases and turns that are due, and what is on the shelf.

One thread at a time does so. What it does and when follows from the clock and from the setup of each state, never from
what came in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from panbayes.errors import InputError
from panbayes.service.configuration import ServiceFile
from panbayes.service.feed import Estimators, nobody_feeding
from panbayes.service.shelf import Shelf
from panbayes.service.source import Say
from panbayes.stream.release import StreamRelease
from panbayes.stream.schedule import moment, now
from panbayes.stream.state.file import StateFile
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator

__all__ = ["Keeper"]


class Keeper:
    """Holds the states of a service, open for feeding by the beat."""

    def __init__(self, service: ServiceFile, say: Say) -> None:
        """Open all of them; if one cannot be, none stays open."""
        self._say = say
        self.shelf = Shelf(service.folder / service.releases)
        self._stores: dict[str, StateFile] = {}
        self._estimators: dict[str, StreamEstimator[Answer]] = {}
        self._looked: dict[str, tuple[int, float]] = {}
        try:
            for state in service.states:
                store = StateFile(Path(service.folder / state.file), writing=True, by_beat=True)
                self._stores[state.name] = store
                self._estimators[state.name] = StreamEstimator[Answer].of(store)
        except BaseException:
            self.close()
            raise

    @property
    def megabytes(self) -> float:
        """How much a beat brings to the disk."""
        return sum(store.setup.state_bytes for store in self._stores.values()) / 2**20

    def estimators(self, names: Sequence[str]) -> Estimators:
        """Return the estimators of some states; of all where none is named."""
        return [self._estimators[name] for name in names or self._estimators]

    def beat(self) -> None:
        """Bring every state to the disk."""
        for store in self._stores.values():
            store.beat()

    def release(self) -> None:
        """Do what is due: releases by the clock, the ends of periods; and publish what is not on the shelf yet.

        What was looked at is looked at again when its record is another, or the clock says so.
        """
        for name, estimator in self._estimators.items():
            sequence, due = self._looked.get(name, (0, 0.0))
            if sequence != self._stores[name].sequence or now() >= due:
                self._look(name, estimator)

    def _look(self, name: str, estimator: StreamEstimator[Answer]) -> None:
        # What is not on the shelf yet first: a state keeps its last release alone.
        self._publish(name, estimator)
        due = estimator.due()
        if due is not None and due.now:
            self._do(name, estimator)
            self._publish(name, estimator)
        sequence, due = self._stores[name].sequence, estimator.due()
        if due is not None and due.backwards:
            self._say(f"{name}: the clock went back; nothing is due before {moment(due.next)}")
        # What is due still, because it could not be done, is tried again at the next beat; what has ended is never due.
        if due is None or not due.now:
            self._looked[name] = sequence, due.next if due is not None and due.next > now() else math.inf

    def _do(self, name: str, estimator: StreamEstimator[Answer]) -> None:
        setup = estimator.setup
        if not setup.forget:
            _spend(estimator)
        elif setup.renews:
            with nobody_feeding():
                if estimator.releases_left:
                    _spend(estimator)
                self._publish(name, estimator)
                self._turn(estimator)
        else:
            self._turn(estimator)

    def _turn(self, estimator: StreamEstimator[Answer]) -> None:
        # Another process cannot turn a state that this one feeds; a clock that went back is refused, and tried again.
        with suppress(InputError):
            estimator.turn()

    def _publish(self, name: str, estimator: StreamEstimator[Answer]) -> None:
        """Publish the last release, unless it was."""
        setup, planned = estimator.setup, estimator.setup.calibration.releases
        number, period = planned - estimator.releases_left, estimator.turns if setup.renews else 0
        if number == 0:
            number, period = planned, period - 1
        if not estimator.released or self.shelf.has(name, period, number):
            return
        what = _last(estimator)
        if isinstance(what, StreamRelease):
            # Another process may have released once more just now.
            number, period = what.number, what.turn
        if what is not None:
            self.shelf.publish(name, period, number, what)
            self._say(f"{name}: release {number} of period {period} is published")

    def close(self) -> None:
        """Let all states go."""
        for store in self._stores.values():
            store.close()


def _spend(estimator: StreamEstimator[Answer]) -> None:
    """Release once more; a part has no estimate."""
    if estimator.setup.part is None:
        estimator.estimate()
    else:
        estimator.release()


def _last(estimator: StreamEstimator[Answer]) -> StreamRelease | Mapping[str, object] | None:
    """Return the last release in its public form; its figures where it has none; nothing of a part that has none."""
    try:
        return estimator.release(repeat=True)
    except InputError:
        # Not of users, or a period has ended since, and its form would not say which.
        last = estimator.last() if estimator.setup.part is None else None
        return None if last is None else last.facts()
