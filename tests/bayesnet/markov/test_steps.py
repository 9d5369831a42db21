"""The two loops of L-BFGS against the matrix that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.steps import dot, turned

Floats = NDArray[np.float64]
CURVED = 1e-12


def inverse(moved: Floats, bent: Floats) -> Floats:
    """The inverse of the curvature as a matrix, updated step by step (Broyden, Fletcher, Goldfarb and Shanno)."""
    found = np.eye(moved.shape[1]) * float(moved[-1] @ bent[-1]) / float(bent[-1] @ bent[-1])
    for step, bend in zip(moved, bent, strict=True):
        part = 1 / float(step @ bend)
        left = np.eye(step.size) - part * np.outer(step, bend)
        found = left @ found @ left.T + part * np.outer(step, step)
    return found


def curved_steps(many: int, size: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    moved = rng.normal(size=(many, size))
    return moved, moved @ (root @ root.T + np.eye(size))


def test_the_direction_is_that_of_the_matrix() -> None:
    for seed in range(10):
        moved, bent = curved_steps(5, 12, seed)
        order = np.roll(np.arange(5), seed)  # a ring that was begun anywhere
        gradient = np.random.default_rng(100 + seed).normal(size=12)
        direction = gradient.copy()
        assert turned(direction, np.ones(12, dtype=np.bool_), moved, bent, order, CURVED)
        assert direction == pytest.approx(inverse(moved[order], bent[order]) @ gradient, rel=1e-9)


def test_what_is_held_does_not_move_and_does_not_count() -> None:
    moved, bent = curved_steps(4, 9, 1)
    within = np.ones(9, dtype=np.bool_)
    within[[0, 5, 6]] = False
    gradient = np.where(within, np.random.default_rng(2).normal(size=9), 0.0)
    direction = gradient.copy()
    useful = [row for row in range(4) if moved[row][within] @ bent[row][within] > 0]
    assert turned(direction, within, moved, bent, np.arange(4), CURVED) is bool(useful)
    assert np.all(direction[~within] == 0)
    expected = inverse(moved[useful][:, within], bent[useful][:, within]) @ gradient[within]
    assert direction[within] == pytest.approx(expected, rel=1e-9)


def test_steps_along_which_the_gradient_does_not_grow_are_passed_over() -> None:
    moved, bent = curved_steps(4, 6, 3)
    gradient = np.random.default_rng(4).normal(size=6)
    plain, with_others = gradient.copy(), gradient.copy()
    within = np.ones(6, dtype=np.bool_)
    assert turned(plain, within, moved[[0, 2]], bent[[0, 2]], np.arange(2), CURVED)
    bent[1], bent[3] = -bent[1], 0.0
    assert turned(with_others, within, moved, bent, np.arange(4), CURVED)
    assert with_others == pytest.approx(plain, rel=1e-12)
    none = gradient.copy()
    assert not turned(none, within, moved, bent, np.array([1, 3]), CURVED)
    assert not turned(none, within, moved, bent, np.zeros(0, dtype=np.int64), CURVED)
    assert np.all(none == gradient)


def test_a_product_of_vectors_is_one() -> None:
    one, other = np.random.default_rng(5).normal(size=(2, 10_001))
    assert dot(one, other) == pytest.approx(float(np.sum(one * other)), rel=1e-9)
