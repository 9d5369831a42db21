"""What the published estimators claim to lose, and what they do; and the errors at losses that are true.

Thesis: Theorems thm_DworkDE_priv, thm_OptBernDE_priv, thm_LaplaceDE_priv; see errata 1. The thesis has no such figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from panbayes.stream.accuracy.density_error import mse
from panbayes.stream.accuracy.published_error import Published
from panbayes.stream.guarantee.calibration import calibrate, design_of
from reproduction.budget_use import published_loss
from reproduction.contenders import ESTIMATORS, published, sound
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import span
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TRUE_LOSS"]

_EPSILONS: Final = (0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_SAMPLE: Final = 10_000
_UNIVERSE: Final = 100_000
_DENSITY: Final = 0.5
_REASON: Final = (
    "the output is divided by p_upd − p_init, so that one bit moves it by 1/((p_upd − p_init)m), not by 1/m; and the "
    "look and the output are not independent for a user who comes between them (errata 1)"
)


def _cells(_quick: bool) -> list[Cell]:
    return [{"estimator": estimator} for estimator in ESTIMATORS]


def _run(cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    (estimator,) = (name for name in ESTIMATORS if name == cell["estimator"])
    return [_row(estimator, epsilon) for epsilon in _EPSILONS]


def _row(estimator: Published, epsilon: float) -> Row:
    loss = published_loss(estimator, epsilon)
    theirs = published(estimator, epsilon=epsilon, sample=_SAMPLE, universe=_UNIVERSE)
    ours = sound("optimal-bernoulli", epsilon=epsilon, sample=_SAMPLE, universe=_UNIVERSE)
    return {
        "estimator": estimator,
        "epsilon": epsilon,
        "claimed": 2 * epsilon,
        "true_loss": loss,
        "rmse_published": math.sqrt(theirs.mse(_DENSITY)),
        "rmse_sound_at_claim": math.sqrt(ours.mse(_DENSITY)),
        "rmse_sound_at_loss": _best(loss),
    }


def _best(total: float) -> float:
    """The error of the sound Optimal Bernoulli estimator that really loses so much; 0 where there is no limit."""
    if math.isinf(total):
        return 0.0
    calibration = calibrate(epsilon=Fraction(round(total * 10**6), 10**6), sample=_SAMPLE, universe=_UNIVERSE)
    design = design_of(calibration.law, float(calibration.noise_scale), sample=_SAMPLE, universe=_UNIVERSE)
    return math.sqrt(mse(design, _DENSITY))


def _keeps(estimator: Published, reason: str) -> Callable[[Results], Verdict]:
    def judge(found: Results) -> Verdict:
        rows = found.where(estimator=estimator)
        loss, claimed = rows.numbers("true_loss"), rows.numbers("claimed")
        shown = [index for index, epsilon in enumerate(rows.numbers("epsilon")) if epsilon in (0.1, 0.25, 0.5)]
        told = ", ".join(f"{_loss(loss[i])} for a claim of {claimed[i]:g}" for i in shown)
        return Verdict(bool((loss <= claimed * (1 + 1e-9)).all()), f"true losses: {told}", reason)

    return judge


def _loss(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "no bound"


def _choice(found: Results) -> Verdict:
    rows = {name: found.where(estimator=name) for name in ESTIMATORS}
    best = rows["optimal-bernoulli"]
    among = [
        best.numbers("rmse_published") <= rows[name].numbers("rmse_published") * (1 + 1e-12) for name in ESTIMATORS
    ]
    gain = best.numbers("rmse_published") / best.numbers("rmse_sound_at_claim")
    really = best.numbers("rmse_published") / best.numbers("rmse_sound_at_loss")
    return Verdict(
        bool(np.all(among)),
        f"of the published ones it errs least at every ε; it is not private at 2ε, and the sound estimator that is, "
        f"errs {span(gain, '.2f')} times less (at the loss that it really has, {span(really, '.1f')} times less)",
    )


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import COLOURS, INK, MARKERS, NAMES, SOUND, logarithmic, quiet

    figure.set_size_inches(10.2, 4.3)
    left, right = figure.subplots(1, 2)
    for name in ESTIMATORS:
        rows = found.where(estimator=name)
        loss = rows.numbers("true_loss")
        style = {"color": COLOURS[name], "marker": MARKERS[name], "markersize": 4}
        if np.isfinite(loss).all():
            left.plot(rows.numbers("claimed"), loss, label=NAMES[name], **style)
        else:
            left.plot([], [], label=f"{NAMES[name]}: no bound", **style)
        right.plot(rows.numbers("claimed"), rows.numbers("rmse_published"), label=f"{NAMES[name]}, published", **style)
    rows = found.where(estimator="optimal-bernoulli")
    claimed = rows.numbers("claimed")
    left.plot(claimed, claimed, color=SOUND, linewidth=4, alpha=0.5, label="sound: what it says")
    left.fill_between(claimed, 0, claimed, color=SOUND, alpha=0.08)
    left.annotate("the claim: 2ε", (0.78, 0.78), xytext=(0.74, 0.28), color=INK)
    left.set_title("One look and the output: claimed and true loss")
    left.set_xlabel("claimed, 2ε")
    left.set_ylabel("true loss")
    left.set_ylim(0, 6.6)
    left.set_xlim(0, 1.02)
    left.legend(loc="upper left", ncols=2)
    right.plot(claimed, rows.numbers("rmse_sound_at_claim"), color=SOUND, linewidth=3, label="sound, at a loss of 2ε")
    right.plot(
        claimed,
        rows.numbers("rmse_sound_at_loss"),
        color=SOUND,
        linestyle=(0, (1, 1.5)),
        label="sound, at Optimal Bernoulli's true loss",
    )
    right.set_title("Root mean squared error, 10,000 of 100,000 users")
    right.set_xlabel("claimed, 2ε")
    right.set_ylabel("root mean squared error")
    right.set_yscale("log")
    right.set_ylim(top=3)
    logarithmic(right, ticks=(0.05, 0.1, 0.2, 0.5, 1))
    right.legend(loc="upper right", fontsize=8)
    for axes in (left, right):
        quiet(axes)


TRUE_LOSS: Final = Experiment(
    name="true-loss",
    title="Claimed against true privacy loss of every published estimator",
    section="Chapter 4, the privacy theorems (no figure of the thesis)",
    cells=_cells,
    run=_run,
    claims=(
        Claim("thm_DworkDE_priv", "Algorithm DworkDE satisfies 2ε-pan-privacy.", _keeps("dwork", _REASON)),
        Claim(
            "thm_OptBernDE_priv",
            "Algorithm OptBernDE satisfies 2ε-pan-privacy and utilizes all the allocated privacy budget.",
            _keeps("optimal-bernoulli", _REASON),
        ),
        Claim(
            "thm_LaplaceDE_priv",
            "If (μ_upd − μ_init)/b = ε, then Algorithm LaplaceDE satisfies 2ε-pan-privacy.",
            _keeps(
                "laplace",
                "an entry is unbounded, so no noise on the output covers it: its tails are those of the noise, and the "
                "likelihood ratio grows with the output without end (errata 1)",
            ),
        ),
        Claim(
            "Quantized Laplace Density Estimator",
            "… satisfies 2ε-pan-privacy (LaplaceDE with a binary quantizer).",
            _keeps("quantized-laplace", _REASON),
        ),
        Claim(
            "Discussion",
            "Based on both our theoretical and experimental results, the Optimal Bernoulli Density Estimator is the "
            "algorithm of choice.",
            _choice,
        ),
    ),
    pictures=(Picture("claimed against true loss", "true-loss", _draw),),
)
