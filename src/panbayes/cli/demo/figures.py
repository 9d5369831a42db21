"""Pictures of a network and of marginals. Needs matplotlib, which ``pip install panbayes[figures]`` brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.cli.demo.layout import Point, lay_out
from panbayes.errors import visible
from panbayes.files import output_file

__all__ = ["draw_marginals", "draw_network"]

_INK: Final = "#22313f"
_COLOURS: Final = ("#8d99a6", "#2a7f9e", "#e08e45")
_LETTER: Final = 0.09
_MARGIN: Final = 0.28
_TITLE: Final = 0.5
_NARROWEST: Final = 5.0


def draw_network(network: Network, path: Path, *, title: str) -> None:
    """Draw the attributes as boxes and the dependencies as arrows from parent to child."""
    names = [visible(name) for name in network.schema.names]
    layout = lay_out(network.structure, [_LETTER * len(name) + _MARGIN for name in names])
    figure = Figure(figsize=(max(layout.width, _NARROWEST), layout.height + _TITLE), dpi=120)
    axes = figure.add_axes((0, 0, 1, layout.height / (layout.height + _TITLE)))
    axes.set_axis_off()
    axes.set_xlim(0, max(layout.width, _NARROWEST))
    axes.set_ylim(0, layout.height)
    for points in layout.arrows.values():
        axes.add_patch(
            FancyArrowPatch(
                path=_curve(points), arrowstyle="-|>", mutation_scale=11, color="#7b8a97", lw=1.3, shrinkA=0, shrinkB=0
            )
        )
    for attribute, box in layout.boxes.items():
        corner = (box.x - box.width / 2, box.y - box.height / 2)
        frame = FancyBboxPatch(
            corner, box.width, box.height, boxstyle="round,pad=0,rounding_size=0.08", fc="#e8f1f5", ec=_COLOURS[1]
        )
        axes.add_patch(frame)
        name = names[attribute]
        axes.text(box.x, box.y, name, ha="center", va="center", fontsize=10, color=_INK, parse_math=False)
    figure.suptitle(title, color=_INK, fontsize=12, parse_math=False)
    _save(figure, path)


def _curve(points: Sequence[Point]) -> Curve:
    """Return the path of an arrow: a line, then bends and lines in turn."""
    bends = (len(points) - 2) // 4
    codes = [Curve.MOVETO, *[Curve.LINETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4] * bends, Curve.LINETO]
    return Curve(list(points), codes)


def draw_marginals(
    labels: Mapping[str, Sequence[str]], shares: Mapping[str, Mapping[str, NDArray[np.float64]]], path: Path
) -> None:
    """Draw one panel per attribute with a group of bars per value: ``shares[series][attribute]`` sums to one."""
    figure = Figure(figsize=(4.6 * len(labels), 3.4), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(labels), squeeze=False)[0]
    width = 0.8 / len(shares)
    for axes, (attribute, values) in zip(panels, labels.items(), strict=True):
        for i, (series, found) in enumerate(shares.items()):
            x = np.arange(len(values)) + (i - (len(shares) - 1) / 2) * width
            axes.bar(x, 100 * found[attribute], width, label=series, color=_COLOURS[i % len(_COLOURS)])
        axes.set_xticks(np.arange(len(values)), list(values), fontsize=8)
        axes.set_title(attribute, color=_INK, fontsize=11)
        axes.set_ylabel("% of patients")
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].legend(frameon=False, fontsize=8)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with mpl.rc_context({"svg.hashsalt": "panbayes"}), output_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png")
