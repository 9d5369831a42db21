"""How much of its privacy budget the state of Dwork's estimator uses.

Thesis: Figure FIG_dwork_privacy_budget; Theorem thm_DworkDE_priv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from reproduction.budget_pictures import draw_use
from reproduction.budget_use import use_rows
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import percent, span
from reproduction.results import Results, Row

__all__ = ["DWORK_BUDGET"]


def _cells(_quick: bool) -> list[Cell]:
    return [{"estimator": "dwork"}]


def _run(_cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    return use_rows("dwork")


def _private(found: Results) -> Verdict:
    used = found.numbers("state_loss") / found.numbers("epsilon")
    return Verdict(bool(used.max() <= 1), f"the state loses {span(used, '.2f')} times ε for ε up to 1/2")


def _ratios(found: Results) -> Verdict:
    half = found.numbers("epsilon") / 2
    off = max(
        float(np.abs(found.numbers("ratio_zero") - (1 - half)).max()),
        float(np.abs(found.numbers("ratio_one") - (1 + half)).max()),
    )
    return Verdict(off < 1e-12, f"the largest difference is {off:.1g}")


def _unused(found: Results) -> Verdict:
    used = found.numbers("state_loss") / found.numbers("epsilon")
    over = found.numbers("true_loss") / found.numbers("claimed")
    return Verdict(
        bool(used.max() < 1),
        f"the state uses {percent(used.min())} to {percent(used.max())} of ε; "
        f"state and output together use {span(over, '.1f')} times the claimed 2ε",
    )


DWORK_BUDGET: Final = Experiment(
    name="dwork-budget",
    title="Dwork's estimator: what the state uses of ε",
    section='Chapter 4, "On the Use of the Allocated Privacy Budget"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_dwork_privacy_budget",
            "Algorithm DworkDE does ensure that its state satisfies differential privacy.",
            _private,
        ),
        Claim("thm_DworkDE_priv", "R(0) = 1 − ε/2 and R(1) = 1 + ε/2.", _ratios),
        Claim("FIG_dwork_privacy_budget", "Algorithm DworkDE fails to use all the allocated privacy budget.", _unused),
    ),
    pictures=(Picture("FIG_dwork_privacy_budget", "dwork-budget", draw_use),),
)
