"""Processes that compute cells, as many as asked for, and none that outlives its caller.

A worker is a fresh interpreter at the end of a pipe. It ends when the pipe is closed, and at once when the process that
started it is gone, however that ended. Interruptions at the keyboard are the caller's business: workers never see them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Final, TypeAlias

from panbayes.errors import InternalError, PanbayesError
from reproduction.experiment import Cell, Experiment, cell_seed, experiments
from reproduction.results import Row

__all__ = ["Computed", "compute"]

Computed: TypeAlias = tuple[int, Sequence[Row]]
"""The number of a cell and its rows."""

_CONTEXT: Final = multiprocessing.get_context("spawn")


def compute(
    experiment: Experiment, cells: Sequence[Cell], *, repetitions: int, seed: int, workers: int
) -> Iterator[Computed]:
    """Yield the rows of every cell as they come in, in whatever order; one worker is this process itself."""
    if min(workers, len(cells)) <= 1:
        for number, cell in enumerate(cells):
            yield number, experiment.run(cell, repetitions, cell_seed(seed, experiment.name, cell))
        return
    with _started(min(workers, len(cells))) as pipes:
        left = iter(enumerate(cells))
        busy: dict[Connection, int] = {}
        for pipe in pipes:
            _ask(pipe, busy, left, (experiment.name, repetitions, seed))
        while busy:
            ready = wait(list(busy))
            for pipe in [one for one in busy if one in ready]:
                rows = _answer(pipe)
                number = busy.pop(pipe)
                _ask(pipe, busy, left, (experiment.name, repetitions, seed))
                yield number, rows


def _ask(
    pipe: Connection, busy: dict[Connection, int], left: Iterator[tuple[int, Cell]], run: tuple[str, int, int]
) -> None:
    following = next(left, None)
    if following is not None:
        busy[pipe], cell = following
        with _expected():
            pipe.send((*run, dict(cell)))


def _answer(pipe: Connection) -> Sequence[Row]:
    with _expected():
        rows: Sequence[Row] | str = pipe.recv()
    if isinstance(rows, str):
        raise InternalError(rows)
    return rows


@contextmanager
def _expected() -> Iterator[None]:
    """Say what it means if nobody is at the other end of a pipe."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise InternalError("a worker ended before its work: was it killed, or is memory full?") from None


@contextmanager
def _started(number: int) -> Iterator[list[Connection]]:
    pipes, processes = [], []
    resource_tracker.ensure_running()  # Started by the first worker, it would let through what is blocked.
    # What is blocked here is blocked there from the first moment on.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(number):
            ours, theirs = _CONTEXT.Pipe()
            process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            pipes.append(ours)
            processes.append(process)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield pipes
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.terminate()
            process.join()


def _serve(pipe: Connection) -> None:
    """Answer with rows, or with a text that says what went wrong, until nobody asks."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):  # Nobody asks any more.
        while True:
            name, repetitions, seed, cell = pipe.recv()
            try:
                answer: Sequence[Row] | str = experiments()[name].run(cell, repetitions, cell_seed(seed, name, cell))
            except (PanbayesError, ArithmeticError, ValueError, LookupError, TypeError) as error:
                answer = f"{name} at {cell}: {type(error).__name__}: {error}"
            pipe.send(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
