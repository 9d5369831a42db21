"""Fitting a Markov field: the law closest to independence that agrees with noisy tables as far as they can be trusted.

With μ_t the field's margins, m_t the ``targets`` and r_t the ``slack`` of every cell, the fit minimises

    KL(p ‖ ∏ q_v) + Σ_t ‖μ_t − m_t‖²_{1/r_t} / 2     (r large: the table may be missed; r = 0: it must be met)

over all laws p. The minimiser is a field, and its parameters minimise the convex dual

    log Z(θ) − Σ_t θ_t·m_t + ½ Σ_t r_t·θ_t²,      gradient μ(θ) − m + r·θ,

one pass over the junction tree for each value with its gradient. It is minimised by L-BFGS in the scale
θ·√(m + r), with |θ| bounded: tables that contradict each other would drive single cells to infinity, and empty cells
are driven there by what is known of them. What lies at its bound is left out of the curvature: steps in which it could
not move say nothing of how the others should.

Where it is known how uncertain targets are, a fit ends once the gradient is well below that (:data:`_WELL_BELOW`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.markov.field import Field
from panbayes.bayesnet.markov.steps import dot, turned

__all__ = ["BOUND", "BRIEFLY", "THOROUGHLY", "Effort", "fit_field"]

BOUND: Final = 6.0
"""Parameters lie between ± this: a cell is at most e⁶ times as likely as without the table."""

_MEMORY: Final = 10
_GRADIENT: Final = 1e-7
_WELL_BELOW: Final = 0.02
"""A fit ends when the gradient's square is, on average over all cells, so much of the variance of its target."""

_CURVED: Final = 1e-12
_PATIENCE: Final = 3
_SHORTER: Final = 0.4
_TRIES: Final = 20
_ARMIJO: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Effort:
    """When a fit ends: after so many ``iterations``, or :data:`_PATIENCE` in a row that gain less than ``progress``.

    A gain is a part of the dual, but at least of one nat. The distance of laws goes with its root: what gains 10⁻⁸ may
    still move margins by 10⁻⁴.
    """

    iterations: int
    progress: float = 1e-8


BRIEFLY: Final = Effort(40)
"""For a law that is to be fitted again."""

THOROUGHLY: Final = Effort(500, 1e-10)
"""For a law that is to be kept."""

_Objective = Callable[[FloatArray], tuple[float, FloatArray]]


def fit_field(
    field: Field,
    targets: FloatArray,
    slack: FloatArray,
    start: FloatArray,
    *,
    effort: Effort,
    variance: FloatArray | None = None,
) -> FloatArray:
    """Return the parameters after some ``effort`` from ``start``; vectors as :class:`Field` has them.

    ``variance`` is that of the targets: a fit is not brought closer to them than they are known.
    """
    scale = 1 / np.sqrt(targets + slack)
    known = None if variance is None else scale * np.sqrt(variance)

    def dual(scaled: FloatArray) -> tuple[float, FloatArray]:
        parameters = scaled * scale
        cliques, logarithm = field.calibrated(parameters)
        value = logarithm - dot(parameters, targets) + 0.5 * float((slack * parameters**2).sum())
        gradient: FloatArray = (field.margins(cliques) - targets + slack * parameters) * scale
        return value, gradient

    return _minimise(dual, start / scale, BOUND / scale, effort, known) * scale


def _minimise(
    objective: _Objective, start: FloatArray, bound: FloatArray, effort: Effort, known: FloatArray | None
) -> FloatArray:
    """Minimise a convex function over a box, by projected L-BFGS; the gradient is ``known`` to such deviations."""
    point: FloatArray = np.clip(start, -bound, bound)
    value, gradient = objective(point)
    steps = _Steps(point.size)
    still = 0
    for _ in range(effort.iterations):
        free = np.where(((point >= bound) & (gradient < 0)) | ((point <= -bound) & (gradient > 0)), 0.0, gradient)
        if float(np.abs(free).max(initial=0.0)) < _GRADIENT:
            break
        if known is not None and float(np.mean((free / known) ** 2)) < _WELL_BELOW:
            break
        direction, curved = steps.direction(free, gradient)
        if dot(free, direction) <= 0:
            direction, curved, steps = free, False, _Steps(point.size)
        length = 1.0 if curved else min(1.0, 1 / math.sqrt(dot(free, free)))
        for _ in range(_TRIES):
            trial = np.clip(point - length * direction, -bound, bound)
            found, slope = objective(trial)
            if found <= value + _ARMIJO * dot(free, trial - point):
                break
            length *= _SHORTER
        else:
            break
        steps.add(trial - point, slope - gradient)
        still = still + 1 if value - found < effort.progress * max(1.0, abs(value)) else 0
        point, value, gradient = trial, found, slope
        if still >= _PATIENCE:
            break
    return point


class _Steps:
    """The last steps, how far they ``moved`` and how they ``bent`` the gradient: a ring of those that say something."""

    def __init__(self, size: int) -> None:
        """Begin with none."""
        self._moved, self._bent = np.empty((2, _MEMORY, size))
        self._many = 0

    def add(self, moved: FloatArray, bent: FloatArray) -> None:
        """Add a step, unless the gradient does not grow along it: then it says nothing of the curvature."""
        if dot(moved, bent) > _CURVED * math.sqrt(dot(moved, moved) * dot(bent, bent)):
            self._moved[self._many % _MEMORY] = moved
            self._bent[self._many % _MEMORY] = bent
            self._many += 1

    def direction(self, free: FloatArray, gradient: FloatArray) -> tuple[FloatArray, bool]:
        """Apply the inverse of the curvature that the steps have seen, and tell whether they have seen any.

        ``free`` is the gradient with 0 for what is held at its bound.
        """
        last = [number % _MEMORY for number in range(max(0, self._many - _MEMORY), self._many)]
        direction = free.copy()
        seen = turned(direction, free == gradient, self._moved, self._bent, np.array(last, dtype=np.int64), _CURVED)
        return direction, bool(seen)
