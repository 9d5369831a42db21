"""Pictures of a network and of marginals. Needs matplotlib, which ``pip install panbayes[figures]`` brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.files import output_file

__all__ = ["draw_marginals", "draw_network"]

_INK: Final = "#22313f"
_COLOURS: Final = ("#8d99a6", "#2a7f9e", "#e08e45")


def _layers(structure: Structure) -> list[list[int]]:
    """Put every attribute one layer below its lowest parent; order layers so that arrows cross less."""
    depth: dict[int, int] = {}
    for child in structure.order:
        depth[child] = 1 + max((depth[parent] for parent in structure.parents(child)), default=-1)
    layers: list[list[int]] = [[] for _ in range(1 + max(depth.values()))]
    place: dict[int, float] = {}
    for child in structure.order:
        layers[depth[child]].append(child)
    for layer in layers:
        layer.sort(key=lambda child: np.mean([place[p] for p in structure.parents(child)] or [0.5]))
        place.update({child: (i + 0.5) / len(layer) for i, child in enumerate(layer)})
    return layers


def draw_network(network: Network, path: Path, *, title: str) -> None:
    """Draw the attributes as boxes and the dependencies as arrows from parent to child."""
    layers = _layers(network.structure)
    widest = max(len(layer) for layer in layers)
    size = (max(5.0, 1.7 * widest), 1.0 + 1.15 * len(layers))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    places = {
        child: ((i + 0.5) / len(layer), 1 - (row + 0.5) / len(layers))
        for row, layer in enumerate(layers)
        for i, child in enumerate(layer)
    }
    for parent, child in network.structure.edges:
        axes.annotate(
            "",
            xy=places[child],
            xytext=places[parent],
            arrowprops={"arrowstyle": "-|>", "color": "#7b8a97", "shrinkA": 14, "shrinkB": 16, "lw": 1.3},
        )
    for child, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.45", "facecolor": "#e8f1f5", "edgecolor": _COLOURS[1]}
        axes.text(x, y, network.schema.names[child], ha="center", va="center", fontsize=10, color=_INK, bbox=box)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    figure.suptitle(title, color=_INK, fontsize=12)
    _save(figure, path)


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
