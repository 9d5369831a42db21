"""Running a service: sources take lines in, a beat brings them to the disk and acknowledges, until somebody says stop.

At every beat, whether or not anything came in: each source says what it has taken in, all states are brought to the
disk, and only then what was said is acknowledged. What the clock says is due comes after that, and at the start before
anything is taken in: so what was acknowledged counts in one period, and what was taken in and not acknowledged when the
service was killed comes again, in the same period unless that ended between the two. Asked to stop (SIGTERM, SIGINT or
SIGHUP), sources take nothing more in, one last beat follows, and everything is let go.

What a kill loses is what came in after the last beat, and nobody was told that it counts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from panbayes.errors import InputError
from panbayes.kernel_cache import rest_compiler
from panbayes.service.configuration import ServiceFile
from panbayes.service.door import Door
from panbayes.service.feed import Feed
from panbayes.service.keeper import Keeper
from panbayes.service.showing import showing
from panbayes.service.source import Declared, Running, Say, Surroundings, source_kinds
from panbayes.stream.ids.feeding import stream_format

__all__ = ["serve"]

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WISHES: Final = (signal.SIGUSR1, signal.SIGUSR2)


def serve(service: ServiceFile, say: Say) -> None:
    """Serve until somebody says stop, or a source fails."""
    keeper = Keeper(service, say)
    try:
        _check_repeats(service, keeper)
        feeds = [_feed(service, keeper, source) for source in service.sources]
        asyncio.run(_Service(service, keeper, feeds, say).run())
    finally:
        keeper.close()


def _feed(service: ServiceFile, keeper: Keeper, source: Declared) -> Feed:
    """Make what a source feeds by; what its format cannot do is a mistake in the file."""
    try:
        form = stream_format("", source.format)
        return Feed(keeper.estimators(source.states), form=form, column=source.column)
    except InputError as error:
        key = {"--format": "format", "--column": "column"}.get(error.argument, "format")
        raise InputError(
            f"{service.file}, sources, {key}", found=f"{source.describe()}: {error.found}", remedy=error.remedy
        ) from None


def _check_repeats(service: ServiceFile, keeper: Keeper) -> None:
    """Refuse to count visits from a source that may deliver one twice, unless that is wanted."""
    for source in service.sources:
        kind = next(kind for kind in source_kinds().values() if isinstance(source, kind.declared))
        for estimator in keeper.estimators(source.states):
            if kind.repeats and not estimator.statistic.repeatable and not service.repeats:
                raise InputError(
                    service.file,
                    found=f"{estimator.statistic.name} counts every delivery, and a source of kind {kind.name} repeats "
                    "some after a crash",
                    remedy="feed it from a socket or standard input, or say repeats = true and expect too high figures",
                )


@dataclass
class _Service:
    """A service that runs."""

    service: ServiceFile
    keeper: Keeper
    feeds: Sequence[Feed]
    say: Say
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _error: BaseException | None = None
    _running: list[Running] = field(default_factory=list)

    async def run(self) -> None:
        """Start everything, beat, and stop."""
        with _signals(self._stopping.set):
            await self._run()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()

        def end(error: BaseException | None) -> None:
            def stop() -> None:
                self._error = self._error or error
                self._stopping.set()

            loop.call_soon_threadsafe(stop)

        around = Surroundings(self.service.folder, self.say, end)
        every = self.service.beat_for(self.keeper.megabytes)
        async with AsyncExitStack() as stack:
            await self._show(stack)
            await asyncio.to_thread(self.keeper.release)
            for source, feed in zip(self.service.sources, self.feeds, strict=True):
                running = await source.start(feed, around)
                stack.push_async_callback(running.close)
                stack.push_async_callback(running.stop)
                self._running.append(running)
            _notify("READY=1")
            self.say(f"ready; everything is on the disk every {every:g} s, whether anything came or not")
            await self._beat_until_stopped(every)
            _notify("STOPPING=1")
            for running in self._running:
                await running.stop()
            await self._beat()
        if self._error is not None:
            raise self._error
        self.say("stopped; everything that was taken in is on the disk")

    async def _show(self, stack: AsyncExitStack) -> None:
        if self.service.page is None:
            return
        listening = self.service.page.listen.listen(argument="page.listen")
        door = Door(showing(self.service, self.keeper.shelf), listening, self.say)
        await door.open()
        stack.push_async_callback(door.end)
        host, port = listening.getsockname()[:2]
        self.say(f"showing releases at http://{f'[{host}]' if ':' in host else host}:{port}/")

    async def _beat_until_stopped(self, every: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not self._stopping.is_set():
            await self._beat()
            # By a grid: how long a beat took does not move the next.
            due = max(due + every, loop.time())
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), due - loop.time())

    async def _beat(self) -> None:
        acknowledgements: list[Callable[[], None]] = [running.settle() for running in self._running]
        await asyncio.to_thread(self.keeper.beat)
        for acknowledge in acknowledgements:
            acknowledge()
        await asyncio.to_thread(self._release)

    def _release(self) -> None:
        self.keeper.release()
        rest_compiler()


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let signals that ask a process to end stop the service, once: from then on, and at its end, they change nothing.

    Signals that other daemons take as a wish, such as to open their logs anew, would end this one, and are ignored.
    """
    loop = asyncio.get_running_loop()
    stopping = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    for number in stopping:
        loop.add_signal_handler(number, stop)
    for number in _WISHES:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number in stopping:
            # The loop would leave the default behind, by which a second signal ends the process amid its last steps.
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


def _notify(text: str) -> None:
    """Tell the service manager, if it listens, what it waits for."""
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, suppress(OSError):
        manager.connect("\0" + place[1:] if place.startswith("@") else place)
        manager.sendall(text.encode())
