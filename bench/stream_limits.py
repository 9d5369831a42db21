"""What bounds the speed of streams: the parts of a batch, each alone, beside the whole.

Nanoseconds of CPU time for each of 10⁷ events of 64-bit ids, one thread, the parts in turn, medians. *One word read* is
the least that any table of one bit a user costs: for every id the word of its bit is read and nothing else is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.kernels.fold_hash import integer_cells
from panbayes.stream.state import kernels
from panbayes.stream.state.coins import BLOCK, system_coins

__all__ = ["run"]

EVENTS = 10**7
ROUNDS = 9

Slots = NDArray[np.int64]
Words = NDArray[np.uint64]
Parts = dict[str, Callable[[], object]]


@njit(nogil=True)
def _read(slots: Slots, words: Words) -> np.uint64:
    found = np.uint64(0)
    for t in range(slots.size):
        found ^= words[np.uint64(slots[t]) >> np.uint64(6)]
    return found


def _coins(size: int) -> None:
    """Draw the coins that decide the first eight bits of so many comparisons."""
    buffer = np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, size, BLOCK):
        system_coins(buffer[: min(BLOCK, size - start)])


def _hash(ids: Slots, out: Slots) -> None:
    key = (np.uint64(3), np.uint64(5), np.uint64(7), np.uint64(11))
    for start in range(0, ids.size, out.size):
        part = ids[start : start + out.size]
        integer_cells(part, key, 18, 58_240, 58_240, out[: part.size])


def _measure(parts: Parts) -> str:
    seconds: dict[str, list[float]] = {name: [] for name in parts}
    for part in parts.values():
        part()
    for _ in range(ROUNDS):
        for name, part in parts.items():
            start = time.process_time()
            part()
            seconds[name].append(time.process_time() - start)
    return ", ".join(f"{name} {median(taken) / EVENTS * 1e9:.2f}" for name, taken in seconds.items())


def run() -> None:
    """Print the parts."""
    rng = np.random.default_rng(1)
    for users in (10**5, 10**7):
        ids = rng.integers(0, users, EVENTS)
        marks = np.zeros(-(-users // 64), dtype=np.uint64)
        parts: Parts = {
            "whole batch": partial(DensityEstimator(users, epsilon=1).update, ids),
            "ids read": ids.sum,
            "one word read": partial(_read, ids, marks),
            "marked": partial(kernels.mark, ids, marks, users),
            "coins": partial(_coins, users),
        }
        print(f"integers, {users:.0e} users: {_measure(parts)} ns an event", flush=True)
    ids = rng.integers(0, 10**7, EVENTS)
    parts = {
        "whole batch": partial(DistinctCounter(epsilon=1).update, ids),
        "hashed": partial(_hash, ids, np.empty(1 << 15, dtype=np.int64)),
    }
    print(f"integers without a list, 1e+07 users: {_measure(parts)} ns an event", flush=True)
