"""Pictures of how an estimator uses its budget: as the thesis draws it, and with the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reproduction.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_use"]


def draw_use(found: Results, figure: Figure, *, beside: Results | None = None) -> None:
    """Draw the ratios R(b) between their limits, and losses claimed, true and sound beside them."""
    from reproduction.drawing import COLOURS, FAILS, INK, NAMES, QUIET, SOUND, quiet

    figure.set_size_inches(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    epsilon = found.numbers("epsilon")
    (estimator,) = found.texts("estimator")
    left.fill_between(epsilon, np.exp(-epsilon), np.exp(epsilon), color="#eef2f5", label="allowed: within $e^{±ε}$")
    left.plot(epsilon, np.exp(epsilon), color=QUIET, linewidth=1)
    left.plot(epsilon, np.exp(-epsilon), color=QUIET, linewidth=1)
    if beside is not None:
        for other in beside.texts("estimator"):
            rows = beside.where(estimator=other)
            for column in ("ratio_one", "ratio_zero"):
                left.plot(
                    rows.numbers("epsilon"),
                    rows.numbers(column),
                    color=COLOURS[other],
                    linewidth=1.1,
                    linestyle=(0, (4, 2)),
                    label=NAMES[other] if column == "ratio_one" else None,
                )
    for column, bit in (("ratio_one", 1), ("ratio_zero", 0)):
        left.plot(epsilon, found.numbers(column), color=COLOURS[estimator], linewidth=2.2)
        left.annotate(
            f"R({bit})",
            (epsilon[-1], found.numbers(column)[-1]),
            xytext=(5, 0),
            textcoords="offset points",
            color=COLOURS[estimator],
            va="center",
        )
    left.plot([], [], color=COLOURS[estimator], linewidth=2.2, label=f"{NAMES[estimator]}, published")
    left.set_title("The state alone, as in the thesis")
    left.set_ylabel("$R(b) = f_{upd}(b) / f_{init}(b)$")
    left.legend(loc="upper left")
    right.plot(epsilon, found.numbers("true_loss"), color=FAILS, linewidth=2.2, label="published: true loss")
    right.plot(epsilon, found.numbers("claimed"), color=INK, linestyle=(0, (4, 2)), label="published: claimed, 2ε")
    right.plot(epsilon, found.numbers("sound_loss"), color=SOUND, linewidth=4, alpha=0.35, label="sound at E = 2ε: all")
    right.plot(epsilon, found.numbers("sound_state"), color=SOUND, linewidth=1.4, label="sound at E = 2ε: state alone")
    right.set_title("One look at the state and the output")
    right.set_ylabel("privacy loss")
    right.set_ylim(bottom=0)
    # Between the true loss and the claim there is room.
    right.legend(loc="center", bbox_to_anchor=(0.5, 0.58))
    for axes in (left, right):
        quiet(axes)
        axes.set_xlim(0, epsilon[-1] * 1.06)
        axes.set_xlabel("ε, allocated to the state and to the output each")
