"""How much of its privacy budget the state of the Optimal Bernoulli estimator uses, and what its centre does to it.

Thesis: Figure FIG_opt_bern_privacy_budget; Theorem thm_OptBernDE_priv; see errata 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from reproduction.budget_pictures import draw_use
from reproduction.budget_use import ALLOCATED, state_loss, use_rows
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import span
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BERNOULLI_BUDGET"]

_MIDDLE: Final = 0.5
_CENTRES: Final = (0.1, 0.2, 0.3, 0.4, _MIDDLE, 0.6, 0.7, 0.8)
"""The thesis permits (0, 4/5]."""


def _cells(_quick: bool) -> list[Cell]:
    return [{"estimator": "optimal-bernoulli"}]


def _run(_cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    """Return what every centre makes of the two laws; the columns about sound and true losses are those of c = 1/2."""
    used = use_rows("optimal-bernoulli")
    return [row for centre in _CENTRES for row in _centred(used, centre)]


def _centred(used: Sequence[Row], centre: float) -> list[Row]:
    """Replace the two laws by Bernoulli(c(1 ± tanh(ε/2))), c = ``centre``."""
    rows: list[Row] = []
    for row, epsilon in zip(used, ALLOCATED, strict=True):
        shift = math.tanh(epsilon / 2)
        init, update = centre * (1 - shift), centre * (1 + shift)
        variance = (init * (1 - init) + update * (1 - update)) / 2 / (update - init) ** 2
        changed = {
            "init": init,
            "update": update,
            "ratio_zero": (1 - update) / (1 - init),
            "ratio_one": update / init,
            "state_loss": state_loss(init, update),
        }
        rows.append({"centre": centre, "entry_variance": variance, **row, **changed})
    return rows


def _all_used(found: Results) -> Verdict:
    rows = found.where(centre=_MIDDLE)
    used = rows.numbers("state_loss") / rows.numbers("epsilon")
    return Verdict(
        bool(np.abs(used - 1).max() < 1e-9), f"at c = 1/2 both bits lose {used.min():.6f} to {used.max():.6f} times ε"
    )


def _any_centre(found: Results) -> Verdict:
    used = found.numbers("state_loss") / found.numbers("epsilon")
    centre = found.numbers("centre")
    worst = int(np.argmax(used))
    within = used[centre <= _MIDDLE]
    return Verdict(
        bool(used.max() <= 1 + 1e-9),
        f"up to c = 1/2 the state loses {span(within, '.2f')} times ε; at c = {centre[worst]:g}, "
        f"ε = {found.numbers('epsilon')[worst]:g} it loses {found.numbers('state_loss')[worst]:.2f}",
        "the text checks the bit 1 only; the bit 0 needs (1 − c + x)/(1 − c − x) ≤ e^ε, so c ≤ 1/2 (errata 3)",
    )


def _no_effect(found: Results) -> Verdict:
    last = found.where(epsilon=ALLOCATED[-1])
    ratio = last.numbers("entry_variance") / last.where(centre=_MIDDLE).number("entry_variance")
    centre = last.numbers("centre")
    allowed = ratio[centre <= _MIDDLE]
    told = ", ".join(f"{c:g}: {r:.2f}" for c, r in zip(centre, ratio, strict=True) if c <= _MIDDLE)
    return Verdict(
        bool(allowed.max() < 1.05),
        f"variance of the entries at ε = 1/2, as a multiple of that at c = 1/2, by c: {told}",
        "the difference of the two probabilities is 2c·tanh(ε/2): a smaller centre is a smaller signal (errata 3)",
    )


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import FAILS

    columns = [name for name in found.rows[0] if name not in ("centre", "entry_variance")]
    middle = found.where(centre=_MIDDLE)
    draw_use(Results(tuple({name: row[name] for name in columns} for row in middle.rows)), figure)
    left = figure.axes[0]
    far = found.where(centre=_CENTRES[-1])
    left.plot(far.numbers("epsilon"), far.numbers("ratio_zero"), color=FAILS, label="R(0) at c = 4/5, also permitted")
    left.legend(loc="upper left")


BERNOULLI_BUDGET: Final = Experiment(
    name="bernoulli-budget",
    title="Optimal Bernoulli: what the state uses of ε, for every permitted centre",
    section='Chapter 4, "Optimally Tuning the Bernoulli Distributions"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_opt_bern_privacy_budget",
            "The proposed Bernoulli distributions indeed use all the allocated privacy budget.",
            _all_used,
        ),
        Claim(
            "FIG_opt_bern_privacy_budget",
            "We can pick any c ∈ (0, 4/5], regardless of the specific value of ε ∈ (0, 1/2].",
            _any_centre,
        ),
        Claim(
            "FIG_opt_bern_privacy_budget",
            "The choice of c (among the permitted values) does not seem to affect the algorithm.",
            _no_effect,
        ),
    ),
    pictures=(Picture("FIG_opt_bern_privacy_budget", "bernoulli-budget", _draw),),
)
