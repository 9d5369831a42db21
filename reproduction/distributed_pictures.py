"""Pictures and comparisons of cross entropies: one curve for every strategy, with what bounds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reproduction.distributed_trials import ADAPTIVE, CENTRAL, LOCAL, NAIVE, PUBLISHED, SUMMED
from reproduction.partition import PARTITIONS, TURNS
from reproduction.results import Results, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHORT", "bits", "draw_bits", "draw_curves", "draw_excess", "error", "rise"]

Array: TypeAlias = NDArray[np.float64]

SHORT: Final = dict(
    zip(
        (*PUBLISHED, ADAPTIVE, SUMMED, LOCAL),
        ("noisy ss", "noisy mv", "noisy model", "adaptive", "noisy ss, cut after the sum", "one holder's model"),
        strict=True,
    )
)
"""What the thesis calls its algorithms, and what stands beside them."""

_COLOURS: Final = dict(zip(SHORT, ("#c05a1c", "#2a7f9e", "#7a5aa8", "#2f7d4f", "#a08412", "#b47fae"), strict=True))
_MARKERS: Final = dict(zip(SHORT, "so^Dvp", strict=True))
_WIDE: Final = 1.96


def bits(found: Results, strategy: str, **where: Value) -> Array:
    """Return mean cross entropies of a strategy."""
    return found.where(strategy=strategy, **where).numbers("bits")


def error(found: Results, strategy: str, **where: Value) -> Array:
    """Return their standard errors."""
    rows = found.where(strategy=strategy, **where)
    return np.asarray(rows.numbers("deviation") / np.sqrt(rows.numbers("repetitions")))


def rise(found: Results, strategy: str) -> tuple[float, float]:
    """By how many bits a strategy's last point lies above its first, and the standard error of that."""
    means, errors = bits(found, strategy), error(found, strategy)
    return float(means[-1] - means[0]), math.hypot(errors[-1], errors[0])


def draw_bits(axes: Axes, found: Results, x: str, *, degree: int | None) -> None:
    """Draw the curves over a column; the published ones at this ``degree``, or at every one of them."""
    from reproduction.drawing import INK, QUIET

    draw_curves(axes, found if degree is None else found.where(degree=degree), x, PUBLISHED)
    ours = found.where(strategy=ADAPTIVE)
    if x == "degree":
        axes.axhline(ours.numbers("bits")[0], color=_COLOURS[ADAPTIVE], linewidth=1.4, label=SHORT[ADAPTIVE])
    else:
        draw_curves(axes, ours, x, (ADAPTIVE,))
    naive = found.where(strategy=NAIVE).number("bits")
    axes.axhline(naive, color=QUIET, linestyle=(0, (1, 1.5)), label="attributes alone, not private")
    central = found.where(strategy=CENTRAL)
    if degree is not None:
        axes.axhline(central.where(degree=degree).number("bits"), color=INK, linewidth=1, label="greedy, not private")
    else:
        axes.plot(central.numbers(x), central.numbers("bits"), color=INK, linewidth=1, label="greedy, not private")
    if "entropy" in found.rows[0]:
        entropy = float(found.numbers("entropy")[0])
        axes.axhline(entropy, color=INK, linestyle=(0, (4, 2)), linewidth=1, label="the true network")
    (partition,) = (one for one in PARTITIONS if one == found.texts("partition")[0])
    if partition != TURNS:
        axes.text(0.5, -0.2, f"records: {PARTITIONS[partition]}", transform=axes.transAxes, ha="center", color=INK)


def draw_curves(axes: Axes, found: Results, x: str, strategies: Sequence[str]) -> None:
    """Draw the curves of some strategies over a column, with their 95 % intervals."""
    from reproduction.drawing import quiet

    for strategy in strategies:
        rows = found.where(strategy=strategy)
        axes.errorbar(
            rows.numbers(x),
            rows.numbers("bits"),
            yerr=_WIDE * error(found, strategy),
            color=_COLOURS[strategy],
            marker=_MARKERS[strategy],
            markersize=4.5,
            capsize=2.5,
            linestyle="-" if strategy in PUBLISHED else (0, (4, 2)),
            label=SHORT[strategy],
        )
    axes.set_ylabel("cross entropy, bits per record")
    quiet(axes)


def draw_excess(axes: Axes, groups: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    """Draw groups of bars, one for every strategy, each a mean and its standard error."""
    from reproduction.drawing import quiet

    for place, strategy in enumerate(PUBLISHED):
        values = np.array([group[strategy] for group in groups.values()])
        axes.bar(
            np.arange(len(groups)) + (place - 1) * 0.27,
            values[:, 0],
            width=0.25,
            yerr=_WIDE * values[:, 1],
            capsize=2.5,
            color=_COLOURS[strategy],
            label=SHORT[strategy],
        )
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_ylabel("bits per attribute above the greedy, not private")
    axes.legend(loc="upper left")
    quiet(axes)
    axes.grid(visible=False, axis="x")
