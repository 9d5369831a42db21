"""Simulated noise: the same numbers from the same seed, today and in years."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from panbayes.dp.simulated import SimulatedNoise


def test_seeds_of_any_size_but_none_below_zero() -> None:
    huge = [SimulatedNoise(2**300).discrete_laplace(20, scale=Fraction(9)).tolist() for _ in range(2)]
    assert huge[0] == huge[1]
    with pytest.raises(ValueError, match="negative"):
        SimulatedNoise(-1)


def test_simulated_streams_stay_as_they_are() -> None:
    # Golden values: experiments cite a seed, so a change of these numbers is a change of published results.
    child = SimulatedNoise(2026).spawn(b"holder 1")
    assert child.discrete_laplace(8, scale=Fraction(20)).tolist() == [-38, -4, -2, -50, -21, -3, 35, -8]
    assert child.select(np.arange(100.0), scale=Fraction(30), mechanism="exponential") == 72
    other = SimulatedNoise(2026).spawn(b"holder 2")
    assert other.discrete_gaussian(8, variance=Fraction(400)).tolist() == [-9, 2, 36, 6, -15, 29, 17, -31]
    coins = other.bernoulli(12, probability=Fraction(1, 3)).astype(int)
    assert coins.tolist() == [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    assert other.select(np.arange(100.0), scale=Fraction(30), mechanism="permute-and-flip") == 92
    many = other.discrete_gaussian(5000, variance=Fraction(400))
    assert (int(many.sum()), int((many**2).sum())) == (-759, 1_966_991)
    radius = SimulatedNoise(2026).spawn(b"holder 3")
    balanced = radius.one_radius((2, 3, 4), scale=Fraction(20), balanced=True)
    assert balanced.tolist() == [-101, 101, -65, -5, 70, 94, -7, -51, -36]
    free = radius.one_radius((2, 3, 4), scale=Fraction(20), balanced=False)
    assert free.tolist() == [-8, 2, -33, -6, -90, -9, -2, -21, -77]
