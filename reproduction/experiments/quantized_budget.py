"""The binary quantized Laplace estimator: its quantizer, and how much of its privacy budget its state uses.

Thesis: Figure FIG_qLap_privacy_budget; section "Quantized Laplace Density Estimator".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from reproduction.budget_pictures import draw_use
from reproduction.budget_use import use_rows
from reproduction.contenders import BINARY
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import percent
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["QUANTIZED_BUDGET"]

_NAME: Final = "quantized-laplace"
_STEPS: Final = 50_000


def _cells(_quick: bool) -> list[Cell]:
    return [{"estimator": estimator} for estimator in BINARY]


def _run(cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    (estimator,) = (name for name in BINARY if name == cell["estimator"])
    return [{**row, **_quantizer(float(row["epsilon"]))} for row in use_rows(estimator)]


def _quantizer(epsilon: float) -> dict[str, float]:
    """Integrate the two Laplace laws of means 0 and 1, scale 1/ε, on either side of the boundary 1/2."""
    edges = np.linspace(0.5 - 45 / epsilon, 0.5, _STEPS + 1)  # below the boundary; above it is the mirror image
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    absent, present = (epsilon / 2 * np.exp(-epsilon * np.abs(middles - mean)) * width for mean in (0.0, 1.0))
    mixed = (absent + present) / 2
    return {
        "measured_init": 1 - float(absent.sum()),
        "measured_update": 1 - float(present.sum()),
        "measured_point": float(mixed @ middles) / float(mixed.sum()),
    }


def _laws(found: Results) -> Verdict:
    rows = found.where(estimator=_NAME)
    off = max(float(np.abs(rows.numbers(f"measured_{one}") - rows.numbers(one)).max()) for one in ("init", "update"))
    return Verdict(off < 1e-6, f"integrals of the Laplace laws differ from the two probabilities by {off:.1g} at most")


def _points(found: Results) -> Verdict:
    rows = found.where(estimator=_NAME)
    epsilon = rows.numbers("epsilon")
    told = -np.exp(-epsilon / 2) / epsilon
    off = float(np.abs(rows.numbers("measured_point") / told - 1).max())
    return Verdict(
        off < 1e-4,
        f"the mean of the mixture below the boundary differs from a₁ by {off:.1g} of it at most (the integrand should "
        "read 2x·f(x), not x·f(x)/2; the result is right)",
    )


def _less(found: Results) -> Verdict:
    used = {name: float(_used(found, name)[-1]) for name in BINARY}
    order = all(
        (_used(found, "dwork") < _used(found, _NAME)).tolist()
        + (_used(found, _NAME) < _used(found, "optimal-bernoulli")).tolist()
    )
    told = ", ".join(f"{name} {percent(share)}" for name, share in used.items())
    return Verdict(
        order and math.isclose(used["optimal-bernoulli"], 1, rel_tol=1e-9), f"of ε = 1/2 the state uses: {told}"
    )


def _used(found: Results, estimator: str) -> np.ndarray:
    rows = found.where(estimator=estimator)
    return rows.numbers("state_loss") / rows.numbers("epsilon")


def _draw(found: Results, figure: Figure) -> None:
    others = Results(tuple(row for row in found.rows if row["estimator"] != _NAME))
    draw_use(found.where(estimator=_NAME), figure, beside=others)


QUANTIZED_BUDGET: Final = Experiment(
    name="quantized-budget",
    title="Quantized Laplace: the binary quantizer, and what its state uses of ε",
    section='Chapter 4, "Quantized Laplace Density Estimator"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_qLap_privacy_budget",
            "The quantized Laplace Density Estimator can be viewed as a Bernoulli Density Estimator, with "
            "f_init = Bernoulli(e^(−ε/2)/2) and f_upd = Bernoulli(1 − e^(−ε/2)/2).",
            _laws,
        ),
        Claim(
            "FIG_qLap_privacy_budget",
            "The representation points are a₁ = μ_init − (μ_upd − μ_init)/ε·e^(−ε/2).",
            _points,
        ),
        Claim(
            "FIG_qLap_privacy_budget",
            "We examine the use of the allocated privacy budget and compare it with that of Algorithms DworkDE and "
            "OptBernDE (the figure: it lies between them).",
            _less,
        ),
    ),
    pictures=(Picture("FIG_qLap_privacy_budget", "quantized-budget", _draw),),
)
