"""Counting distinct users without a list: how far estimates are off, beside sketches that are not pan-private.

At E = 1, with one look and one release, over simulated streams. Sketch-Flip-Merge (Hehir, Ting and Cormode, 2023) keeps
the same tiers of bits without noise while the stream runs, and flips them once at its end with probability 1/(1 + e^ε);
its estimate uses all flipped bits, of which the ones of each tier are all that matters. Its error is that of our
estimate from flipped bits without output noise, at ε = 1. DataSketches' HLL and CPC have no privacy.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from bench.peer_datasketches import measured
from panbayes.stream.accuracy.tier_design import TierDesign, estimate_users, relative_error
from panbayes.stream.accuracy.tier_law import tail, user_interval, whole_weights
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.setup import configure_hashed
from panbayes.stream.statistics.methods.distinct import tier_design

__all__ = ["run"]

ROUNDS = 300
FEW_USERS = 1000


def _occupied(cells: int, users: int, rng: np.random.Generator) -> int:
    """How many cells are occupied: drawn exactly for few users, else from the normal law of the same moments."""
    if users <= FEW_USERS:
        return int(np.unique(rng.integers(0, cells, users)).size)
    empty, both = math.exp(users * math.log1p(-1 / cells)), math.exp(users * math.log1p(-2 / cells))
    variance = cells * empty + cells * (cells - 1) * both - (cells * empty) ** 2
    return min(cells, round(cells * (1 - empty) + rng.normal() * math.sqrt(max(0.0, variance))))


def _counts(design: TierDesign, users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the counts of one release."""
    left, rest, found = users, 1.0, []
    quiet = design.noise_scale < 0.01
    for spread in design.spread:
        share = design.cells / spread
        inside = int(rng.binomial(left, min(1.0, share / rest)))
        left, rest = left - inside, rest - share
        occupied = _occupied(design.cells, inside, rng)
        ones = rng.binomial(occupied, design.update) + rng.binomial(design.cells - occupied, design.init)
        stop = 1 - math.exp(-1 / design.noise_scale)
        found.append(ones if quiet else ones + rng.geometric(stop) - rng.geometric(stop))
    return np.array(found)


def _ours(memory: int, releases: int) -> TierDesign:
    universe = HashedUniverse.of_memory(memory, key=bytes(16))
    return tier_design(configure_hashed(universe, epsilon=1, releases=releases).calibration, universe)


def _flipped_once(design: TierDesign) -> TierDesign:
    """The design of Sketch-Flip-Merge in the same cells, at ε = 1."""
    return TierDesign(1 / (1 + math.e), math.e / (1 + math.e), design.cells, design.spread, 1e-3)


def _measured(design: TierDesign, users: int) -> tuple[float, float, float]:
    """The error measured and predicted, and the share of 95 % intervals that hold the true number."""
    rng, weights = np.random.default_rng(users), whole_weights(design, users)
    errors, kept = [], 0
    for _ in range(ROUNDS):
        counts = _counts(design, users, rng)
        errors.append(estimate_users(design, counts.tolist()) / users - 1)
        edge = round(float(weights @ counts))
        kept += tail(design, weights, users, edge) > 0.025 and tail(design, weights, users, edge + 1) < 0.975
    return float(np.sqrt(np.mean(np.square(errors)))), relative_error(design, users), kept / ROUNDS


def _errors() -> None:
    for memory, releases in ((16 << 10, 1), (16 << 10, 30), (128 << 10, 1), (128 << 10, 30), (1 << 20, 1)):
        design = _ours(memory, releases)
        shown = []
        for users in (10**4, 10**5, 10**6, 10**8, 10**9):
            error, predicted, kept = _measured(design, users)
            shown.append(f"{users:.0e} {100 * error:.2f} ({100 * predicted:.2f}; {100 * kept:.0f})")
        print(
            f"{memory >> 10} KB, {releases} releases: error % measured (predicted; % of intervals) {', '.join(shown)}"
        )


def _beside_others() -> None:
    small = HashedUniverse(24, 4096, 4096, bytes(16))
    twelve = tier_design(configure_hashed(small, epsilon=1).calibration, small)
    for name, ours in (("12 KB, 24 tiers of 4,096", twelve), ("128 KB", _ours(128 << 10, 1))):
        shown = []
        for side, design in (("panbayes", ours), ("Sketch-Flip-Merge, flipped at the end", _flipped_once(ours))):
            error, predicted, _ = _measured(design, 10**6)
            shown.append(f"{side} {100 * error:.2f} % ({100 * predicted:.2f} predicted)")
        print(f"{name}, 10⁶ users: {', '.join(shown)}")
    peer = measured()
    if peer is None:
        print("DataSketches: not measured (make peers)")
        return
    for name, facts in peer.items():
        print(
            f"DataSketches {name}, {facts['bytes']:,.0f} bytes, 10⁶ users: {100 * facts['error']:.2f} %; "
            f"{facts['integers']:.1f} M integers and {facts['texts']:.1f} M texts per CPU-s, one at a time"
        )


def _estimating() -> None:
    design = _ours(128 << 10, 1)
    counts = _counts(design, 10**6, np.random.default_rng(1)).tolist()
    start = time.process_time()
    estimate_users(design, counts)
    middle = time.process_time()
    user_interval(design, counts, confidence=0.95)
    print(f"estimate {1000 * (middle - start):.0f} ms, interval {1000 * (time.process_time() - middle):.0f} ms of CPU")


def run() -> None:
    """Print errors measured and predicted, and those of others."""
    _errors()
    _beside_others()
    _estimating()
