"""Proposed sample sizes: the thesis's bounds, Roth's, what the published estimators need, and what sound ones do.

Thesis: Figures FIG_sample_size_bound_dwork, FIG_sample_size_bound; section subSEC_sample_size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.stream.accuracy.density_bounds import Bounded, sample_size_bound
from panbayes.stream.planning import plan_sample
from reproduction.contenders import published
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import span
from reproduction.results import Results, Row, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SAMPLE_SIZE", "needed_sample"]

_BOUNDED: Final[tuple[Bounded, ...]] = ("dwork", "optimal-bernoulli", "laplace")
_EPSILONS: Final = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
_ALPHAS: Final = (0.05, 0.1)
_BETAS: Final = (0.1, 0.01)


def _cells(quick: bool) -> list[Cell]:
    return [
        {"alpha": alpha, "beta": beta, "epsilon": epsilon}
        for alpha in (_ALPHAS[1:] if quick else _ALPHAS)
        for beta in _BETAS
        for epsilon in _EPSILONS
    ]


def _run(cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    alpha, beta, epsilon = (float(cell[name]) for name in ("alpha", "beta", "epsilon"))
    roth = 128 / (epsilon * alpha) ** 2 * math.log(1 / beta)
    sound = plan_sample(epsilon=2 * epsilon, alpha=alpha, beta=beta).sample
    return [
        {
            **cell,
            "estimator": estimator,
            "proposed": sample_size_bound(estimator, epsilon=epsilon, alpha=alpha, beta=beta).sample,
            "roth": roth,
            "needed": needed_sample(estimator, epsilon=epsilon, alpha=alpha, beta=beta),
            "sound": sound,
        }
        for estimator in _BOUNDED
    ]


def needed_sample(estimator: Bounded, *, epsilon: float, alpha: float, beta: float) -> int:
    """The least sample of a published estimator that errs by α or more with probability at most β, by the normal law.

    The universe is infinite; the density is the worst of 0, 1/2 and 1.
    """
    allowed = (alpha / float(special.ndtri(1 - beta / 2))) ** 2

    def error(sample: int) -> float:
        one = published(estimator, epsilon=epsilon, sample=sample, universe=None)
        return max(one.mse(density) for density in (0.0, 0.5, 1.0))

    low, high = 0, 1
    while error(high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if error(middle) <= allowed else (middle, high)
    return high


def _ratio(found: Results, above: str, below: str, **chosen: Value) -> NDArray[np.float64]:
    rows = found.where(**chosen)
    return rows.numbers(above) / rows.numbers(below)


def _than_roth(found: Results) -> Verdict:
    ratio = _ratio(found, "roth", "proposed", estimator="dwork")
    rows = found.where(estimator="dwork")
    by_beta = "; ".join(
        f"β = {beta:g}: {span(_ratio(rows, 'roth', 'proposed', beta=beta), '.1f')}" for beta in rows.levels("beta")
    )
    return Verdict(
        bool(ratio.min() > 10),
        f"Roth's sizes are so many times the proposed ones: {by_beta}",
        "Roth's 128 stands against the 8 of m₂, which makes 16·ln(1/β)/ln(2/β) at most (12.3 at β = 0.1, 13.9 at "
        "0.01); sampling and output take the more of it the larger ε is; the text does not say which β its figure has",
    )


def _not_tight(found: Results) -> Verdict:
    ratio = {name: _ratio(found, "proposed", "needed", estimator=name) for name in ("dwork", "optimal-bernoulli")}
    told = ", ".join(f"{name}: {span(values, '.1f')}" for name, values in ratio.items())
    sound = _ratio(found, "proposed", "sound", estimator="optimal-bernoulli")
    return Verdict(
        all(bool((values > 1).all()) for values in ratio.values()),
        f"proposed sizes are so many times those that suffice: {told}; and {span(sound, '.1f')} times those of the "
        "sound estimator at the same total 2ε",
    )


def _not_improved(found: Results) -> Verdict:
    slopes = []
    for name in ("dwork", "optimal-bernoulli"):
        for alpha in found.levels("alpha"):
            for beta in found.levels("beta"):
                rows = found.where(estimator=name, alpha=alpha, beta=beta)
                logs = np.log(rows.numbers("epsilon")), np.log(rows.numbers("proposed"))
                slopes.append(float((logs[1][1] - logs[1][0]) / (logs[0][1] - logs[0][0])))
    ratio = found.where(estimator="dwork").numbers("proposed") / found.where(estimator="optimal-bernoulli").numbers(
        "proposed"
    )
    return Verdict(
        bool(np.abs(np.array(slopes) + 2).max() < 0.15),
        f"both grow like ε to the power of {span(np.array(slopes), '.2f')}; Dwork's sizes are {span(ratio, '.2f')} "
        "times those of Optimal Bernoulli",
    )


def _outperforms(found: Results) -> Verdict:
    ratio = found.where(estimator="dwork").numbers("proposed") / found.where(estimator="optimal-bernoulli").numbers(
        "proposed"
    )
    return Verdict(bool(ratio.min() > 1.5), f"Dwork's proposed sizes are {span(ratio, '.2f')} times as large")


def _same(found: Results) -> Verdict:
    first, second = (found.where(estimator=name).numbers("proposed") for name in ("laplace", "dwork"))
    return Verdict(
        bool((first == second).all()), f"they are equal in {int((first == second).sum())} of {first.size} cells"
    )


def _fewer(found: Results) -> Verdict:
    needed = found.where(estimator="laplace").numbers("needed") / found.where(estimator="dwork").numbers("needed")
    best = found.where(estimator="laplace").numbers("needed") / found.where(estimator="optimal-bernoulli").numbers(
        "needed"
    )
    return Verdict(
        bool(needed.max() < 1),
        f"it needs {span(needed, '.2f')} times the users of Dwork's estimator (by the bounds just as many), and "
        f"{span(best, '.2f')} times those of Optimal Bernoulli, which keeps one bit a user",
    )


def _draw(estimator: Bounded, found: Results, figure: Figure) -> None:
    from reproduction.drawing import COLOURS, NAMES, QUIET, SOUND, logarithmic, quiet

    alphas, betas = found.levels("alpha"), found.levels("beta")
    figure.set_size_inches(1.2 + 4.2 * len(betas), 0.7 + 3.1 * len(alphas))
    panels = figure.subplots(len(alphas), len(betas), squeeze=False, sharex=True, sharey=True)
    for row, alpha in zip(panels, alphas, strict=True):
        for axes, beta in zip(row, betas, strict=True):
            rows = found.where(estimator=estimator, alpha=alpha, beta=beta)
            x = rows.numbers("epsilon")
            for column, label, colour, style in (
                ("roth", "Roth: 128/(εα)²·ln(1/β)", QUIET, (0, (4, 2))),
                ("proposed", f"{NAMES[estimator]}: proposed m*", COLOURS[estimator], "-"),
                ("needed", f"{NAMES[estimator]}: enough (not private)", COLOURS[estimator], (0, (1, 1.5))),
                ("sound", "sound at E = 2ε: enough", SOUND, "-"),
            ):
                axes.plot(x, rows.numbers(column), color=colour, linestyle=style, marker="o", markersize=3, label=label)
            axes.set_yscale("log")
            logarithmic(axes, ticks=_EPSILONS)
            quiet(axes)
            axes.set_title(f"error below {alpha:g} with probability {1 - beta:g}")
    low, high = panels[0][0].get_ylim()
    panels[0][0].set_ylim(low, high * 8)
    panels[0][-1].legend(loc="upper right")
    for axes in panels[-1]:
        axes.set_xlabel("ε (the published claim is 2ε)")
    for row in panels:
        row[0].set_ylabel("sample size m")


SAMPLE_SIZE: Final = Experiment(
    name="sample-size",
    title="Proposed sample sizes of Dwork's, Optimal Bernoulli and Laplace's estimator",
    section='Chapter 4, "Picking the Optimal Sample Size"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_sample_size_bound_dwork",
            "The sample sizes we propose are smaller by more than an order of magnitude, compared to the sample sizes "
            "proposed by Roth.",
            _than_roth,
        ),
        Claim(
            "FIG_sample_size_bound_dwork",
            "The bound itself is not tight; the same accuracy can be achieved with even smaller samples.",
            _not_tight,
        ),
        Claim(
            "thm_OptBernDE_acc2",
            "Asymptotically, the lower bound on the sample size to achieve the desired approximation accuracy is not "
            "improved.",
            _not_improved,
        ),
        Claim(
            "FIG_sample_size_bound",
            "A novel algorithm that significantly outperforms the original algorithm (theoretically).",
            _outperforms,
        ),
        Claim(
            "thm_LaplaceDE_acc2",
            "We expect the solution to the optimization problem (of LaplaceDE) to be the same as well.",
            _same,
        ),
        Claim(
            "LaplaceDE",
            "To achieve the same levels of accuracy, we will need to maintain a sample of less users.",
            _fewer,
        ),
    ),
    pictures=(
        Picture("FIG_sample_size_bound_dwork", "sample-size-dwork", partial(_draw, "dwork")),
        Picture("FIG_sample_size_bound", "sample-size-bernoulli", partial(_draw, "optimal-bernoulli")),
    ),
)
