"""The mean squared error of every estimator on uniform and Zipf streams, with theory beside experiment.

Thesis: Figures FIG_MSE_uniform, FIG_MSE_zipf; Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.accuracy.published_error import Published, published_mse, published_mse_bound
from reproduction.contenders import BINARY, ESTIMATORS, PROPOSED, contenders
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import SURE, as_predicted, centred, limits, span
from reproduction.results import Results, Row
from reproduction.stream_trials import EPSILONS, STREAMS, UNIVERSE, errors_of, expected_density

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STREAM_ERROR"]

_FRACTIONS: Final = (0.01, 0.1, 1.0)
"""Sample sizes are fractions of the universe; the thesis does not say which."""

_THEORY_DENSITIES: Final = {"uniform": 0.63, "zipf": 0.25}


def _cells(quick: bool) -> list[Cell]:
    return [
        {"stream": stream, "sample": round(fraction * UNIVERSE), "epsilon": epsilon}
        for stream in STREAMS
        for fraction in _FRACTIONS
        for epsilon in (EPSILONS[1::2] if quick else EPSILONS)
    ]


def _run(cell: Cell, repetitions: int, seed: int) -> Sequence[Row]:
    stream, sample, epsilon = str(cell["stream"]), int(cell["sample"]), float(cell["epsilon"])
    compared = contenders(epsilon=epsilon, sample=sample, universe=UNIVERSE)
    density = expected_density(stream)
    return [
        {
            **cell,
            "kind": one.kind,
            "estimator": one.estimator,
            "repetitions": repetitions,
            "bias": float(errors.mean()),
            "mse": float(np.mean(errors**2)),
            "theory": one.mse(density),
            "thesis": _thesis(one.estimator, epsilon, sample, density) if one.kind == "published" else 0.0,
            "bound": _bound(one.estimator, epsilon, sample) if one.kind == "published" else 0.0,
            "density": density,
        }
        for one, errors in errors_of(compared, stream=stream, repetitions=repetitions, seed=seed)
    ]


def _thesis(estimator: Published, epsilon: float, sample: int, density: float) -> float:
    return published_mse(estimator, epsilon=epsilon, sample=sample, density=density)


def _bound(estimator: Published, epsilon: float, sample: int) -> float:
    return published_mse_bound(estimator, epsilon=epsilon, sample=sample)


def _densities(found: Results) -> Verdict:
    told = {stream: found.where(stream=stream).numbers("density")[0] for stream in STREAMS}
    return Verdict(
        all(abs(told[stream] - _THEORY_DENSITIES[stream]) < 0.01 for stream in STREAMS),
        ", ".join(f"{stream} {density:.3f}" for stream, density in told.items()),
    )


def _coincide(found: Results) -> Verdict:
    rows = found.where(kind="published")
    measured, repeated = rows.numbers("mse"), rows.numbers("repetitions")
    ratio = {name: _mean_ratio(rows.where(estimator=name), "mse", "thesis") for name in ESTIMATORS}
    agrees = as_predicted(measured, rows.numbers("thesis"), repeated)
    exact = as_predicted(measured, rows.numbers("theory"), repeated)
    told = ", ".join(f"{name} {value:.3f}" for name, value in ratio.items())
    chance = SURE * math.sqrt(2 * len(ratio) / float(repeated.sum()))
    return Verdict(
        agrees and max(abs(value - 1) for value in ratio.values()) < max(0.1, chance),
        f"measured over the thesis's formula, on average: {told}; all {measured.size} cells agree with it: "
        f"{_yes(agrees)}, with the exact formula (sampling without replacement): {_yes(exact)}",
    )


def _sound_coincide(found: Results) -> tuple[bool, float]:
    rows = found.where(kind="sound")
    agrees = as_predicted(rows.numbers("mse"), rows.numbers("theory"), rows.numbers("repetitions"))
    return agrees, _mean_ratio(rows, "mse", "theory")


def _yes(said: bool) -> str:
    return "yes" if said else "no"


def _mean_ratio(rows: Results, above: str, below: str) -> float:
    return float(np.mean(rows.numbers(above) / rows.numbers(below)))


def _unbiased(found: Results) -> Verdict:
    rows = found.where(kind="published")
    errors = rows.numbers("bias") / np.sqrt(rows.numbers("theory") / rows.numbers("repetitions"))
    return Verdict(
        centred(rows.numbers("bias"), rows.numbers("theory"), rows.numbers("repetitions")),
        f"the largest mean error of {errors.size} cells is {np.abs(errors).max():.1f} standard errors, "
        f"their mean square {np.mean(errors**2):.2f} (1 expected)",
    )


def _bounded(found: Results) -> Verdict:
    rows = Results(tuple(row for row in found.rows if row["kind"] == "published" and row["estimator"] in BINARY))
    low, _ = limits(rows.numbers("mse"), rows.numbers("repetitions"))
    theory = rows.numbers("theory") / rows.numbers("bound")
    above = int((low > rows.numbers("bound")).sum())
    return Verdict(
        bool(theory.max() <= 1 + 1e-9) and above <= max(3, 0.05 * low.size),
        f"exact errors are {span(theory, '.3f')} times the bounds; measured ones lie above a bound with their whole "
        f"95 % interval in {above} of {low.size} cells (2.5 % by chance where the bound is attained)",
    )


def _logs(found: Results, first: Published, second: Published) -> tuple[float, float, NDArray[np.float64]]:
    """The mean over cells of the log ratio of two estimators' errors, its standard error, and the single ratios."""
    one, other = (found.where(kind="published", estimator=name) for name in (first, second))
    logs = np.log(one.numbers("mse") / other.numbers("mse"))
    return float(logs.mean()), math.sqrt(4 / one.numbers("repetitions")[0] / logs.size), np.exp(logs)


def _better(found: Results, pairs: Sequence[tuple[Published, Published]]) -> tuple[bool, str]:
    sure, told = True, []
    for first, second in pairs:
        mean, error, ratios = _logs(found, first, second)
        sure = sure and mean + SURE * error < 0
        told.append(f"{first} / {second} {math.exp(mean):.2f} (cells {span(ratios, '.2f')})")
    return sure, "; ".join(told)


def _superior(found: Results) -> Verdict:
    sure, told = _better(found, [(name, "dwork") for name in PROPOSED])
    return Verdict(sure, f"ratios of mean squared errors: {told}")


def _binary_best(found: Results) -> Verdict:
    continuous: tuple[Published, ...] = ("laplace", "truncated-gaussian")
    sure, told = _better(found, [(one, other) for one in BINARY[1:] for other in continuous])
    return Verdict(sure, f"ratios of mean squared errors: {told}")


def _robust(found: Results) -> Verdict:
    ratios: dict[str, float] = {}
    held = True
    for name in ESTIMATORS:
        one, other = (found.where(kind="published", estimator=name, stream=stream) for stream in ("zipf", "uniform"))
        logs = np.log(one.numbers("mse") / other.numbers("mse"))
        error = math.sqrt(4 / one.numbers("repetitions")[0] / logs.size)
        ratios[name] = math.exp(float(logs.mean()))
        held = held and abs(float(logs.mean())) < max(0.1, SURE * error)
    return Verdict(held, "zipf / uniform: " + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()))


def _sound_beside(found: Results) -> Verdict:
    gains = []
    for name in ESTIMATORS:
        one, other = (found.where(kind=kind, estimator=name) for kind in ("published", "sound"))
        gains.append(f"{name} {math.exp(float(np.log(one.numbers('mse') / other.numbers('mse')).mean())):.2f}")
    agrees, ratio = _sound_coincide(found)
    return Verdict(
        agrees,
        f"measured over theory {ratio:.3f}, all cells agree: {_yes(agrees)}; published error over sound error at the "
        f"same total: {', '.join(gains)}",
    )


def _draw(stream: str, found: Results, figure: Figure) -> None:
    from reproduction.drawing import logarithmic, measured, quiet

    samples = found.levels("sample")
    figure.set_size_inches(1.0 + 3.3 * len(samples), 7.2)
    panels = figure.subplots(2, len(samples), squeeze=False, sharex=True, sharey="col")
    titles = {"published": "published, claims 2ε and loses more", "sound": "sound, E = 2ε"}
    for row, kind in zip(panels, titles, strict=True):
        for axes, sample in zip(row, samples, strict=True):
            for name in ESTIMATORS:
                rows = found.where(stream=stream, kind=kind, estimator=name, sample=int(sample))
                low, high = limits(rows.numbers("mse"), rows.numbers("repetitions"))
                x = rows.numbers("epsilon")
                measured(axes, name, x, rows.numbers("mse"), low=low, high=high, theory=rows.numbers("theory"))
            axes.set_yscale("log")
            logarithmic(axes, ticks=(0.05, 0.1, 0.2, 0.5))
            quiet(axes)
            axes.set_title(f"{titles[kind]}\nm = {sample:,.0f} users ({sample / UNIVERSE:.0%})")
        row[0].set_ylabel("mean squared error")
    for axes in panels[-1]:
        axes.set_xlabel("ε")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    repeated = int(found.numbers("repetitions")[0])
    figure.suptitle(
        f"{stream.capitalize()} stream: measured ({repeated} repetitions, 95 % intervals) and theory (lines)",
        x=0.01,
        ha="left",
        fontsize=11.5,
    )


STREAM_ERROR: Final = Experiment(
    name="stream-error",
    title="Mean squared error on uniform and Zipf streams, theory beside experiment",
    section='Chapter 4, "Experimental Evaluation"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "Experimental Evaluation",
            "We expect to observe a stream density of 0.63 (uniform), 0.25 (zipfian).",
            _densities,
        ),
        Claim(
            "FIG_MSE_uniform",
            "The experimental and theoretical mean squared errors coincide for all algorithms.",
            _coincide,
        ),
        Claim("thm_DworkDE_acc1", "… provides an unbiased estimate (all algorithms).", _unbiased),
        Claim(
            "thm_OptBernDE_acc1",
            "… has mean squared error at most 2(2m + 1)/(mε)², 1/(4m·tanh²(ε/2)) + 2/(mε)².",
            _bounded,
        ),
        Claim("FIG_MSE_uniform", "The superiority of all the algorithms we propose over Dwork's algorithm.", _superior),
        Claim("FIG_MSE_uniform", "The binary ones clearly beat the continuous ones.", _binary_best),
        Claim(
            "FIG_MSE_zipf",
            "The robustness of all algorithms to the input stream distribution; the differences between uniform and "
            "zipfian are insignificant.",
            _robust,
        ),
        Claim(
            "not of the thesis", "The sound estimators err as their theory says, at the same total 2ε.", _sound_beside
        ),
    ),
    pictures=(
        Picture("FIG_MSE_uniform", "stream-error-uniform", partial(_draw, "uniform")),
        Picture("FIG_MSE_zipf", "stream-error-zipf", partial(_draw, "zipf")),
    ),
    repetitions=300,
    quick_repetitions=40,
)
