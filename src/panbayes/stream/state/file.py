"""A state in a file, mapped into memory and updated in place (its bytes: :mod:`panbayes.stream.state.layout`).

A release is flushed to the disk before it is shown, beside the one before it and never over it. Entries need no such
care: a redraw writes one word, and a word that was redrawn twice, or a batch that was applied in part, is distributed
as if it had been applied once, or in part. So the file is valid at every moment, and a batch whose acknowledgement was
lost may be delivered again. A small batch writes only what it touches (:mod:`panbayes.stream.state.touched`).

The file holds no ids, no event counts, no generator and no times; its own access and modification times are set back
to the start of the day after every batch and every release. (The inode's change time cannot be set: see the page on
streams in the documentation for that and for what else counts as a look.)

A process that feeds all day long may open a state to be fed *by the beat*: batches change the mapped file alone, and
:meth:`StateFile.beat` brings it to the disk, all of it, and sets its times back, at moments that have nothing to do
with the stream. Every page is made writable again at once, because the first write to a page that was brought to the
disk sets the time of the file: so between two beats neither times nor the amount written tell whether anybody came.

The feeding process holds an exclusive lock on the file; a second one is refused. Releases are serialised by a lock
on the record, so an estimate can be made while the stream is fed. A lock belongs to an open file, which a fork shares:
so every release opens the file anew, and only the process that opened a state may use it. The file knows where it is at
home (:mod:`panbayes.stream.state.home`), and a copy is refused.

See errata 4, 5.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from panbayes.errors import InputError
from panbayes.files import check_path, new_file
from panbayes.stream.saved_setup import save_setup
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state import layout
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.home import home_of
from panbayes.stream.state.mapped import (
    MappedState,
    forget_times,
    let_go,
    lock_writer,
    open_state,
    record_locked,
)
from panbayes.stream.state.processes import OneProcess
from panbayes.stream.state.record import PAGE, Record, Standing, write_record
from panbayes.stream.state.release_count import ReleaseCount, first_count
from panbayes.stream.state.store import Step, closed
from panbayes.stream.state.touched import FiledEntries

__all__ = ["StateFile"]


class _Threads:
    """Where locks of one process do not exclude each other, its threads take this one as well."""

    releasing = threading.Lock()

    @classmethod
    def renew(cls) -> None:
        """Start a forked process with a lock of its own: the old one may be held by a thread that it does not have."""
        cls.releasing = threading.Lock()


os.register_at_fork(after_in_child=_Threads.renew)


class StateFile(OneProcess):
    """A state in a file; ``setup`` says what it is for."""

    def __init__(self, path: Path, *, writing: bool, by_beat: bool = False) -> None:
        """Open and check a file; ``writing`` takes the lock of the one process that feeds it, perhaps ``by_beat``."""
        super().__init__()
        self._place, self._writing, self._redrawing = path.absolute(), writing, threading.Lock()
        self._by_beat = by_beat
        descriptor = open_state(path)
        try:
            if writing:
                lock_writer(descriptor, path)
            mapped = MappedState.of(descriptor, path)
            mapped.require_home(mapped.record())
        except BaseException:
            let_go(descriptor)
            raise
        self.setup = mapped.setup
        self._mapped: MappedState | None = mapped
        self._entries = layout.entries_of(mapped.memory, mapped.setup)
        if by_beat:
            self.beat()
        elif writing:
            own = self._entries
            self._entries = FiledEntries(own.law, own.sample, own.memory, descriptor, layout.ENTRIES, arena=own.arena)
            mapped.settle()

    @classmethod
    def create(cls, path: Path, setup: StreamSetup, *, fill: Callable[[Entries], None]) -> None:
        """Write a new file, whose entries ``fill`` draws; an existing file is never replaced.

        The file appears under its name when it is complete; before that it has another name in the same folder.
        """
        check_path(path)
        saved = save_setup(setup)
        size = layout.file_bytes(setup.state_bytes, len(saved.table))
        try:
            with new_file(path) as unfinished:
                descriptor = os.open(unfinished, os.O_RDWR | os.O_CLOEXEC)
                try:
                    os.posix_fallocate(descriptor, 0, size)
                    with mmap.mmap(descriptor, size) as memory:
                        layout.write_setup(memory, saved)
                        write_record(
                            memory,
                            Record(1, first_count(setup), Standing(home_of(descriptor))),
                        )
                        fill(layout.entries_of(memory, setup))
                        memory.flush()
                    forget_times(descriptor)
                finally:
                    os.close(descriptor)
        except FileExistsError:
            raise InputError(
                str(path), found="exists already", remedy="give another name, or delete it if you mean to start again"
            ) from None
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            raise InputError(str(path), found=f"cannot be created ({reason})", remedy="give a writable place") from None

    @contextmanager
    def feeding(self) -> Iterator[Entries]:
        """Lend the entries to one thread that redraws them.

        When the block ends, the batch is on the disk; where the state is fed by the beat, after the next one.
        """
        self.require_its_process()
        if not self._writing:
            raise InputError("writing", found="this state was opened for estimates only", remedy="open it for writing")
        with self._redrawing:
            mapped = self._open()
            yield self._entries
            self.require_its_process()
            if not self._by_beat:
                mapped.settle()

    def beat(self) -> None:
        """Bring all entries to the disk, set the file's times back, and make every page ready to be written.

        Refuses where the file is no longer the one of its name: it would be lost with the process, and with it all that
        was acknowledged.
        """
        self.require_its_process()
        mapped = self._open()
        mapped.memory.flush()
        mapped.require_its_name()  # Afterwards: what was flushed under a name that is gone would be acknowledged.
        with self._redrawing:
            # A byte of every page is written over itself; the record, which others may write to, is left alone.
            pages = self._entries.memory[::PAGE]
            np.bitwise_or(pages, 0, out=pages)
        forget_times(mapped.descriptor)

    @property
    def sequence(self) -> int:
        """The number of the record in force: it grows with every release, turn and copy, whoever makes it."""
        self.require_its_process()
        return self._open().record().sequence

    def transact(self, step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Replace the release count by ``step`` of it, durably, and return both; if it is the same write nothing."""
        self.require_its_process()
        with _Threads.releasing:
            mapped = self._open()
            with record_locked(self._place, mapped.descriptor):
                record = mapped.record()
                mapped.require_home(record)
                before = record.count
                after = step(before, self._entries)
                self.require_its_process()
                if after != before:
                    mapped.write(Record(record.sequence + 1, after, record.standing))
                # Also where nothing changed: what a killed process wrote may not be on the disk, and is shown now.
                mapped.settle_record()
                return before, after

    def turn(self, forget: Callable[[Entries], None], step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Let ``forget`` redraw entries, bring them to the disk, and then do as :meth:`transact`.

        In this order, because a record of a new period beside entries of the old one would release these once more.
        Cut short, it is begun again.
        """
        with self.feeding() as entries:
            forget(entries)
            self._open().settle()
            return self.transact(step)

    def close(self) -> None:
        """Let the file go; the locks with it, but for those of another process that this one is a copy of."""
        if not self.in_its_process():
            return
        with self._redrawing, _Threads.releasing:
            if self._mapped is not None:
                let_go(self._mapped.descriptor)
            self._mapped = None

    def _open(self) -> MappedState:
        if self._mapped is None:
            raise closed()
        return self._mapped
