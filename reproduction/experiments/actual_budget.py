"""What the states of the binary estimators lose against what they are allowed to.

Thesis: Figure FIG_actual_privacy_budget; section "On the Use of the Allocated Privacy Budget".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from panbayes.stream.accuracy.published_error import published_probabilities
from reproduction.budget_use import use_rows
from reproduction.contenders import BINARY
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import percent, span
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ACTUAL_BUDGET"]


def _cells(_quick: bool) -> list[Cell]:
    return [{"estimator": estimator} for estimator in BINARY]


def _run(cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    (estimator,) = (name for name in BINARY if name == cell["estimator"])
    rows = []
    for row in use_rows(estimator):
        epsilon = float(row["epsilon"])
        # With 2(1 − e^−ε) in place of ε, Dwork's state loses ε.
        same_loss, same_epsilon = (_times(epsilon, given) for given in (-2 * math.expm1(-epsilon), epsilon))
        rows.append({**row, "error_at_same_loss": same_loss, "error_at_same_epsilon": same_epsilon})
    return rows


def _times(epsilon: float, given: float) -> float:
    """How many times the variance of the entries of Optimal Bernoulli at ε Dwork's have at the ε ``given``, d = 1/2."""
    pairs = published_probabilities("dwork", given), published_probabilities("optimal-bernoulli", epsilon)
    first, second = ((low * (1 - low) + high * (1 - high)) / 2 / (high - low) ** 2 for low, high in pairs)
    return first / second


def _formula(found: Results) -> Verdict:
    rows = found.where(estimator="dwork")
    half = rows.numbers("epsilon") / 2
    least = np.maximum(np.log1p(half), -np.log1p(-half))
    off = float(np.abs(rows.numbers("state_loss") - least).max())
    return Verdict(
        off < 1e-12,
        f"the loss is −ln(1 − ε/2) to {off:.1g}: {rows.numbers('state_loss')[-1]:.3f} of {2 * half[-1]:g}",
    )


def _reason(found: Results) -> Verdict:
    rows = found.where(estimator="optimal-bernoulli")
    same_loss, same_epsilon = rows.numbers("error_at_same_loss"), rows.numbers("error_at_same_epsilon")
    share = rows.numbers("state_loss") / rows.numbers("epsilon")
    explained = 1 - np.log(same_loss) / np.log(same_epsilon)
    return Verdict(
        bool(share.min() > 1 - 1e-9 and explained.min() > 0.5),
        f"its state uses {percent(float(share.min()))} of ε; Dwork's error from the entries is "
        f"{span(same_epsilon, '.2f')} times as large at the same ε, but {span(same_loss, '.2f')} times where both "
        "states lose the same",
    )


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import COLOURS, NAMES, QUIET, SOUND, quiet

    figure.set_size_inches(5.4, 4.4)
    axes = figure.subplots()
    epsilon = found.where(estimator="dwork").numbers("epsilon")
    axes.plot(epsilon, epsilon, color=QUIET, linewidth=6, alpha=0.35, label="all that is allocated")
    for name in ("optimal-bernoulli", "quantized-laplace", "dwork"):
        rows = found.where(estimator=name)
        axes.plot(epsilon, rows.numbers("state_loss"), color=COLOURS[name], label=f"{NAMES[name]}: state")
    rows = found.where(estimator="optimal-bernoulli")
    axes.plot(
        rows.numbers("epsilon"),
        rows.numbers("sound_loss") / 2,
        color=SOUND,
        linestyle=(0, (1, 1.5)),
        linewidth=2,
        label="sound at E = 2ε: half of all",
    )
    quiet(axes)
    axes.set_xlim(0, epsilon[-1])
    axes.set_ylim(0, epsilon[-1])
    axes.set_xlabel("ε, allocated to the state")
    axes.set_ylabel("what the state loses")
    axes.set_title("Allocated and actual privacy budget")
    axes.legend(loc="upper left")


ACTUAL_BUDGET: Final = Experiment(
    name="actual-budget",
    title="Dwork's estimator: allocated against actual privacy budget",
    section='Chapter 4, "On the Use of the Allocated Privacy Budget"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_actual_privacy_budget",
            "The actual privacy budget is ε' ≥ max{ln(1 + ε/2), −ln(1 − ε/2)}.",
            _formula,
        ),
        Claim(
            "OptBernDE",
            "The key reason behind our algorithm's superiority is that it manages to use all the allocated privacy "
            "budget.",
            _reason,
        ),
    ),
    pictures=(Picture("FIG_actual_privacy_budget", "actual-budget", _draw),),
)
