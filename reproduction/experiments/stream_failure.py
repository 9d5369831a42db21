"""The probability that an estimate is off by α or more, on uniform and Zipf streams, and the thesis's bound on it.

Thesis: Figures FIG_prob_error_uniform, FIG_prob_error_zipf; Theorems thm_DworkDE_acc2, thm_OptBernDE_acc2,
thm_LaplaceDE_acc2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.stream.accuracy.density_bounds import failure_bound
from panbayes.stream.accuracy.published_error import Published
from reproduction.contenders import ESTIMATORS, contenders
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import FALSE_ALARM, SURE, span, wilson
from reproduction.results import Results, Row
from reproduction.stream_trials import EPSILONS, STREAMS, UNIVERSE, errors_of, expected_density

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STREAM_FAILURE"]

_SAMPLE: Final = UNIVERSE // 10
_ALPHA: Final = 0.1
"""The thesis gives neither the sample size nor α; with these the probabilities run from near 1 to near 0."""


_RANKING: Final = ("optimal-bernoulli", "quantized-laplace", "laplace", "truncated-gaussian", "dwork")
"""From the least mean squared error to the largest."""


def _cells(quick: bool) -> list[Cell]:
    return [
        {"stream": stream, "epsilon": epsilon}
        for stream in STREAMS
        for epsilon in (EPSILONS[1::2] if quick else EPSILONS)
    ]


def _run(cell: Cell, repetitions: int, seed: int) -> Sequence[Row]:
    stream, epsilon = str(cell["stream"]), float(cell["epsilon"])
    density = expected_density(stream)
    compared = contenders(epsilon=epsilon, sample=_SAMPLE, universe=UNIVERSE)
    return [
        {
            **cell,
            "kind": one.kind,
            "estimator": one.estimator,
            "repetitions": repetitions,
            "failures": int((np.abs(errors) >= _ALPHA).sum()),
            "theory": one.failure(_ALPHA, density),
            "bound": _bound(one.estimator, epsilon) if one.kind == "published" else 1.0,
        }
        for one, errors in errors_of(compared, stream=stream, repetitions=repetitions, seed=seed)
    ]


def _bound(estimator: Published, epsilon: float) -> float:
    if estimator == "truncated-gaussian":
        return 1.0  # The thesis has none.
    return failure_bound(estimator, epsilon=epsilon, alpha=_ALPHA, sample=_SAMPLE).beta


def _ranking(found: Results) -> Verdict:
    shares: dict[str, float] = {
        name: float(np.mean(_shares(found.where(kind="published", estimator=name)))) for name in ESTIMATORS
    }
    trials = float(found.where(kind="published", estimator="dwork").numbers("repetitions").sum())
    error = {name: share * (1 - share) / trials for name, share in shares.items()}

    def beyond(worse: str, better: str) -> float:
        """By how many standard errors the worse fails more often."""
        return (shares[worse] - shares[better]) / math.sqrt(max(1e-12, error[worse] + error[better]))

    neighbours = [beyond(worse, better) for better, worse in pairwise(_RANKING)]
    return Verdict(
        min(neighbours) > -SURE and beyond(_RANKING[-1], _RANKING[0]) > SURE,
        "mean probability over all ε, in the order of the errors: "
        + ", ".join(f"{name} {shares[name]:.3f}" for name in _RANKING)
        + f"; the least step is {min(neighbours):.1f} standard errors",
    )


def _shares(rows: Results) -> NDArray[np.float64]:
    return rows.numbers("failures") / rows.numbers("repetitions")


def _above(found: Results) -> Verdict:
    rows = Results(
        tuple(row for row in found.rows if row["kind"] == "published" and row["estimator"] != "truncated-gaussian")
    )
    _, high = wilson(rows.numbers("failures"), rows.numbers("repetitions"))
    bound, theory = rows.numbers("bound"), rows.numbers("theory")
    share, tight = _shares(rows), bound < 1
    seen = rows.numbers("failures") > 0
    ratio = bound[tight] / theory[tight]
    return Verdict(
        bool((bound > share).all() and (bound[seen] >= high[seen]).all()),
        f"the bound lies above what was measured in {int((bound > share).sum())} of {bound.size} cells; it says "
        f"nothing (1) in {int((~tight).sum())}, and elsewhere it is {span(ratio, '.2g')} times the exact probability",
    )


def _as_theory(found: Results) -> Verdict:
    theory = found.numbers("theory")
    hits, trials = (found.numbers(name).astype(np.int64) for name in ("failures", "repetitions"))
    more = np.where(hits > 0, special.bdtrc(np.maximum(hits - 1, 0), trials, theory), 1.0)
    tails = 2 * np.minimum(special.bdtr(hits, trials, theory), more)
    gains = []
    for name in ESTIMATORS:
        one, other = (found.where(kind=kind, estimator=name) for kind in ("published", "sound"))
        gains.append(f"{name} {_shares(one).mean():.3f} / {_shares(other).mean():.3f}")
    agrees = bool(tails.min() >= FALSE_ALARM / tails.size)
    return Verdict(
        agrees,
        f"all {tails.size} cells agree with the exact probabilities: {'yes' if agrees else 'no'}; mean probability, "
        f"published / sound: {', '.join(gains)}",
    )


def _draw(stream: str, found: Results, figure: Figure) -> None:
    from reproduction.drawing import COLOURS, logarithmic, measured, quiet

    figure.set_size_inches(10.2, 4.9)
    titles = {"published": "published, claims 2ε and loses more", "sound": "sound, E = 2ε"}
    panels = figure.subplots(1, 2, sharey=True)
    for axes, kind in zip(panels, titles, strict=True):
        for name in ESTIMATORS:
            rows = found.where(stream=stream, kind=kind, estimator=name)
            low, high = wilson(rows.numbers("failures"), rows.numbers("repetitions"))
            share = _shares(rows)
            x = rows.numbers("epsilon")
            seen = np.where(share > 0, share, np.nan)
            measured(axes, name, x, seen, low=low, high=high, theory=rows.numbers("theory"))
            if kind == "published" and (rows.numbers("bound") < 1).any():
                axes.plot(x, rows.numbers("bound"), color=COLOURS[name], linestyle=(0, (1, 1.5)), linewidth=1.4)
        axes.set_yscale("log")
        axes.set_ylim(2e-4, 1.6)
        logarithmic(axes, ticks=(0.05, 0.1, 0.2, 0.5))
        quiet(axes)
        axes.set_title(titles[kind])
        axes.set_xlabel("ε")
    panels[0].plot([], [], color="#444444", linestyle=(0, (1, 1.5)), label="the thesis's bounds (Dwork's = Laplace's)")
    panels[0].set_ylabel(f"P(|estimate − density| ≥ {_ALPHA:g})")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    repeated = int(found.numbers("repetitions")[0])
    figure.suptitle(
        f"{stream.capitalize()} stream, m = {_SAMPLE:,}: measured ({repeated} repetitions, 95 % intervals) and theory",
        x=0.01,
        ha="left",
        fontsize=11.5,
    )


STREAM_FAILURE: Final = Experiment(
    name="stream-failure",
    title="Probability of error on uniform and Zipf streams, and the thesis's bound on it",
    section='Chapter 4, "Experimental Evaluation"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "FIG_prob_error_uniform",
            "Our second metric confirms the ranking of the algorithms in terms of performance.",
            _ranking,
        ),
        Claim(
            "FIG_prob_error_uniform",
            "The bounds on the probability of error are not tight; the resulting probability was significantly larger "
            "than all the empirical probabilities we plot.",
            _above,
        ),
        Claim(
            "not of the thesis",
            "Published and sound estimators fail as often as their exact laws say.",
            _as_theory,
        ),
    ),
    pictures=(
        Picture("FIG_prob_error_uniform", "stream-failure-uniform", partial(_draw, "uniform")),
        Picture("FIG_prob_error_zipf", "stream-failure-zipf", partial(_draw, "zipf")),
    ),
    repetitions=1000,
    quick_repetitions=60,
)
