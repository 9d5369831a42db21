"""Cross entropy on synthetic data for a varying degree of the network, ε = 0.1, three holders.

Thesis: Figure FIG_exp5; section "Synthetic Data".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reproduction.distributed_pictures import SHORT, bits, draw_bits, error
from reproduction.distributed_trials import PUBLISHED, strategy_cells
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import SURE
from reproduction.results import Results, Row
from reproduction.synthetic import synthetic_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SYNTHETIC_DEGREE"]

_EPSILON, _HOLDERS = 0.1, 3
_DEGREES: Final = (1, 2, 3, 4)


def _cells(quick: bool) -> list[Cell]:
    return strategy_cells([(_EPSILON, degree, _HOLDERS) for degree in (_DEGREES[:3] if quick else _DEGREES)])


def _run(cell: Cell, repetitions: int, seed: int) -> Sequence[Row]:
    return [synthetic_row(cell, repetitions, seed)]


def _curves(found: Results, *strategies: str) -> str:
    return "bits by degree: " + "; ".join(
        f"{SHORT[name]} " + ", ".join(f"{value:.2f}" for value in bits(found, name)) for name in strategies
    )


def _worsens(found: Results) -> Verdict:
    means, errors = bits(found, PUBLISHED[0]), error(found, PUBLISHED[0])
    steps = [(means[i + 1] - means[i]) / math.hypot(errors[i], errors[i + 1]) for i in range(means.size - 1)]
    return Verdict(
        bool(min(steps) > SURE),
        f"{_curves(found, PUBLISHED[0])}; the least step is {min(steps):.1f} standard errors",
        "seven attributes have 21, 35, 35 and 21 tables for k = 1 to 4, which share ε: at k = 4 they are larger "
        "than at k = 3, but fewer",
    )


def _improve(found: Results) -> Verdict:
    held = True
    for name in PUBLISHED[1:]:
        means, errors = bits(found, name), error(found, name)
        held = held and means[-1] - means[0] < SURE * math.hypot(errors[0], errors[-1])
        held = held and all(
            means[i + 1] - means[i] < SURE * math.hypot(errors[i], errors[i + 1]) for i in range(means.size - 1)
        )
    return Verdict(
        bool(held),
        _curves(found, *PUBLISHED[1:]),
        "beyond the degree of the true network, 2, larger tables add noise and no dependence; at the largest degree "
        "they are still better than at k = 1",
    )


def _draw(found: Results, figure: Figure) -> None:
    figure.set_size_inches(7.4, 4.4)
    axes = figure.subplots()
    draw_bits(axes, found, "degree", degree=None)
    axes.set_xticks([int(k) for k in found.where(strategy=PUBLISHED[0]).levels("degree")])
    axes.set_xlabel("degree k of the network (the true one has 2)")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.45 * (high - low))
    axes.set_title("ε = 0.1, three holders")
    axes.legend(loc="upper left", ncols=3)


SYNTHETIC_DEGREE: Final = Experiment(
    name="synthetic-degree",
    title="Synthetic data: cross entropy for a varying degree, ε = 0.1, three holders",
    section='Chapter 3, "Synthetic Data"',
    cells=_cells,
    run=_run,
    claims=(
        Claim("FIG_exp5", "As the Bayesian Network degree increases, the performance of noisy ss worsens.", _worsens),
        Claim("FIG_exp5", "In contrast, noisy mv and noisy model slightly improve as the degree increases.", _improve),
    ),
    pictures=(Picture("FIG_exp5", "synthetic-degree", _draw),),
    repetitions=100,
    quick_repetitions=20,
    partitioned=True,
)
