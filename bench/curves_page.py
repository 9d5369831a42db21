"""The tables and figures of docs/accuracy.md, out of what :mod:`bench.curves` measured.

``python -m bench.curves_page print [SET...]`` prints tables in Markdown, ``python -m bench.curves_page draw`` draws the
figures. Both read docs/figures/bits.json and measure nothing; stars in the figures are AIM's, of rivals.json beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

from bench.curves import (
    AT_THE_EDGE,
    COSTLY,
    CURVED,
    EDGE,
    EPSILONS,
    HOLDERS,
    PRIVATE,
    RECORDS,
    SETS,
    SMALL,
    SMALL_EPSILONS,
    SMALL_STRATEGIES,
)
from bench.stress_tables import STRESS
from bench.subjects import NETWORKS

__all__ = ["draw", "main", "tabulated"]

FIGURES: Final = Path("docs/figures")
PRIVACY: Final = dict(zip(PRIVATE, ("(ε, 10⁻⁹), add-remove", "pure, replace"), strict=True))
LAWS: Final = ("uniform", "independent", "Chow–Liu", "greedy k ≤ 2", "greedy k ≤ 3")
WHOLE: Final = {
    "diabetes": 57_214,
    "election": 35_945,
    "churn": 5_634,
    "alarm": 20_000,
    "dense": 20_000,
    "loops": 20_000,
}
"""How many records are learned from."""

HIGHEST: Final = 62
"""Bits above this are cut off, for the rest to be seen."""

BAD: Final = 0.05
"""Bits above the better of uniform and private independence that are set in bold."""


class Measured:
    """What a file of runs says."""

    def __init__(self, kept: dict[str, Any]) -> None:
        """Sort the runs by what they have in common but the seed."""
        self.bounds: dict[str, dict[str, float]] = kept["bounds"]
        self._runs: dict[tuple[object, ...], list[float]] = {}
        for row in kept["runs"]:
            key = tuple(
                row[part] for part in ("table", "strategy", "epsilon", "delta", "adjacency", "holders", "records")
            )
            self._runs.setdefault(key, []).append(row["bits"])
        self.cost: list[dict[str, Any]] = kept["cost"]

    def bits(
        self,
        table: str,
        epsilon: str,
        private: tuple[str, str],
        strategy: str = "adaptive",
        holders: int = 1,
        records: int = 0,
    ) -> list[float]:
        """Return the bits of all seeds; none if it was not measured."""
        return self._runs.get((table, strategy, epsilon, *private, holders, records), [])


def _mean(values: Sequence[float], *, spread: bool = False) -> str:
    if not values:
        return "not measured"
    return f"{np.mean(values):.2f}" + (f" ± {np.std(values, ddof=1):.2f}" if spread and len(values) > 1 else "")


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def tabulated(found: Measured, name: str) -> list[str]:
    """Return the lines of a set's table."""
    known = found.bounds
    delta = PRIVATE[0]
    match name:
        case "diabetes":
            rows = [
                [PRIVACY[private], str(holders)]
                + [
                    _mean(found.bits("diabetes", epsilon, private, holders=holders), spread=True)
                    for epsilon in ("0.1", "1")
                ]
                for holders in (1, 3)
                for private in PRIVATE
            ]
            return _rows(["Diabetes, bits", "holders", "ε = 0.1", "ε = 1"], rows)
        case "made":
            rows = [
                [table]
                + [_mean(found.bits(table, epsilon, delta)) for epsilon in ("0.1", "1", "10", "100")]
                + [_mean(found.bits(table, "1", PRIVATE[1]))]
                + [f"{known[table][law]:.2f}" if law in known.get(table, {}) else "–" for law in LAWS]
                for table in (*STRESS, *NETWORKS)
            ]
            return _rows(["bits", "ε = 0.1", "1", "10", "100", "pure ε = 1", *LAWS], rows)
        case "edge":
            return _rows(
                ["", "privacy", "uniform", *(f"ε = {e}" for e in EDGE)],
                [
                    [table, PRIVACY[private], f"{known[table]['uniform']:.2f}" if table in known else "not measured"]
                    + [_beyond(found, table, epsilon, private) for epsilon in EDGE]
                    for private in PRIVATE
                    for table in AT_THE_EDGE
                ],
            )
        case "epsilon":
            rows = [
                [table, PRIVACY[private]] + [_mean(found.bits(table, epsilon, private)) for epsilon in EPSILONS]
                for table in CURVED
                for private in PRIVATE
            ]
            return _rows(["bits", "privacy", *(f"ε = {e}" for e in EPSILONS)], rows)
        case "holders":
            rows = [[t] + [_mean(found.bits(t, "1", delta, holders=h)) for h in HOLDERS] for t in CURVED]
            return _rows(["bits at (1, 10⁻⁹)", "1 holder", *(f"{h} holders" for h in HOLDERS[1:])], rows)
        case "records":
            rows = [
                [t] + [_mean(found.bits(t, "1", delta, records=n)) if n < WHOLE[t] else "–" for n in (*RECORDS, 0)]
                for t in CURVED
            ]
            return _rows(["bits at (1, 10⁻⁹)", *(f"{n:,} records" for n in RECORDS), "all"], rows)
        case "small":
            rows = [
                [table, str(holders)]
                + [
                    " / ".join(_mean(found.bits(table, epsilon, PRIVATE[1], s, holders)) for s in SMALL_STRATEGIES)
                    for epsilon in SMALL_EPSILONS
                ]
                for table, shared in SMALL.items()
                for holders in shared
            ]
            return _rows(["bits, pure, replace", "holders", *(f"ε = {e}" for e in SMALL_EPSILONS)], rows)
        case "cost":
            rows = []
            for table in COSTLY:
                runs = [row for row in found.cost if row["table"] == table]
                rows.append(
                    [table]
                    + [
                        f"{max(row[key] for row in runs):.{digits}f}"
                        for key, digits in (("seconds", 1), ("megabytes", 0))
                    ]
                )
            return _rows(["(1, 10⁻⁹), one holder", "CPU-s", "MB"], rows)
    return []


def _beyond(found: Measured, table: str, epsilon: str, private: tuple[str, str]) -> str:
    """Write how far the strategy is above the better of uniform and private independence."""
    ours = found.bits(table, epsilon, private)
    simple = found.bits(table, epsilon, private, "independent" if private == PRIVATE[1] else "alone")
    if not ours or not simple or table not in found.bounds:
        return "not measured"
    above = float(np.mean(ours)) - min(found.bounds[table]["uniform"], float(np.mean(simple)))
    return f"**{above:+.2f}**" if above > BAD else f"{above:+.2f}"


def draw(found: Measured, rivals: Sequence[dict[str, Any]], folder: Path) -> None:
    """Draw bits against ε, and against the number of records and of holders."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "panbayes"
    figure, panels = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    for axes, table in zip(panels.flat, CURVED, strict=True):
        for private, label in PRIVACY.items():
            curve = {float(e): np.mean(values) for e in EPSILONS if (values := found.bits(table, e, private))}
            axes.plot(list(curve), list(curve.values()), marker="o", markersize=3, label=f"adaptive, {label}")
        theirs: dict[float, float] = {}
        for row in rivals:
            if row["table"] == table and "failed" not in row:
                value = min(row["bits"], row["bits_refit"])
                theirs[float(row["epsilon"])] = min(value, theirs.get(float(row["epsilon"]), np.inf))
        if theirs:
            axes.plot(list(theirs), list(theirs.values()), "k*", markersize=8, label="AIM's better setting, (ε, 10⁻⁹)")
        _bounds(axes, found.bounds.get(table, {}))
        axes.set_xscale("log")
        axes.set_ylim(top=min(axes.get_ylim()[1], HIGHEST))
        axes.set_title(table, fontsize=10)
    _finish(figure, panels, "ε", folder / "bits-epsilon.svg")
    figure, panels = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    for axes, table in zip(panels.flat, CURVED, strict=True):
        sizes = found.bounds.get(table, {})
        whole = WHOLE[table]
        fewer = {
            n or whole: np.mean(values)
            for n in (*RECORDS, 0)
            if n < whole and (values := found.bits(table, "1", PRIVATE[0], records=n))
        }
        split = {
            whole / h: np.mean(values) for h in HOLDERS if (values := found.bits(table, "1", PRIVATE[0], holders=h))
        }
        axes.plot(list(fewer), list(fewer.values()), marker="o", markersize=3, label="one holder of so many records")
        axes.plot(list(split), list(split.values()), "s--", markersize=3, label="1, 3 and 10 holders of so many each")
        _bounds(axes, {law: value for law, value in sizes.items() if law != "uniform"})
        axes.set_xscale("log")
        axes.set_title(table, fontsize=10)
    _finish(figure, panels, "records per holder, (1, 10⁻⁹), add-remove", folder / "bits-records.svg")


def _bounds(axes: Any, laws: dict[str, float]) -> None:
    styles = {"uniform": "-", "independent": ":", "Chow–Liu": "--", "greedy k ≤ 3": "-."}
    for law, style in styles.items():
        if law in laws:
            axes.axhline(laws[law], color="grey", linestyle=style, linewidth=1, label=f"{law}, no privacy")


def _finish(figure: Any, panels: Any, label: str, path: Path) -> None:
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    for axes in panels.flat:
        axes.xaxis.set_minor_formatter(NullFormatter())
    for axes in panels[-1]:
        axes.set_xlabel(label)
    for axes in panels[:, 0]:
        axes.set_ylabel("bits per test record")
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main(arguments: list[str]) -> int:
    """Print or draw; see the module."""
    parser = argparse.ArgumentParser(prog="bench.curves_page", description=__doc__)
    parser.add_argument("verb", choices=("print", "draw"))
    parser.add_argument("names", nargs="*", default=[name for name in SETS if name != "bounds"])
    parser.add_argument("--figures", type=Path, default=FIGURES)
    given = parser.parse_args(arguments)
    found = Measured(json.loads((given.figures / "bits.json").read_text()))
    if given.verb == "draw":
        draw(found, json.loads((given.figures / "rivals.json").read_text()), given.figures)
        return 0
    for name in given.names:
        print("\n".join([f"{name}:", *tabulated(found, name), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
