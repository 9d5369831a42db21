"""Cross entropy on Diabetes for a varying number of holders, ε = 0.1, degree 1.

Thesis: Figure FIG_exp4; section "Real-World Data".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reproduction.diabetes_trials import ALL, diabetes_ready, diabetes_row
from reproduction.distributed_pictures import SHORT, bits, draw_bits, draw_curves, error, rise
from reproduction.distributed_trials import CENTRAL, LOCAL, PUBLISHED, SUMMED, strategy_cells
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import SURE
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DIABETES_HOLDERS"]

_EPSILON, _DEGREE = 0.1, 1
_NONE: Final = 0.1
"""A change by less than this part of what a strategy lies above the network without privacy counts as none."""

_HOLDERS: Final = (1, 2, 3, 5, 10, 20)


def _cells(quick: bool) -> list[Cell]:
    numbers = _HOLDERS[1::2] if quick else _HOLDERS
    cells = strategy_cells([(_EPSILON, _DEGREE, holders) for holders in numbers])
    cells += [
        {"strategy": name, "epsilon": _EPSILON, "degree": _DEGREE, "holders": holders}
        for name in (SUMMED, LOCAL)
        for holders in numbers
    ]
    return [{**cell, "attributes": ALL} for cell in cells]


def _run(cell: Cell, repetitions: int, seed: int) -> Sequence[Row]:
    return [diabetes_row(cell, repetitions, seed)]


def _told(found: Results, *strategies: str) -> str:
    numbers = found.where(strategy=PUBLISHED[0]).numbers("holders")
    curves = (f"{SHORT[name]} " + ", ".join(f"{one:.1f}" for one in bits(found, name)) for name in strategies)
    return "bits at M = " + ", ".join(f"{one:g}" for one in numbers) + ": " + "; ".join(curves)


def _part(found: Results, strategy: str) -> float:
    """The rise of a curve, as a part of what it lies above the network without privacy with the fewest holders."""
    return rise(found, strategy)[0] / float(bits(found, strategy)[0] - bits(found, CENTRAL)[0])


def _robust(found: Results) -> Verdict:
    voting = PUBLISHED[1]
    return Verdict(
        _part(found, voting) < _NONE and rise(found, voting)[0] < rise(found, PUBLISHED[2])[0],
        f"{_told(found, *PUBLISHED)}; from the fewest to the most holders noisy mv changes by "
        f"{100 * _part(found, voting):+.0f} % of what it lies above the network without privacy (less than 10 % would "
        "count as none)",
        "the more holders there are, the fewer records stand behind every vote, and the more noise is in the tables "
        "that they add up",
    )


def _winner(found: Results) -> Verdict:
    voting = PUBLISHED[1]
    clear, best = True, []
    numbers = found.where(strategy=voting).numbers("holders")
    for index, holders in enumerate(numbers):
        at = {name: float(bits(found, name)[index]) for name in PUBLISHED}
        best.append(f"{SHORT[min(at, key=lambda name: at[name])]} at {holders:g}")
        for other in (PUBLISHED[0], PUBLISHED[2]):
            spread = math.hypot(error(found, voting)[index], error(found, other)[index])
            clear = clear and at[other] - at[voting] > SURE * spread
    return Verdict(
        clear,
        f"{_told(found, *PUBLISHED)}; the best of the three is " + ", ".join(best),
        "with few holders sharing the model is as good or better: what is learned from a pool of records that several "
        "models drew is smoother than tables to which every holder has added noise (likely, but not tested)",
    )


def _worsens(found: Results) -> Verdict:
    change, spread = rise(found, PUBLISHED[2])
    return Verdict(
        change > SURE * spread,
        f"{_told(found, PUBLISHED[2])}: {change:+.1f} ± {spread:.1f} from the fewest to the most holders",
        "it does not rise beyond chance",
    )


def _deteriorates(found: Results) -> Verdict:
    change, spread = rise(found, LOCAL)
    return Verdict(
        change > SURE * spread,
        f"one holder's own model: {_told(found, LOCAL)}: {change:+.1f} ± {spread:.1f}",
        "the model of one holder does not get worse beyond chance",
    )


def _improves(found: Results) -> Verdict:
    change, spread = rise(found, PUBLISHED[0])
    return Verdict(
        change < -SURE * spread,
        f"{_told(found, PUBLISHED[0])}: {change:+.1f} ± {spread:.1f} from the fewest to the most holders (on synthetic "
        "data it rises)",
        "it does not fall beyond chance",
    )


def _critical(found: Results) -> Verdict:
    part = _part(found, PUBLISHED[0])
    return Verdict(
        abs(part) < _NONE,
        f"{_told(found, PUBLISHED[0])}: a change by {100 * part:+.0f} % of what it lies above the network without "
        "privacy (less than 10 % would count as none)",
        "the number of holders changes it much, for the better",
    )


def _cancels(found: Results) -> Verdict:
    change, spread = rise(found, SUMMED)
    return Verdict(
        change < -SURE * spread,
        f"{_told(found, PUBLISHED[0], SUMMED)}: where noise is added up as it is, zero-mean, and cut after the sum, "
        f"the change is {change:+.1f} ± {spread:.1f}",
        "a sum of M noise terms has M times the variance of one; what helps is that every holder cuts its negative "
        "counts at 0, which leaves a positive amount in every cell, the larger the more holders cut: it smooths the "
        "tables towards uniform ones",
    )


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import logarithmic, plain_scale

    figure.set_size_inches(10.4, 4.5)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    draw_bits(left, found, "holders", degree=_DEGREE)
    left.set_title("ε = 0.1, degree k = 1")
    left.legend(loc="upper right", ncols=2)
    draw_curves(right, found, "holders", (PUBLISHED[0], SUMMED, LOCAL))
    right.set_title("What lies behind it")
    right.legend(loc="upper left")
    for axes in (left, right):
        logarithmic(axes, ticks=found.where(strategy=PUBLISHED[0]).levels("holders"))
        axes.set_xlabel("number of holders M, who share 57,214 records")
        plain_scale(axes, ticks=(45, 60, 80, 100, 150, 200, 300, 500), room=1.6)


DIABETES_HOLDERS: Final = Experiment(
    name="diabetes-holders",
    title="Diabetes: cross entropy for a varying number of holders, ε = 0.1, degree 1",
    section='Chapter 3, "Real-World Data"',
    cells=_cells,
    run=_run,
    claims=(
        Claim("FIG_exp4", "Confirms the robustness of noisy mv to the number of data holders …", _robust),
        Claim("FIG_exp4", "… and validates that, for complex datasets, noisy mv is the clear winner.", _winner),
        Claim(
            "FIG_exp4", "The performance of noisy model significantly worsens as number of holders increases.", _worsens
        ),
        Claim(
            "FIG_exp4",
            "Each holder possesses a smaller dataset, and therefore the quality of the local models deteriorates.",
            _deteriorates,
        ),
        Claim(
            "FIG_exp4",
            "The behavior of noisy ss differs from that with synthetic data: its performance improves as the number of "
            "data holders increases.",
            _improves,
        ),
        Claim(
            "FIG_exp4",
            "When the data dimension and the domain sizes are both large, the impact of the number of data holders is "
            "not critical.",
            _critical,
        ),
        Claim(
            "FIG_exp4",
            "A possible explanation is that more zero-mean noise terms are added to the frequency distributions, and "
            "hence the noise cancels out.",
            _cancels,
        ),
    ),
    pictures=(Picture("FIG_exp4", "diabetes-holders", _draw),),
    repetitions=20,
    quick_repetitions=5,
    partitioned=True,
    ready=diabetes_ready,
)
