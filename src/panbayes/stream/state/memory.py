"""A state in memory, gone with the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.coins import Coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Step, closed

__all__ = ["MemoryStore"]


class MemoryStore:
    """A state in memory; ``setup`` says what it is for."""

    def __init__(self, setup: StreamSetup, coins: Coins) -> None:
        """Draw the initial state."""
        self.setup = setup
        memory = np.zeros(setup.state_bytes, dtype=np.uint8)
        self._entries: Entries | None = Entries(setup.calibration.law, setup.sampling.sample, memory)
        self._entries.initialize(coins)
        self._count = ReleaseCount(setup.calibration.releases)
        self._redrawing, self._releasing = threading.Lock(), threading.Lock()

    @contextmanager
    def feeding(self) -> Iterator[Entries]:
        """Lend the entries to one thread that redraws them."""
        with self._redrawing:
            yield self._open()

    def transact(self, step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Replace the release count by ``step`` of it, and return both."""
        with self._releasing:
            before, self._count = self._count, step(self._count, self._open())
            return before, self._count

    def close(self) -> None:
        """Overwrite the state."""
        with self._redrawing, self._releasing:
            if self._entries is not None:
                self._entries.memory[:] = 0
            self._entries = None

    def _open(self) -> Entries:
        if self._entries is None:
            raise closed()
        return self._entries
