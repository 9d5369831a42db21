"""Discrete Laplace noise: cells per CPU-second of OpenDP, our exact sampler and the simulated source."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median

import numpy as np

from panbayes.dp import sampler
from panbayes.dp.opendp_bridge import add_discrete_laplace, noisy_max, padded_scale
from panbayes.dp.simulated import SimulatedNoise

__all__ = ["run"]

ROUNDS = 5


def _rate(draw: Callable[[], object], cells: int) -> float:
    """Return the cells per CPU-second of one call."""
    start = time.process_time()
    draw()
    return cells / (time.process_time() - start)


def _laplace(scale: Fraction) -> None:
    """Print the rates of the three sources at one scale, measured in turn, and their ratio."""
    few, many, simulated = 20_000, 1_000_000, SimulatedNoise(1)
    rates: dict[str, list[float]] = {"OpenDP": [], "ours": [], "simulated": []}
    for _ in range(ROUNDS):
        theirs = _rate(lambda: add_discrete_laplace([0] * few, scale=padded_scale(scale)), few)
        rates["OpenDP"].append(theirs)
        rates["ours"].append(_rate(lambda: sampler.discrete_laplace(many, scale), many))
        rates["simulated"].append(_rate(lambda: simulated.discrete_laplace(many, scale=scale), many))
    middle = {name: median(seen) for name, seen in rates.items()}
    shown = ", ".join(f"{name} {rate / 1e6:.2f}M" for name, rate in middle.items())
    ratio = middle["ours"] / middle["OpenDP"]
    print(f"discrete Laplace, scale {float(scale):g}: {shown} cells per CPU-s; ours {ratio:.0f}x OpenDP")


def _selection(*, gumbel: bool) -> None:
    """Print what one selection among 40,000 scores takes."""
    scores = np.random.default_rng(1).normal(size=40_000)
    rates = [_rate(lambda: noisy_max(scores, scale=0.1, gumbel=gumbel), 1) for _ in range(ROUNDS)]
    name = "exponential mechanism" if gumbel else "permute-and-flip"
    print(f"one of 40,000 scores, {name}: {1e3 / median(rates):.1f} CPU-ms")


def run() -> None:
    """Print the rates, measured in one run, and their ratios."""
    for scale in (Fraction(1), Fraction(20), Fraction(1806), Fraction(1_234_567, 89)):
        _laplace(scale)
    for gumbel in (False, True):
        _selection(gumbel=gumbel)
