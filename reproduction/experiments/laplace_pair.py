"""The pair of Laplace laws, their ratio, what truncation does to them, and the sound law on eight levels beside them.

Thesis: Figure laplace_distributions_illustration; Theorem thm_LaplaceDE_priv; section "Comments on the Use of Other
Continuous Distributions".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.laws.state_law import COIN
from reproduction.budget_use import SAMPLE
from reproduction.contenders import sound_calibration
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import span
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LAPLACE_PAIR"]

_EPSILON: Final = 0.1
"""As in the figure."""

_PAIRS: Final = ((0.0, 1.0), (-3.0, 7.0), (0.4, 0.6))
"""Means of absent and of present users; the thesis leaves them open."""

_STEPS: Final = 200_000


def _cells(_quick: bool) -> list[Cell]:
    return [{"part": part} for part in ("density", "level", "moments", "truncated")]


def _run(cell: Cell, _repetitions: int, _seed: int) -> Sequence[Row]:
    """Return densities at x, probabilities of levels x, or error and distance of means of a pair of scale x."""
    match cell["part"]:
        case "density":
            x = np.linspace(-40, 41, 811)
            densities = [_density(x, mean, 1 / _EPSILON) for mean in (0.0, 1.0)]
            return _rows("density", x, *densities)
        case "level":
            law = sound_calibration("laplace", epsilon=_EPSILON, sample=SAMPLE, universe=None).law
            return _rows(
                "level", *(np.array(part, dtype=np.float64) for part in (law.scores, *_shares(law.init, law.update)))
            )
        case "moments":
            scales = [(high - low) / _EPSILON for low, high in _PAIRS]
            found = [
                _moments(low, high, scale, (low - 45 * scale, high + 45 * scale))
                for (low, high), scale in zip(_PAIRS, scales, strict=True)
            ]
            return _rows("moments", np.array(scales), *np.array(found).T)
        case _:
            return _rows("truncated", np.array([1 / _EPSILON]), *np.array([_moments(0.0, 1.0, 1 / _EPSILON, (0, 1))]).T)


def _rows(part: str, *columns: NDArray[np.float64]) -> list[Row]:
    return [
        {"part": part, "x": float(x), "init": float(init), "update": float(update)}
        for x, init, update in zip(*columns, strict=True)
    ]


def _shares(*weights: tuple[int, ...]) -> list[list[float]]:
    return [[weight / COIN for weight in law] for law in weights]


def _density(x: NDArray[np.float64], mean: float, scale: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-np.abs(x - mean) / scale) / (2 * scale))


def _moments(low: float, high: float, scale: float, support: tuple[float, float]) -> tuple[float, float]:
    """Integrate the pair over its support: the variance of an entry over the squared signal, and the signal."""
    edges = np.linspace(*support, _STEPS + 1)
    x = (edges[1:] + edges[:-1]) / 2
    absent, present = (_density(x, mean, scale) for mean in (low, high))
    means = [float(law @ x / law.sum()) for law in (absent, present)]
    variance = float(absent @ (x - means[0]) ** 2 / absent.sum())
    signal = means[1] - means[0]
    return variance / signal**2, signal / (high - low)


def _tight(found: Results) -> Verdict:
    x, ratio = _log_ratio(found)
    outside = np.abs(ratio[(x <= 0) | (x >= 1)])
    inside = np.abs(ratio[(x > 0) & (x < 1)])
    held = bool(np.abs(outside / _EPSILON - 1).max() < 1e-9) and bool((inside < _EPSILON).all())
    return Verdict(
        held, f"|ln f_upd/f_init| is {span(outside, '.6g')} outside (μ_init, μ_upd), ε = {_EPSILON:g}, and less inside"
    )


def _log_ratio(found: Results) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = found.where(part="density")
    return rows.numbers("x"), np.log(rows.numbers("update") / rows.numbers("init"))


def _uses_all(found: Results) -> Verdict:
    _, ratio = _log_ratio(found)
    most = float(np.abs(ratio).max())
    return Verdict(
        abs(most / _EPSILON - 1) < 1e-9,
        f"the state loses {most:.6g} of ε = {_EPSILON:g}; with the output the loss has no bound (experiment true-loss)",
    )


def _any_pair(found: Results) -> Verdict:
    variance = found.where(part="moments").numbers("init")
    told = 2 / _EPSILON**2
    return Verdict(
        bool(np.abs(variance / told - 1).max() < 1e-3),
        f"m times the variance from the entries is {span(variance, '.5g')} for three choices; 2/ε² = {told:g}",
    )


def _truncated(found: Results) -> Verdict:
    rows = found.where(part="truncated")
    closer, worse = rows.number("update"), rows.number("init") / (2 / _EPSILON**2)
    return Verdict(
        closer < 1 and worse > 1,
        f"truncated to [0, 1] the means are {closer:.3f} apart instead of 1; the error from the entries is "
        f"{worse:.2f} times as large, with the same loss",
    )


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import COLOURS, INK, QUIET, SOUND, quiet

    figure.set_size_inches(10.4, 3.8)
    first, second, third = figure.subplots(1, 3)
    rows = found.where(part="density")
    x = rows.numbers("x")
    first.plot(x, rows.numbers("init"), color=QUIET, label="absent: $f_{init}$")
    first.plot(x, rows.numbers("update"), color=COLOURS["laplace"], label="present: $f_{upd}$")
    first.set_title("Two Laplace laws, ε = 0.1")
    first.set_ylabel("density")
    first.set_xlabel("entry x")
    first.legend(loc="upper left")
    x, ratio = _log_ratio(found)
    near = (x >= -2) & (x <= 3)
    for limit in (_EPSILON, -_EPSILON):
        second.axhline(limit, color=QUIET, linewidth=5, alpha=0.3)
    second.plot(x[near], ratio[near], color=COLOURS["laplace"])
    second.set_title("Their ratio keeps to ±ε")
    second.set_ylabel("$\\ln f_{upd}(x) / f_{init}(x)$")
    second.set_xlabel("entry x, around the two means 0 and 1")
    levels = found.where(part="level")
    place = np.arange(len(levels.rows))
    third.bar(place - 0.2, levels.numbers("init"), 0.4, color=QUIET, label="absent")
    third.bar(place + 0.2, levels.numbers("update"), 0.4, color=SOUND, label="present")
    third.set_xticks(place, [f"{score:.0f}" for score in levels.numbers("x")])
    third.set_title("Sound: eight levels, E = 0.2")
    third.set_ylabel("probability")
    third.set_xlabel("score of the level")
    third.set_ylim(0, float(levels.numbers("update").max()) * 1.3)
    third.legend(loc="upper center", ncols=2)
    for axes in (first, second, third):
        quiet(axes)
        axes.tick_params(colors=INK)


LAPLACE_PAIR: Final = Experiment(
    name="laplace-pair",
    title="Laplace's estimator: the pair of laws, their ratio, and truncation",
    section='Chapter 4, "Using Continuous Distributions"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "laplace_distributions_illustration",
            "The ratio of the two distributions tightly satisfies the differential privacy definition, except for some "
            "x ∈ (μ_init, μ_upd).",
            _tight,
        ),
        Claim(
            "laplace_distributions_illustration",
            "We conclude that Algorithm LaplaceDE uses all the allocated privacy budget.",
            _uses_all,
        ),
        Claim(
            "thm_LaplaceDE_acc1",
            "Neither the bias, nor the variance of our estimator depends on the choice of μ_init, μ_upd and b.",
            _any_pair,
        ),
        Claim(
            "Comments on the Use of Other Continuous Distributions",
            "The truncated distributions' means come closer to each other; we end up with two harder-to-distinguish "
            "distributions.",
            _truncated,
        ),
    ),
    pictures=(Picture("laplace_distributions_illustration", "laplace-pair", _draw),),
)
