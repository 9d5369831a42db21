"""Cross entropy on Diabetes for varying ε, three holders, degree 1.

Thesis: Figure FIG_exp3; section "Real-World Data".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reproduction.diabetes_trials import ALL, NARROW, WIDE, diabetes_ready, diabetes_row
from reproduction.distributed_pictures import SHORT, bits, draw_bits, draw_excess, error
from reproduction.distributed_trials import CENTRAL, NAIVE, PUBLISHED, strategy_cells
from reproduction.experiment import Cell, Claim, Experiment, Picture, Verdict
from reproduction.judging import SURE
from reproduction.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DIABETES_BUDGET"]

_EPSILONS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The thesis gives none."""

_DEGREE, _HOLDERS = 1, 3
_COMPARED: Final = 0.1
"""At this ε seven attributes are set beside all of them."""


def _cells(quick: bool) -> list[Cell]:
    epsilons = (0.1, 1.0, 10.0) if quick else _EPSILONS
    cells: list[Cell] = [
        {**cell, "attributes": ALL} for cell in strategy_cells([(one, _DEGREE, _HOLDERS) for one in epsilons])
    ]
    for which in (NARROW, WIDE):
        cells += [
            {"strategy": name, "epsilon": _COMPARED, "degree": _DEGREE, "holders": _HOLDERS, "attributes": which}
            for name in PUBLISHED
        ]
        cells.append({"strategy": CENTRAL, "epsilon": 0.0, "degree": _DEGREE, "holders": 1, "attributes": which})
    return cells


def _run(cell: Cell, repetitions: int, seed: int) -> Sequence[Row]:
    return [diabetes_row(cell, repetitions, seed)]


def _table(found: Results) -> Verdict:
    row = found.where(strategy=NAIVE)
    number, least, most, tuples, records = (
        row.number(name) for name in ("number", "least_values", "most_values", "log10_tuples", "records")
    )
    return Verdict(
        (number, least, most) == (43, 2, 118) and 31.5 < tuples < 32 and 65_000 < records < 75_000,
        f"{number:g} attributes of {least:g} to {most:g} values, 10^{tuples:.1f} tuples of values that occur, "
        f"{records:,.0f} records",
        "the table is another one",
    )


def _all(found: Results) -> Results:
    return found.where(attributes=ALL)


def _steps(found: Results, better: str, worse: str) -> list[float]:
    """By how many standard errors one strategy is above another, at every ε."""
    whole = _all(found)
    apart = bits(whole, worse) - bits(whole, better)
    spread = [math.hypot(*both) for both in zip(error(whole, better), error(whole, worse), strict=True)]
    return [float(step) / max(deviation, 1e-12) for step, deviation in zip(apart, spread, strict=True)]


def _curves(found: Results) -> str:
    whole = _all(found)
    epsilons = ", ".join(f"{one:g}" for one in whole.where(strategy=PUBLISHED[0]).numbers("epsilon"))
    told = (f"{SHORT[name]} " + ", ".join(f"{one:.1f}" for one in bits(whole, name)) for name in PUBLISHED)
    return f"bits at ε = {epsilons}: " + "; ".join(told)


def _worse(found: Results) -> Verdict:
    steps = [step for other in PUBLISHED[1:] for step in _steps(found, other, PUBLISHED[0])]
    return Verdict(
        min(steps) > SURE,
        f"{_curves(found)}; noisy ss is above both others by {min(steps):.1f} standard errors at least",
        "the difference is within chance at some ε",
    )


def _excess(found: Results, strategy: str, which: str) -> tuple[float, float]:
    """Bits per attribute above the non-private network of the same attributes, and their standard error."""
    rows = found.where(attributes=which)
    number = rows.where(strategy=CENTRAL).number("number")
    above = bits(rows, strategy, epsilon=_COMPARED)[0] - bits(rows, CENTRAL)[0]
    spread = math.hypot(error(rows, strategy, epsilon=_COMPARED)[0], error(rows, CENTRAL)[0])
    return float(above) / number, spread / number


def _sensitive(found: Results) -> Verdict:
    by = {(name, which): _excess(found, name, which) for name in PUBLISHED for which in (NARROW, WIDE, ALL)}
    first = PUBLISHED[0]

    def rise(name: str, which: str) -> tuple[float, float]:
        (low, one), (high, other) = by[name, NARROW], by[name, which]
        return high - low, math.hypot(one, other)

    told = "; ".join(
        f"{SHORT[name]} " + ", ".join(f"{by[name, which][0]:.2f}" for which in (NARROW, WIDE, ALL))
        for name in PUBLISHED
    )
    failed = []
    for which, what in ((ALL, "the number of attributes"), (WIDE, "the domain sizes")):
        change, spread = rise(first, which)
        others = [rise(name, which) for name in PUBLISHED[1:]]
        if change <= SURE * spread or any(more - change > SURE * math.hypot(spread, one) for more, one in others):
            failed.append(what)
    return Verdict(
        not failed,
        f"bits per attribute above the network without privacy at ε = {_COMPARED:g}, for the 7 attributes with the "
        f"fewest values, the 7 with the most, and all 43: {told}",
        f"{' and '.join(failed)} cost it nothing beyond chance, or another strategy more",
    )


def _outperforms(found: Results) -> Verdict:
    voting = PUBLISHED[1]
    by = {other: _steps(found, voting, other) for other in (PUBLISHED[0], PUBLISHED[2])}
    epsilons = _all(found).where(strategy=voting).numbers("epsilon")
    better = [epsilon for epsilon, step in zip(epsilons, by[PUBLISHED[2]], strict=True) if step > SURE]
    worse = [epsilon for epsilon, step in zip(epsilons, by[PUBLISHED[2]], strict=True) if step < -SURE]
    return Verdict(
        all(step > SURE for steps in by.values() for step in steps),
        f"{_curves(found)}; noisy mv is below noisy model beyond chance at {_listed(better)}, above it at "
        f"{_listed(worse)}",
        "likely, but not tested: sharing the model pools records that are drawn from several models, and what is "
        "learned from the pool is smoother than tables to which every holder has added noise",
    )


def _listed(epsilons: list[float]) -> str:
    return "ε = " + ", ".join(f"{one:g}" for one in epsilons) if epsilons else "no ε"


def _approaches(found: Results) -> Verdict:
    whole, voting = _all(found), PUBLISHED[1]
    own, naive = (float(bits(whole, name)[0]) for name in (CENTRAL, NAIVE))
    curve, errors = bits(whole, voting), error(whole, voting)
    most = max(whole.levels("epsilon"))
    return Verdict(
        bool(curve[-1] < curve[0]) and bool(curve[-1] + SURE * errors[-1] < naive),
        f"above the network without privacy ({own:.2f} bits) by "
        + ", ".join(f"{one - own:.1f}" for one in curve)
        + f" bits; attributes alone, without privacy, by {naive - own:.1f}",
        f"at ε = {most:g}, where its curve ends, it is still no nearer to the network without privacy than attributes "
        "alone are",
    )


def _draw(found: Results, figure: Figure) -> None:
    from reproduction.drawing import logarithmic, plain_scale

    figure.set_size_inches(10.4, 4.5)
    left, right = figure.subplots(1, 2, width_ratios=(1.7, 1))
    whole = _all(found)
    draw_bits(left, whole, "epsilon", degree=_DEGREE)
    logarithmic(left, ticks=[e for e in whole.levels("epsilon") if e > 0])
    left.set_xlabel("ε for every record")
    plain_scale(left, ticks=(45, 50, 60, 80, 100, 150, 200))
    left.set_title("Three holders, degree k = 1, 57,214 records to learn from")
    left.legend(loc="upper right")
    draw_excess(
        right,
        {
            label: {name: _excess(found, name, which) for name in PUBLISHED}
            for label, which in (
                ("7 with the\nfewest values", NARROW),
                ("7 with the\nmost values", WIDE),
                ("all 43", ALL),
            )
        },
    )
    right.set_title(f"Attributes and domain sizes, ε = {_COMPARED:g}")


DIABETES_BUDGET: Final = Experiment(
    name="diabetes-budget",
    title="Diabetes: cross entropy for varying ε, three holders, degree 1",
    section='Chapter 3, "Real-World Data"',
    cells=_cells,
    run=_run,
    claims=(
        Claim(
            "Real-World Data",
            "We are left with 43 attributes; the final domain sizes vary from 2 to 118; we have a total of almost 10³² "
            "possible tuples; we are left with approximately 70,000 records.",
            _table,
        ),
        Claim("FIG_exp3", "We observe that noisy ss is significantly worse.", _worse),
        Claim(
            "FIG_exp3",
            "It appears that it is highly sensitive to the data dimension and the domain sizes of the attributes.",
            _sensitive,
        ),
        Claim("FIG_exp3", "Noisy mv outperforms the other two algorithms …", _outperforms),
        Claim("FIG_exp3", "… and approaches the performance of the non-private algorithm.", _approaches),
    ),
    pictures=(Picture("FIG_exp3", "diabetes-budget", _draw),),
    repetitions=20,
    quick_repetitions=5,
    partitioned=True,
    ready=diabetes_ready,
)
