"""The picture of a plan: expected errors of every strategy over ε, with the study's own ε and what is wished for.

Needs matplotlib, which ``pip install panbayes[figures]`` brings.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from panbayes.errors import InputError
from panbayes.planning.advice import alternatives
from panbayes.planning.forecast import Errors, Setting, forecaster
from panbayes.planning.wishes import Wish

__all__ = ["INK", "QUIET", "STYLE", "draw_plan", "quiet"]

INK: Final = "#22313f"
QUIET: Final = "#8d99a6"

STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "panbayes",
    "font.size": 9.5,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
}
"""How pictures look, as matplotlib's settings."""

_COLOURS: Final = {
    "adaptive": "#2f7d4f",
    "independent": "#5b6770",
    "noisy-majority-voting": "#2a7f9e",
    "noisy-model": "#7a5aa8",
    "privbayes": "#7a5aa8",
    "noisy-sufficient-statistics": "#c05a1c",
}
_LINES: Final = {"noisy-model": (0, (4, 2))}
"""Where two strategies come out alike, both are seen."""

_POINTS: Final = 17
_RANGE: Final = 10 ** (4 / 3)
"""How far ε goes from the study's, up and down."""


def draw_plan(path: Path, kind: str, setting: Setting, wish: Wish | None) -> None:
    """Draw errors of marginals on the left, of linked pairs on the right."""
    own = float(setting.study.epsilon or 1)
    budgets = np.clip(own * np.geomspace(1 / _RANGE, _RANGE, _POINTS), 1e-4, 1000.0)
    found = {name: _curve(one, budgets.tolist()) for name, one in alternatives(setting).items()}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 4.1), dpi=130, layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        curves = {name: [math.nan if e is None else e.marginals for e in errors] for name, errors in found.items()}
        _panel(left, "Single attributes", budgets.tolist(), curves)
        curves = {
            name: [math.nan if e is None or e.pairs is None else e.pairs for e in errors]
            for name, errors in found.items()
        }
        _panel(right, "Pairs that the network links", budgets.tolist(), curves)
        left.set_ylabel("expected distance from the records")
        for axes, of in ((left, "marginals"), (right, "pairs")):
            axes.axvline(own, color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
            axes.annotate(
                f"the study: ε = {own:g}",
                (own, 0),
                (4, 5),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=8,
                color=INK,
            )
            if wish is not None and wish.of == of:
                axes.axhline(wish.share, color="#b5364a", linewidth=1.0)
                axes.annotate(
                    str(wish),
                    (1, wish.share),
                    (-4, 4),
                    xycoords=("axes fraction", "data"),
                    textcoords="offset points",
                    ha="right",
                    fontsize=8,
                    color="#b5364a",
                )
        figure.suptitle(
            f"{setting.study.schema.name}: {len(setting.sizes)} attributes, {setting.records:,} records, "
            f"{setting.holders} holder{'' if setting.holders == 1 else 's'}",
            x=0.01,
            ha="left",
            fontsize=11.5,
            fontweight="bold",
            color=INK,
        )
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8.5)
        figure.savefig(path, format=kind, metadata={"Date": None} if kind == "svg" else None)


def _curve(setting: Setting, budgets: list[float]) -> list[Errors | None]:
    """Return the errors at every ε; None where a δ leaves nothing to spend."""
    found: list[Errors | None] = []
    for epsilon in budgets:
        try:
            one = replace(setting, study=replace(setting.study, epsilon=Fraction(f"{epsilon:.5g}")))
        except InputError:
            found.append(None)
            continue
        found.append(forecaster(one.study).errors(one))
    return found


def _panel(axes: Axes, title: str, budgets: list[float], curves: dict[str, list[float]]) -> None:
    quiet(axes)
    axes.set_title(title)
    for name, values in curves.items():
        width = 2.2 if name == "adaptive" else 1.5
        axes.plot(
            budgets,
            values,
            color=_COLOURS.get(name, QUIET),
            linewidth=width,
            label=name,
            linestyle=_LINES.get(name, "-"),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("ε, for every holder's people")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))


def quiet(axes: Axes) -> None:
    """Leave out the frame where it says nothing, and draw a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e6eaee", linewidth=0.8)
    axes.set_axisbelow(True)
