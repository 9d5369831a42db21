"""Pictures and comparisons of cross entropies: one curve for every strategy, with what bounds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.reproduce.distributed_trials import ADAPTIVE, CENTRAL, NAIVE, PUBLISHED
from panbayes.reproduce.results import Results, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHORT", "bits", "draw_bits", "error"]

Array: TypeAlias = NDArray[np.float64]

SHORT: Final = dict(zip((*PUBLISHED, ADAPTIVE), ("noisy ss", "noisy mv", "noisy model", "adaptive"), strict=True))
"""What the thesis calls its algorithms."""

_COLOURS: Final = dict(zip(SHORT, ("#c05a1c", "#2a7f9e", "#7a5aa8", "#2f7d4f"), strict=True))
_MARKERS: Final = dict(zip(SHORT, "so^D", strict=True))
_WIDE: Final = 1.96


def bits(found: Results, strategy: str, **where: Value) -> Array:
    """Return mean cross entropies of a strategy."""
    return found.where(strategy=strategy, **where).numbers("bits")


def error(found: Results, strategy: str, **where: Value) -> Array:
    """Return their standard errors."""
    rows = found.where(strategy=strategy, **where)
    return np.asarray(rows.numbers("deviation") / np.sqrt(rows.numbers("repetitions")))


def draw_bits(axes: Axes, found: Results, x: str, *, degree: int | None) -> None:
    """Draw the curves over a column; the published ones at this ``degree``, or at every one of them."""
    from panbayes.reproduce.drawing import INK, QUIET, quiet

    naive = found.where(strategy=NAIVE).number("bits")
    entropy = float(found.numbers("entropy")[0])
    for strategy in SHORT:
        rows = found.where(strategy=strategy)
        if strategy != ADAPTIVE and degree is not None:
            rows = rows.where(degree=degree)
        if strategy == ADAPTIVE and x == "degree":
            axes.axhline(rows.numbers("bits")[0], color=_COLOURS[strategy], linewidth=1.4, label=SHORT[strategy])
            continue
        axes.errorbar(
            rows.numbers(x),
            rows.numbers("bits"),
            yerr=_WIDE * rows.numbers("deviation") / np.sqrt(rows.numbers("repetitions")),
            color=_COLOURS[strategy],
            marker=_MARKERS[strategy],
            markersize=4.5,
            capsize=2.5,
            linestyle="-" if strategy in PUBLISHED else (0, (4, 2)),
            label=SHORT[strategy],
        )
    axes.axhline(naive, color=QUIET, linestyle=(0, (1, 1.5)), label="attributes alone, not private")
    central = found.where(strategy=CENTRAL)
    if degree is not None:
        axes.axhline(central.where(degree=degree).number("bits"), color=INK, linewidth=1, label="greedy, not private")
    else:
        axes.plot(central.numbers(x), central.numbers("bits"), color=INK, linewidth=1, label="greedy, not private")
    axes.axhline(entropy, color=INK, linestyle=(0, (4, 2)), linewidth=1, label="the true network")
    axes.set_ylabel("cross entropy, bits per record")
    quiet(axes)
