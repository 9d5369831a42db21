"""Cross entropy on synthetic data for a varying number of holders, ε = 0.1, degree 1.

Thesis: Figure FIG_exp2; section "Synthetic Data".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reproduction.distributed_pictures import SHORT, draw_bits, rise
from reproduction.distributed_trials import PUBLISHED, strategy_cells
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import SURE
from reproduction.results import Results, Row
from reproduction.synthetic import synthetic_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SYNTHETIC_HOLDERS"]

_EPSILON, _DEGREE = 0.1, 1
_ROBUST: Final = 0.25
"""Bits: a tenth of what lies between the true network and attributes alone."""

_HOLDERS: Final = (1, 2, 3, 5, 10, 20)


def _cells(quick: bool) -> list[Cell]:
    return strategy_cells([(_EPSILON, _DEGREE, holders) for holders in (_HOLDERS[1::2] if quick else _HOLDERS)])


def _run(cell: Cell, repetitions: int, seed: int) -> Sequence[Row]:
    return [synthetic_row(cell, repetitions, seed)]


def _told(found: Results) -> str:
    fewest, most = (f(found.where(strategy=PUBLISHED[0]).numbers("holders")) for f in (min, max))
    rises = {name: rise(found, name) for name in PUBLISHED}
    return f"bits at {most:g} holders less those at {fewest:g}: " + ", ".join(
        f"{SHORT[name]} {change:+.3f} ± {deviation:.3f}" for name, (change, deviation) in rises.items()
    )


def _robust(found: Results) -> Verdict:
    rises = {name: rise(found, name)[0] for name in PUBLISHED}
    voting = PUBLISHED[1]
    return Verdict(
        rises[voting] < _ROBUST and all(rises[voting] < rises[name] for name in PUBLISHED if name != voting),
        f"{_told(found)}; a rise below {_ROBUST} bits would count as none",
        "the more holders there are, the fewer records stand behind every vote, and the more noise is in the tables "
        "that they add up",
    )


def _deteriorate(found: Results) -> Verdict:
    worse = [
        change > SURE * deviation for change, deviation in (rise(found, name) for name in (PUBLISHED[0], PUBLISHED[2]))
    ]
    return Verdict(all(worse), _told(found), "the difference is within chance for at least one of the two")


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import logarithmic

    figure.set_size_inches(7.4, 4.4)
    axes = figure.subplots()
    draw_bits(axes, found, "holders", degree=_DEGREE)
    logarithmic(axes, ticks=found.where(strategy=PUBLISHED[0]).levels("holders"))
    axes.set_xlabel("number of holders M, who share 40,000 records")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.45 * (high - low))
    axes.set_title("ε = 0.1, degree k = 1")
    axes.legend(loc="upper left", ncols=3)


SYNTHETIC_HOLDERS: Final = Experiment(
    name="synthetic-holders",
    title="Synthetic data: cross entropy for a varying number of holders, ε = 0.1, degree 1",
    section='Chapter 3, "Synthetic Data"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_exp2",
            "The key thing to notice is the robustness of Noisy Majority Voting to the number of data holders.",
            _robust,
        ),
        Claim(
            "FIG_exp2",
            "The performance of Sharing the Noisy Sufficient Statistics and Sharing the Noisy Model deteriorates as "
            "the number of data holders increases.",
            _deteriorate,
        ),
    ),
    pictures=(Picture("FIG_exp2", "synthetic-holders", _draw),),
    repetitions=100,
    quick_repetitions=20,
    partitioned=True,
)
