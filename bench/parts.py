"""States in parts: the error against one part, by formula and over simulated releases, and the speed of feeding a part.

At E = 1, with one look and one release. A simulated release draws the ones of every part, and noise for each; all go
through ``combine``, and so does the interval, whose coverage is counted. The speed is that of 10⁷ ids in one batch, in
CPU time, the whole state and the first of 16 parts in turn, medians.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import replace

import numpy as np

from bench.distinct import FEW_USERS
from panbayes.stream.accuracy.tier_design import relative_error
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.distinct_counter import DistinctCounter, any_ids
from panbayes.stream.distinct_estimate import DistinctEstimate
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.part import Part
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.release import StreamRelease, combine
from panbayes.stream.setup import configure, configure_hashed
from panbayes.stream.statistics.methods.distinct import tier_design

__all__ = ["run"]

USERS = 10**6
ROUNDS = 200
ROUNDS_HASHED = 60
PARTS = (1, 4, 16, 64)
KEY = bytes(16)
EVENTS = 10**7


def _part(parts: int) -> Part | None:
    return None if parts == 1 else Part(1, parts, KEY)


def _formula() -> None:
    known = {parts: configure(USERS, epsilon=1, part=_part(parts)).error() for parts in PARTS}
    hashed = {}
    for parts in PARTS:
        users = any_ids(key=KEY.hex(), parts=parts)
        setup = configure_hashed(users, epsilon=1, part=_part(parts))
        hashed[parts] = relative_error(tier_design(setup.calibration, users), USERS)
    for parts in PARTS:
        print(
            f"{parts:3} parts: density of {USERS:,} users, worst RMSE {known[parts]:.3e} = "
            f"{known[parts] / known[1]:.4f} of one part's; {USERS:,} hashed users in 128 KB "
            f"{100 * hashed[parts]:.3f} % = {hashed[parts] / hashed[1]:.4f}",
            flush=True,
        )


def _drawn(template: StreamRelease, number: int, ones: list[int], rng: np.random.Generator) -> StreamRelease:
    stop = 1 - math.exp(-1 / float(template.noise_scale))
    noise = rng.geometric(stop, len(ones)) - rng.geometric(stop, len(ones))
    return replace(template, part=number, counts=tuple(int(n + z) for n, z in zip(ones, noise, strict=True)))


def _simulated(parts: int) -> None:
    rng = np.random.default_rng(parts)
    with DensityEstimator(USERS, epsilon=1, part=f"1/{parts}", key=KEY.hex()) as estimator:
        setup, template = estimator.setup, estimator.release()
    init, update = template.init[1] / COIN, template.update[1] / COIN
    errors, covered = [], 0
    for _ in range(ROUNDS):
        found = []
        for number in range(1, parts + 1):
            half = USERS // parts // 2
            ones = int(rng.binomial(half, update) + rng.binomial(USERS // parts - half, init))
            found.append(_drawn(template, number, [ones], rng))
        answer = combine(found).estimate()
        assert isinstance(answer, DensityEstimate)
        errors.append(answer.unbiased - 0.5)
        covered += answer.low <= 0.5 <= answer.high
    rmse = math.sqrt(statistics.fmean(error**2 for error in errors))
    print(
        f"{parts} parts, {ROUNDS} simulated releases of {USERS:,} users, half of them there: RMSE {rmse:.3e} "
        f"± {rmse / math.sqrt(2 * ROUNDS):.1e} (predicted {setup.error():.3e}), "
        f"{covered} of {ROUNDS} intervals of 95 %",
        flush=True,
    )


def _simulated_hashed(parts: int) -> None:
    rng = np.random.default_rng(parts)
    with DistinctCounter(epsilon=1, expect=USERS, memory="1M", part=f"1/{parts}", key=KEY.hex()) as counter:
        template = counter.release()
    cells, spread = template.sections[0].cells, template.sections[0].spread or 1
    init, update = template.init[1] / COIN, template.update[1] / COIN
    errors, covered, predicted = [], 0, math.nan
    for _ in range(ROUNDS_HASHED):
        inside = int(rng.binomial(USERS, cells / spread))
        occupied = np.bincount(np.unique(rng.integers(0, cells, inside)) % parts, minlength=parts)
        ones = rng.binomial(occupied, update) + rng.binomial(cells // parts - occupied, init)
        answer = combine(_drawn(template, j + 1, [int(ones[j])], rng) for j in range(parts)).estimate()
        assert isinstance(answer, DistinctEstimate)
        errors.append(answer.users / USERS - 1)
        predicted = answer.relative_error
        covered += answer.high is not None and answer.low <= USERS <= answer.high
    rmse = math.sqrt(statistics.fmean(error**2 for error in errors))
    print(
        f"{parts} parts, {ROUNDS_HASHED} simulated releases of {USERS:,} hashed users: error {100 * rmse:.3f} % "
        f"± {100 * rmse / math.sqrt(2 * ROUNDS_HASHED):.3f} (predicted {100 * predicted:.3f}), "
        f"{covered} of {ROUNDS_HASHED} intervals of 95 %",
        flush=True,
    )


def _simulated_tiers(parts: int) -> None:
    rng = np.random.default_rng(parts)
    with DistinctCounter(epsilon=1, part=f"1/{parts}", key=KEY.hex()) as counter:
        template = counter.release()
    tiers, cells = len(template.sections), template.sections[0].cells
    init, update = template.init[1] / COIN, template.update[1] / COIN
    shares = [cells / (section.spread or 1) for section in template.sections]
    stop = 1 - math.exp(-1 / float(template.noise_scale))
    errors, covered, predicted = [], 0, math.nan
    for _ in range(ROUNDS_HASHED):
        bits = rng.random((tiers, cells))
        for tier, inside in enumerate(rng.multinomial(USERS, shares)):
            chance = np.full(cells, init)
            chance[rng.integers(0, cells, inside)] = update
            bits[tier] = bits[tier] < chance
        found = []
        for number in range(1, parts + 1):
            part = Part(number, parts, KEY, stretches=True)
            own = bits.ravel()[slice(*part.bounds(bits.size))]
            counts = []
            for start, end in part.edges(tiers, bits.size):
                noise = int(rng.geometric(stop) - rng.geometric(stop)) if start < end else 0
                counts.append(int(own[start:end].sum()) + noise)
            found.append(replace(template, part=number, counts=tuple(counts)))
        answer = combine(found).estimate()
        assert isinstance(answer, DistinctEstimate)
        errors.append(answer.users / USERS - 1)
        predicted = answer.relative_error
        covered += answer.high is not None and answer.low <= USERS <= answer.high
    rmse = math.sqrt(statistics.fmean(error**2 for error in errors))
    print(
        f"{parts} parts of {tiers} tiers, {ROUNDS_HASHED} simulated releases of {USERS:,} hashed users: error "
        f"{100 * rmse:.3f} % ± {100 * rmse / math.sqrt(2 * ROUNDS_HASHED):.3f} (predicted {100 * predicted:.3f}), "
        f"{covered} of {ROUNDS_HASHED} intervals of 95 %",
        flush=True,
    )


def _speed(name: str, ids: object) -> None:
    seconds: dict[str, list[float]] = {"whole": [], "1/16": []}
    with (
        DistinctCounter(epsilon=1, memory="1M", key=KEY.hex()) as whole,
        DistinctCounter(epsilon=1, memory="1M", part="1/16", key=KEY.hex()) as part,
    ):
        for counter in (whole, part):
            counter.update(list(range(FEW_USERS)))
            counter.update([f"user-{i}" for i in range(FEW_USERS)])
        for _ in range(7):
            for which, counter in (("whole", whole), ("1/16", part)):
                start = time.process_time()
                counter.update(ids)
                seconds[which].append(time.process_time() - start)
    medians = {which: 1e9 * statistics.median(found) / EVENTS for which, found in seconds.items()}
    print(f"{name}: whole state {medians['whole']:.2f} ns an id, one part of 16 {medians['1/16']:.2f}", flush=True)


def run() -> None:
    """Print errors and speeds."""
    _formula()
    for parts in (4, 16):
        _simulated(parts)
    for parts in (2, 16):
        _simulated_hashed(parts)
    for parts in (16, 64):
        _simulated_tiers(parts)
    ids = np.random.default_rng(1).integers(0, 1 << 62, EVENTS, dtype=np.int64)
    _speed("64-bit integers", ids)
    few = Texts.of(f"{i:032x}" for i in range(EVENTS // 10))
    places = np.random.default_rng(2).integers(0, few.size, EVENTS)
    _speed("texts of 32 bytes", Texts(few.data, few.starts[places], few.lengths[places]))
