"""The figures of docs/accuracy.md: bits against ε and against the number of holders, on the Diabetes table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from bench.data import diabetes
from bench.measures import bits
from bench.quality import DELTA, Method, learned
from bench.subjects import split
from panbayes.tables.table import Table

__all__ = ["draw"]

EPSILONS: Final = ("0.03", "0.1", "0.3", "1", "3", "10")
COARSE: Final = ("0.1", "1", "10")
HOLDERS: Final = (1, 3, 10, 30, 100)
BOUNDS: Final = ("no privacy, independent", "no privacy, Chow–Liu", "no privacy, BIC k ≤ 2")
STRATEGIES: Final = ("independent", "noisy-majority-voting", "noisy-model")
PEERS: Final = {"dpmm 0.1.9 AIM, (ε, 1e-9), one holder": {"1": 46.42, "0.1": 49.21}}


def draw(folder: Path, *, seeds: int) -> None:
    """Measure and draw; the numbers are kept beside the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    training, test = split(diabetes(), validation=False)
    bounds = {name: bits(learned(Method(name), training), test) for name in BOUNDS}
    against_epsilon = {
        f"adaptive, pure, {holders} holder(s)": _curve(training, test, seeds, holders=holders) for holders in (1, 3)
    }
    against_epsilon |= {
        f"adaptive, (ε, 1e-9), add-remove, {holders} holder(s)": _curve(
            training, test, seeds, holders=holders, concentrated=True
        )
        for holders in (1, 3)
    }
    against_epsilon |= {
        f"{name}, 3 holders": _curve(training, test, seeds, name=name, holders=3, epsilons=COARSE)
        for name in STRATEGIES
    }
    against_holders = {
        "adaptive, ε = 1, pure": _row(training, test, seeds),
        "adaptive, (1, 1e-9), add-remove": _row(training, test, seeds, concentrated=True),
        "independent, ε = 1, pure": _row(training, test, seeds, name="independent"),
    }
    kept = {"bounds": bounds, "epsilon": against_epsilon, "holders": against_holders, "seeds": seeds}
    (folder / "accuracy.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    _plot(folder / "bits-epsilon.svg", "ε", against_epsilon, bounds, log_x=True)
    _plot(folder / "bits-holders.svg", "number of holders (the same records)", against_holders, bounds, log_x=True)


def _mean(training: Table, test: Table, method: Method, seeds: int) -> float:
    runs = []
    for seed in range(seeds):
        run = Method(method.name, method.epsilon, method.delta, method.adjacency, method.holders, seed)
        runs.append(bits(learned(run, training), test))
    return float(np.mean(runs))


def _method(name: str, epsilon: str, holders: int, *, concentrated: bool) -> Method:
    if concentrated:
        return Method(name, epsilon, str(DELTA), "add-remove", holders)
    return Method(name, epsilon, holders=holders)


def _curve(
    training: Table,
    test: Table,
    seeds: int,
    *,
    name: str = "adaptive",
    holders: int,
    concentrated: bool = False,
    epsilons: Sequence[str] = EPSILONS,
) -> dict[str, float]:
    return {
        epsilon: _mean(training, test, _method(name, epsilon, holders, concentrated=concentrated), seeds)
        for epsilon in epsilons
    }


def _row(
    training: Table, test: Table, seeds: int, *, name: str = "adaptive", concentrated: bool = False
) -> dict[str, float]:
    return {
        str(holders): _mean(training, test, _method(name, "1", holders, concentrated=concentrated), seeds)
        for holders in HOLDERS
    }


def _plot(
    path: Path, label: str, curves: dict[str, dict[str, float]], bounds: dict[str, float], *, log_x: bool
) -> None:
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "panbayes"
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, points in curves.items():
        axes.plot([float(x) for x in points], list(points.values()), marker="o", label=name)
    if label == "ε":
        for name, points in PEERS.items():
            axes.plot([float(x) for x in points], list(points.values()), "k*", markersize=10, label=name)
    for (name, value), style in zip(bounds.items(), (":", "--", "-."), strict=True):
        axes.axhline(value, color="grey", linestyle=style, label=name)
    if log_x:
        axes.set_xscale("log")
    axes.set_ylim(45, 62)
    axes.set_xlabel(label)
    axes.set_ylabel("test cross entropy (bits per record)")
    axes.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
