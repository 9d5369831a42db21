"""Discrete Laplace noise: cells per CPU-second of OpenDP, our exact sampler and the simulated source."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from statistics import median
from typing import get_args

import numpy as np

from panbayes.dp import sampler
from panbayes.dp.opendp_bridge import add_discrete_laplace, padded_scale
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.privacy.events import Rule

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


def _selection(rule: Rule) -> None:
    """Print what one selection among 40,000 scores takes, without and with a clear winner."""
    close = np.random.default_rng(1).normal(size=40_000)
    clear = close + np.where(np.arange(close.size) == 7, 1e6, 0.0)
    choose = partial(SecureNoise().select, scale=Fraction(1, 10), mechanism=rule)
    choose(close)  # The first choice computes tables.
    rates = [[_rate(partial(choose, scores), 1) for _ in range(ROUNDS)] for scores in (close, clear)]
    taken = [1e3 / median(seen) for seen in rates]
    print(f"one of 40,000 scores, {rule}: {taken[0]:.2f} CPU-ms, with a clear winner {taken[1]:.2f}")


def run() -> None:
    """Print the rates, measured in one run, and their ratios."""
    for scale in (Fraction(1), Fraction(20), Fraction(1806), Fraction(1_234_567, 89)):
        _laplace(scale)
    for rule in get_args(Rule):
        _selection(rule)
