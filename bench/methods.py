"""Bits of several methods on several tables over ε: how runs are kept, tabulated and drawn, whatever the methods are.

A run is one row (table, holders, ε, method, seed, bits). :mod:`bench.scores`, :mod:`bench.averaging` and
:mod:`bench.sketches` measure them; docs/future-work.md has what they make of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from bench.subjects import Subject, subject
from panbayes.tables.table import Table

__all__ = ["EPSILONS", "FIGURES", "INK", "QUIET", "Run", "Style", "dealt", "draw", "keep", "kept", "named", "tabulated"]

FIGURES: Final = Path("docs/figures")
EPSILONS: Final = ("0.05", "0.1", "0.3", "1", "3", "10")
TESTED: Final = 5_000

INK: Final = "#22313f"
QUIET: Final = "#8d99a6"


@dataclass(frozen=True, slots=True)
class Run:
    """One run and its bits per test record."""

    table: str
    holders: int
    epsilon: str
    method: str
    seed: int
    bits: float


@dataclass(frozen=True, slots=True)
class Style:
    """How a method is drawn."""

    colour: str
    marker: str = "o"
    line: str = "-"


@cache
def named(name: str) -> Subject:
    """Return a table by its name, one of :mod:`bench.subjects`."""
    found = subject(name)
    return Subject(name, found.training, found.test.select(slice(0, TESTED)), found.target)


def dealt(table: Table, holders: int) -> dict[str, Table]:
    """Deal records to so many holders in turns."""
    return {f"holder {j}": table.select(slice(j, None, holders)) for j in range(holders)}


def kept(path: Path) -> list[Run]:
    """Return the runs of a file, none if there is no file."""
    return [Run(**row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []


def keep(path: Path, runs: Iterable[Run]) -> None:
    """Write runs to a file, one line each."""
    rows = ",\n".join(json.dumps(asdict(run), ensure_ascii=False) for run in runs)
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def _means(runs: Iterable[Run]) -> dict[tuple[str, int, str, str], float]:
    sorted_: dict[tuple[str, int, str, str], list[float]] = {}
    for run in runs:
        sorted_.setdefault((run.table, run.holders, run.method, run.epsilon), []).append(run.bits)
    return {key: float(np.mean(bits)) for key, bits in sorted_.items()}


def tabulated(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: a row for every table, number of holders and method."""
    means = _means(runs)
    yield f"| table | holders | method | {' | '.join(f'ε = {epsilon}' for epsilon in EPSILONS)} |"
    yield "|---|---|---|" + "---|" * len(EPSILONS)
    for table, holders, method in dict.fromkeys((run.table, run.holders, run.method) for run in runs):
        found = [means.get((table, holders, method, epsilon)) for epsilon in EPSILONS]
        cells = " | ".join("" if bits is None else f"{bits:.2f}" for bits in found)
        yield f"| {table} | {holders} | {method} | {cells} |"


def draw(
    runs: Sequence[Run],
    panels: Sequence[tuple[str, int]],
    styles: Mapping[str, Style],
    path: Path,
    *,
    most: float = 1.5,
) -> None:
    """Draw one panel for every table and number of holders, as the ending of the path says.

    A panel is cut off at ``most`` times its lowest bits, for the differences to be seen.
    """
    means = _means(runs)
    with mpl.rc_context({"svg.hashsalt": "panbayes", "font.size": 9, "legend.frameon": False, "text.color": INK}):
        columns = 3
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(9.6, 2.7 * rows + 0.5), dpi=110, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (table, holders) in zip(grid, panels, strict=False):
            lowest = min(bits for (name, number, _, _), bits in means.items() if (name, number) == (table, holders))
            highest = 0.0
            for method, style in styles.items():
                points = [(float(e), means.get((table, holders, method, e))) for e in EPSILONS]
                at = [(e, bits) for e, bits in points if bits is not None]
                if not at:
                    continue
                axes.plot(
                    *zip(*at, strict=True), style.line, color=style.colour, marker=style.marker, ms=4, label=method
                )
                highest = max(highest, *(bits for _, bits in at))
            axes.set_ylim(lowest - 0.04 * lowest, min(highest * 1.02, most * lowest))
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator([float(e) for e in EPSILONS]))
            axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#e6eaee", linewidth=0.8)
            axes.set_title(
                f"{table}, {'one holder' if holders == 1 else f'{holders} holders'}", loc="left", fontsize=10
            )
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for axes in grid[::columns]:
            axes.set_ylabel("bits per record")
        for axes in grid[: len(panels)][-columns:]:
            axes.set_xlabel("ε")
        shown: dict[str, Artist] = {}
        for axes in grid[: len(panels)]:
            handles, labels = axes.get_legend_handles_labels()
            shown.update(zip(labels, handles, strict=True))
        figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=min(4, len(shown)))
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
