"""How pictures look: one palette, quiet axes, and files that are the same for the same results.

Needs matplotlib, which ``pip install panbayes[figures]`` brings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullFormatter, NullLocator
from numpy.typing import NDArray

from panbayes.cli.plan_picture import INK, QUIET, STYLE, quiet
from panbayes.files import output_file
from reproduction.experiment import Picture
from reproduction.results import Results

__all__ = [
    "COLOURS",
    "FAILS",
    "INK",
    "MARKERS",
    "NAMES",
    "QUIET",
    "SOUND",
    "STYLE",
    "draw",
    "logarithmic",
    "measured",
    "plain_scale",
    "quiet",
]

FAILS: Final = "#b5364a"
"""What is claimed and does not hold."""

SOUND: Final = "#2f7d4f"
"""What is proved."""

COLOURS: Final = {
    "dwork": "#5b6770",
    "optimal-bernoulli": "#c05a1c",
    "quantized-laplace": "#2a7f9e",
    "laplace": "#7a5aa8",
    "truncated-gaussian": "#a08412",
}
MARKERS: Final = {
    "dwork": "s",
    "optimal-bernoulli": "o",
    "quantized-laplace": "^",
    "laplace": "D",
    "truncated-gaussian": "v",
}
NAMES: Final = {
    "dwork": "Dwork",
    "optimal-bernoulli": "Optimal Bernoulli",
    "quantized-laplace": "Quantized Laplace",
    "laplace": "Laplace",
    "truncated-gaussian": "Gauss (truncated)",
}

_ASIDE: Final = 0.014
"""How far points of different estimators stand aside, for their intervals to be seen."""


def draw(picture: Picture, results: Results, folder: Path) -> tuple[str, ...]:
    """Draw a picture as PNG and as SVG and return the names of the files."""
    names = (f"{picture.name}.png", f"{picture.name}.svg")
    with mpl.rc_context(STYLE):
        figure = Figure(dpi=110, layout="constrained")
        picture.draw(results, figure)
        for name in names:
            with output_file(folder / name) as temporary:
                kind = Path(name).suffix.lstrip(".")
                figure.savefig(temporary, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return names


def logarithmic(axes: Axes, *, ticks: Sequence[float]) -> None:
    """Let the x axis be logarithmic with these ticks, written as they are."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def plain_scale(axes: Axes, *, ticks: Sequence[float], room: float = 1.0) -> None:
    """Let the y axis be logarithmic with those of the ticks that lie on it, written as they are.

    ``room`` is by how much the axis goes on above the highest curve, for a legend.
    """
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    high *= room
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())


def measured(
    axes: Axes,
    estimator: str,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    theory: NDArray[np.float64],
) -> None:
    """Draw what was measured as points with their intervals, and theory as the line that they should lie on."""
    colour = COLOURS[estimator]
    axes.plot(x, theory, color=colour, linewidth=1.2)
    place = list(COLOURS).index(estimator) - len(COLOURS) // 2
    axes.errorbar(
        x * (1 + _ASIDE * place),
        y,
        yerr=[np.maximum(y - low, 0), np.maximum(high - y, 0)],
        fmt=MARKERS[estimator],
        color=colour,
        markersize=4.2,
        elinewidth=1.1,
        capsize=2,
        label=NAMES[estimator],
    )
