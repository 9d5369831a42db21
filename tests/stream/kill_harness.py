"""Kill feeding processes at random moments and check what they leave behind; run as a program.

The parent is warm (kernels compiled), so a child lives from its first instruction to the kill in milliseconds. With a
state budget of 20 an entry is 1 for a present and 0 for an absent user, up to a chance of 2·10⁻⁹, so the bits can be
read off: of 900,000 users, drawn three times at most, more than STRAY are wrong with a chance of 10⁻¹⁶.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from panbayes.stream.estimator import DensityEstimator

BATCH = 3000
STRAY = 5


def child(path: Path, first: int, last: int, acknowledge: int) -> None:
    with DensityEstimator.open(path) as estimator:
        for start in range(first, last, BATCH):
            estimator.update(np.arange(start, min(last, start + BATCH)))
            os.write(acknowledge, b"u")
            statistic = estimator.estimate().statistic
            os.write(acknowledge, b"r" + statistic.to_bytes(8, "little", signed=True))


def read_all(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def main(folder: Path, kills: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    per_child = 5 * BATCH
    size, releases = kills * per_child, 10_000
    path = folder / "state"
    with DensityEstimator.create(path, size, epsilon=40, releases=releases, state_epsilon=20) as warm:
        warm.update(np.array([-1]))
    released = 0
    for index in range(kills):
        first, last = index * per_child, (index + 1) * per_child
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            try:
                child(path, first, last, writer)
            finally:
                os._exit(0)
        os.close(writer)
        time.sleep(float(rng.random()) * 0.03)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        said = read_all(reader)
        os.close(reader)
        batches, shown, last_shown, place = 0, 0, None, 0
        while place < len(said):
            if said[place : place + 1] == b"u":
                batches, place = batches + 1, place + 1
            else:
                shown, last_shown = shown + 1, int.from_bytes(said[place + 1 : place + 9], "little", signed=True)
                place += 9
        released += shown
        with DensityEstimator.open(path, writing=False) as check:
            left = check.releases_left
            assert 0 <= releases - left - released <= index + 1, "a release was shown without being written down"
            if last_shown is not None and releases - left == released:
                again = check.last()
                assert again is not None
                assert again.statistic == last_shown
        start = 24576
        bits = np.unpackbits(np.fromfile(path, dtype=np.uint8)[start : start + size // 8], bitorder="little")
        acknowledged = bits[first : min(last, first + batches * BATCH)]
        assert np.count_nonzero(acknowledged == 0) <= STRAY, "an acknowledged batch is missing"
        assert np.count_nonzero(bits[last:]) <= STRAY, "users who never appeared have bits"
        # Acknowledgement lost: the batch is delivered again, and the state is as if nothing had happened.
        with DensityEstimator.open(path) as again_fed:
            again_fed.update(np.arange(first, last))
    bits = np.unpackbits(np.fromfile(path, dtype=np.uint8)[24576 : 24576 + size // 8], bitorder="little")
    assert np.count_nonzero(bits == 0) <= STRAY


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
