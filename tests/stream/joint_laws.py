"""The joint law of (state at one look, all releases) of whole short streams, in exact integers.

Nothing here knows the theorems. A stream of few users is played out: every value of the whole state, every released
vector, before and after the look. Probabilities are integers with one common denominator, so that ratios are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NOTHING, COME, GO = 0, 1, 2
"""What may happen to the user in question at one moment."""


@dataclass(frozen=True)
class Process:
    """Entries with integer weights: ``start[v]``, and ``kernels[e][v, w]`` for event e, with equal sums of all rows.

    User u's entry at value v adds ``tally[u][v]`` to a release, a vector; each of its counts has noise with
    probabilities proportional to (1/``base``)^|z|.
    """

    start: Ints
    kernels: tuple[Ints, ...]
    tally: Ints
    base: int

    @property
    def users(self) -> int:
        return int(self.tally.shape[0])

    def states(self) -> list[tuple[int, ...]]:
        return list(itertools.product(range(self.start.size), repeat=self.users))

    def released(self) -> Ints:
        """weights[o, s]: how likely the output o is in state s; beyond the counts themselves ratios stay the same."""
        counts = np.array([sum(self.tally[u][v] for u, v in enumerate(state)) for state in self.states()])
        outputs = np.array(list(itertools.product(*(range(int(c.max()) + 1) for c in counts.T))))
        distance = np.abs(outputs[:, None, :] - counts[None, :, :]).sum(axis=2)
        return np.asarray(self.base ** (int(distance.max()) - distance), dtype=np.int64)

    def moved(self, joint: Ints, user: int, event: int) -> Ints:
        """Let something happen to one user's entry; ``joint``'s last axis is the state."""
        shape = (*joint.shape[:-1], *[self.start.size] * self.users)
        axis = joint.ndim - 1 + user
        turned = np.tensordot(joint.reshape(shape), self.kernels[event], axes=([axis], [0]))
        return np.moveaxis(turned, -1, axis).reshape(joint.shape)


def joint_law(process: Process, stream: Sequence[tuple[int, int]], look: int, releases: Sequence[int]) -> Ints:
    """The likelihood of every observation: one look after ``look`` events and a release after each of ``releases``."""
    joint: Ints = np.ones(1, dtype=np.int64)
    for _ in range(process.users):
        joint = np.multiply.outer(joint, process.start).reshape(-1)
    released, size = process.released(), joint.size
    for moment in range(len(stream) + 1):
        for _ in range(releases.count(moment)):
            joint = joint[..., None, :] * released
        if moment == look:
            joint = joint[..., None, :] * np.eye(size, dtype=np.int64)
        if moment < len(stream):
            joint = process.moved(joint, *stream[moment])
    return np.asarray(joint.sum(axis=-1))


def adjacent_streams(length: int, users: int, events: Sequence[int]) -> Iterator[list[list[tuple[int, int]]]]:
    """Yield classes of adjacent streams: others' events are the same, user 0 does anything at the other moments."""
    for others in itertools.product(range(users), repeat=length):
        own = [moment for moment in range(length) if others[moment] == 0]
        streams = []
        for choice in itertools.product(events, repeat=len(own)):
            happens = dict(zip(own, choice, strict=True))
            streams.append([(other, happens.get(moment, COME)) for moment, other in enumerate(others)])
        yield streams


def worst_ratio(process: Process, *, length: int, releases: int, events: Sequence[int]) -> Fraction:
    """The largest likelihood ratio over all adjacent streams, look times, release times and observations."""
    worst = Fraction(1)
    for streams in adjacent_streams(length, process.users, events):
        for look in range(length + 1):
            for times in itertools.combinations_with_replacement(range(length + 1), releases):
                tables = [joint_law(process, stream, look, times) for stream in streams]
                high, low = np.maximum.reduce(tables), np.minimum.reduce(tables)
                if (low[high > 0] == 0).any():
                    raise AssertionError("an observation that only one of two adjacent streams allows")
                where = np.unravel_index(int(np.argmax(high / np.maximum(low, 1))), high.shape)
                near = (high / np.maximum(low, 1)) >= (high[where] / max(low[where], 1)) * (1 - 1e-9)
                found = {(int(a), int(b)) for a, b in zip(high[near], low[near], strict=True)}
                worst = max(worst, *(Fraction(a, b) for a, b in found))
    return worst
