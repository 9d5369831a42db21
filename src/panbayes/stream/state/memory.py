"""A state in memory, gone with the process.

Where the system can do that (Linux), the memory is empty in processes that are forked off and is left out of core
dumps: a copy of the state would be a look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

from panbayes.stream.ids.arena import private_memory
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.coins import Coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.processes import OneProcess
from panbayes.stream.state.release_count import ReleaseCount, first_count
from panbayes.stream.state.store import Step, closed

__all__ = ["MemoryStore"]


class MemoryStore(OneProcess):
    """A state in memory; ``setup`` says what it is for."""

    def __init__(self, setup: StreamSetup, coins: Coins) -> None:
        """Draw the initial state."""
        super().__init__()
        self.setup = setup
        memory = private_memory(setup.state_bytes)
        self._entries: Entries | None = Entries(setup.calibration.law, setup.entries, memory)
        self._entries.initialize(coins)
        self._count = first_count(setup)
        self._redrawing, self._releasing = threading.Lock(), threading.Lock()
        self._feeding = _Feeding(self)

    def feeding(self) -> AbstractContextManager[Entries]:
        """Lend the entries to one thread that redraws them."""
        return self._feeding

    def begin(self) -> Entries:
        """Take the entries for a batch."""
        self.require_its_process()
        self._redrawing.acquire()
        if self._entries is None:
            self._redrawing.release()
            raise closed()
        return self._entries

    def end(self, *, well: bool) -> None:
        """Give the entries back after a batch, which ended ``well`` or by an error."""
        self._redrawing.release()
        if well:
            self.require_its_process()

    def transact(self, step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Replace the release count by ``step`` of it, and return both."""
        self.require_its_process()
        with self._releasing:
            before, after = self._count, step(self._count, self._open())
            self.require_its_process()
            self._count = after
            return before, after

    def turn(self, forget: Callable[[Entries], None], step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Let ``forget`` redraw entries, and then do as :meth:`transact`."""
        with self.feeding() as entries:
            forget(entries)
            return self.transact(step)

    def close(self) -> None:
        """Overwrite the state; in another process there is none."""
        if not self.in_its_process():
            return
        with self._redrawing, self._releasing:
            if self._entries is not None:
                self._entries.memory[:] = 0
            self._entries = None

    def _open(self) -> Entries:
        if self._entries is None:
            raise closed()
        return self._entries


class _Feeding:
    """A batch that is fed: a plain object, because ids may come one by one."""

    __slots__ = ("_store",)

    def __init__(self, store: MemoryStore) -> None:
        """Remember whose entries are lent."""
        self._store = store

    def __enter__(self) -> Entries:
        return self._store.begin()

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._store.end(well=kind is None)
