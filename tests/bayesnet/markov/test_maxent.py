"""The fit of a Markov field: against other solvers of the primal and the dual, and by the conditions of an optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from panbayes.bayesnet.markov.field import Axes, Field
from panbayes.bayesnet.markov.maxent import BOUND, Effort, fit_field
from tests.bayesnet.markov.laws import WrittenOut, cells_of, field_of, random_fields

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Case:
    """What is to be fitted, and which cell of each table every record lies in (``design``, one column per cell)."""

    field: Field
    targets: Floats
    slack: Floats
    base: Floats
    design: Floats

    @classmethod
    def of(cls, whole: WrittenOut, targets: Floats, slack: Floats) -> Case:
        field = whole.field
        base = WrittenOut.of(field, np.zeros_like(whole.parameters)).probability
        columns = []
        for axes in field.tables:
            cells = np.ravel_multi_index(cells_of(field, axes, whole.grid), [count for _, count in axes])
            columns.append(np.eye(int(np.prod([count for _, count in axes])))[cells])
        return cls(field, targets, slack, base, np.hstack(columns))

    def dual(self, parameters: Floats) -> tuple[float, Floats]:
        weights = self.base * np.exp(self.design @ parameters)
        margins = weights @ self.design / weights.sum()
        value = np.log(weights.sum()) - parameters @ self.targets + 0.5 * (self.slack * parameters**2).sum()
        return float(value), margins - self.targets + self.slack * parameters

    def primal(self, logits: Floats) -> tuple[float, Floats]:
        """KL and squared misses of the law ∝ exp(logits), with the gradient by the logits."""
        law = np.exp(logits - logits.max())
        law /= law.sum()
        ratio = np.log(np.maximum(law, 1e-300) / self.base)
        miss = law @ self.design - self.targets
        slope = ratio + self.design @ (miss / self.slack)
        value = law @ ratio + 0.5 * (miss**2 / self.slack).sum()
        return float(value), law * (slope - law @ slope)


def cases(*, noise: float, slack: float, seed: int, count: int = 12) -> Iterator[Case]:
    """Targets of a random law, moved by ``noise`` of themselves: each table adds up to 1, margins may contradict."""
    rng = np.random.default_rng(seed)
    for whole in random_fields(3 * count, seed=seed):
        if not whole.field.tables or whole.probability.size > 100:
            continue
        margins = [whole.margin(axes).ravel() for axes in whole.field.tables]
        moved = [margin * np.exp(rng.normal(0, noise, margin.size)) for margin in margins]
        targets = np.concatenate([margin / margin.sum() for margin in moved])
        yield Case.of(whole, targets, slack * rng.uniform(0.5, 2, targets.size))
        count -= 1
        if not count:
            return


def fitted(case: Case, *, iterations: int = 400) -> Floats:
    return fit_field(case.field, case.targets, case.slack, np.zeros_like(case.targets), effort=Effort(iterations))


def test_the_gradient_vanishes_at_the_optimum_or_points_out_of_the_box() -> None:
    at_the_bound = 0
    for case in (*cases(noise=0.3, slack=0.02, seed=1), *cases(noise=2.0, slack=1e-3, seed=2)):
        found = fitted(case)
        _, gradient = case.dual(found)
        assert np.abs(found).max() <= BOUND * (1 + 1e-12)
        high, low = found >= BOUND * (1 - 1e-9), found <= -BOUND * (1 - 1e-9)
        at_the_bound += int(high.sum() + low.sum())
        scale = np.sqrt(case.targets + case.slack)
        assert np.abs(gradient / scale)[~high & ~low].max(initial=0.0) < 1e-2
        assert np.all(gradient[high] <= 1e-9)
        assert np.all(gradient[low] >= -1e-9)
    assert at_the_bound >= 5


def test_the_law_is_the_minimiser_of_the_primal() -> None:
    """A solver that knows nothing of parameters, over all laws on all records, finds the same one."""
    for case in cases(noise=0.3, slack=0.05, seed=3):
        found = fitted(case)
        assert np.abs(found).max() < BOUND
        law = case.base * np.exp(case.design @ found)
        law /= law.sum()
        solved = minimize(case.primal, np.log(case.base), jac=True, method="BFGS", options={"gtol": 1e-9})
        other = np.exp(solved.x - solved.x.max())
        assert np.abs(law - other / other.sum()).max() < 1e-4
        assert case.primal(np.log(law))[0] <= solved.fun + 1e-6


def test_with_bounds_active_the_dual_is_as_low_as_another_solver_gets_it() -> None:
    active = 0
    for case in cases(noise=2.0, slack=1e-3, seed=2):
        found = fitted(case)
        box = [(-BOUND, BOUND)] * found.size
        solved = minimize(case.dual, np.zeros_like(found), jac=True, method="L-BFGS-B", bounds=box)
        assert case.dual(found)[0] <= float(solved.fun) + 2e-5 * max(1.0, abs(float(solved.fun)))
        active += int((np.abs(found) >= BOUND * (1 - 1e-9)).any())
    assert active >= 2


def test_a_table_of_much_slack_changes_nothing_and_one_of_none_is_met() -> None:
    for case in cases(noise=0.3, slack=1.0, seed=4, count=4):
        loose = fit_field(case.field, case.targets, case.slack * 1e6, np.zeros_like(case.targets), effort=Effort(50))
        assert np.abs(loose).max() < 1e-5
    for case in cases(noise=0.0, slack=0.0, seed=5, count=8):
        cliques, _ = case.field.calibrated(fitted(case))
        assert case.field.margins(cliques) == pytest.approx(case.targets, abs=1e-3)


def test_a_warm_start_is_where_it_goes_on_and_a_cold_one_is_not_there_yet() -> None:
    behind = 0
    for case in cases(noise=0.3, slack=0.01, seed=6, count=6):
        best = fitted(case)
        again = fit_field(case.field, case.targets, case.slack, best, effort=Effort(1))
        value = case.dual(best)[0]
        assert case.dual(again)[0] <= value + 1e-12
        assert np.abs(again - best).max() < 0.05
        cold = fitted(case, iterations=1)
        behind += case.dual(cold)[0] > case.dual(again)[0] + 1e-4
        half = fitted(case, iterations=3)
        gone_on = fit_field(case.field, case.targets, case.slack, half, effort=Effort(400))
        assert case.dual(gone_on)[0] == pytest.approx(value, abs=1e-6)
    assert behind >= 4


def test_a_fit_goes_no_closer_to_its_targets_than_they_are_known() -> None:
    """It ends as soon as the gradient's mean square is a fiftieth of the targets' variance, and not before."""
    shorter = 0
    for case in cases(noise=0.3, slack=0.05, seed=8, count=8):
        start, taken = np.zeros_like(case.targets), []
        fit = partial(fit_field, case.field, case.targets, case.slack, start)
        on_the_way = [fit(effort=Effort(steps, 0.0)) for steps in range(100)]
        squares = [np.where(np.abs(found) < BOUND, case.dual(found)[1], 0.0) ** 2 for found in on_the_way]
        for known in (1e-5 + 1e-3 * case.targets, 1e-3 + 1e-1 * case.targets):
            close = [steps for steps, square in enumerate(squares) if np.mean(square / known) < 0.02]
            found = fit(effort=Effort(400, 0.0), variance=known)
            assert found == pytest.approx(on_the_way[close[0]], abs=1e-9)
            taken.append(close[0])
        shorter += taken[1] < taken[0]
    assert shorter >= 5


def test_cells_at_their_bound_do_not_slow_the_others_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the cells are empty, and their parameters go to the bound: few steps are tried in vain."""
    rng = np.random.default_rng(11)
    laws = [rng.dirichlet(np.full(6, 4.0)) for _ in range(4)]
    tables: list[Axes] = [((a, 6), (b, 6)) for a, b in combinations(range(4), 2)]
    joint = np.ones((6, 6, 6, 6))
    for (a, _), (b, _) in tables:
        links = rng.gamma(0.4, size=(6, 6)) * (rng.random((6, 6)) < 0.5) + 1e-6
        joint *= links.reshape([6 if axis in (a, b) else 1 for axis in range(4)])
    joint /= joint.sum()
    others = [tuple(axis for axis in range(4) if axis not in dict(axes)) for axes in tables]
    targets = np.concatenate([joint.sum(axis=axes).ravel() for axes in others])
    passes = 0
    calibrated = Field.calibrated

    def counted(self: Field, parameters: Floats) -> tuple[Floats, float]:
        nonlocal passes
        passes += 1
        return calibrated(self, parameters)

    monkeypatch.setattr(Field, "calibrated", counted)
    field = field_of(laws, tables)
    found = fit_field(field, targets, 1e-7 + targets / 1e4, np.zeros_like(targets), effort=Effort(120, 0.0))
    assert (np.abs(found) >= BOUND * (1 - 1e-9)).mean() > 0.1
    assert passes < 1.25 * 120


def test_no_iteration_leaves_the_start_inside_the_box() -> None:
    case = next(cases(noise=0.3, slack=0.1, seed=7))
    start = np.linspace(-9, 9, case.targets.size)
    kept = fit_field(case.field, case.targets, case.slack, start, effort=Effort(0))
    assert kept == pytest.approx(np.clip(start, -BOUND, BOUND))
