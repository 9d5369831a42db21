"""Holders' own single attributes: chance and noise make no difference, a real one does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.own_marginals import own_marginals

LAWS = [np.array([0.7, 0.3]), np.array([0.4, 0.3, 0.2, 0.1]), np.full(10, 0.1)]
BELIEF = Belief(
    9_000.0,
    tuple(Estimate(law, np.ones(law.size)) for law in LAWS),
    tuple(Nested.of(law, ordered=False) for law in LAWS),
)
NOISE = NoiseLaw(True, ((20.0, 1),))


def singles(seed: int, **records: list[NDArray[np.float64]]) -> list[Measurement]:
    """Noisy tables of records drawn from the laws of every holder."""
    rng = np.random.default_rng(seed)
    return [
        Measurement(
            ((place, law.size),),
            {
                name: rng.multinomial(3_000, laws[place]).astype(np.float64) + np.rint(rng.normal(0, 20, law.size))
                for name, laws in records.items()
            },
            NOISE,
        )
        for place, law in enumerate(LAWS)
    ]


def test_chance_and_noise_make_no_difference() -> None:
    """Of 300 attributes of holders that are alike, nearly all are exactly the common ones."""
    same = 0
    for seed in range(50):
        measured = singles(seed, a=LAWS, b=LAWS)
        found = own_marginals(BELIEF, measured, {"a": 3_000.0, "b": 3_000.0})
        same += sum(bool(np.all(one == law)) for own in found.values() for one, law in zip(own, LAWS, strict=True))
    assert same > 270


def test_a_real_difference_is_followed() -> None:
    """One holder has the values in the other order; the other holder stays where it is."""
    turned = [law[::-1] for law in LAWS]
    found = own_marginals(BELIEF, singles(1, a=LAWS, b=turned), {"a": 3_000.0, "b": 3_000.0})
    for place in (0, 1):
        assert found["b"][place] == pytest.approx(turned[place], abs=0.03)
        assert found["a"][place] == pytest.approx(LAWS[place], abs=0.03)
        assert found["b"][place].sum() == pytest.approx(1)


def test_one_holder_has_the_common_ones() -> None:
    turned = [law[::-1] for law in LAWS]
    (own,) = own_marginals(BELIEF, singles(1, a=turned), {"a": 3_000.0}).values()
    assert all(np.array_equal(one, law) for one, law in zip(own, LAWS, strict=True))
