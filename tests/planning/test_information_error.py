"""The mutual information of noisy tables: formulas against simulation, both ways of dividing."""

from __future__ import annotations

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.planning.entropy_error import entropy_error
from panbayes.planning.information_error import information, information_error
from panbayes.planning.noise_moments import NoiseMoments
from tests.planning.simulated import FloatArray, close, event_of, minus_x_ln_x, noisy_tables, precise, second_order

DEPENDENT = np.array([[0.3, 0.1, 0.1], [0.06, 0.2, 0.24]])
INDEPENDENT = np.outer([0.6, 0.4], [0.5, 0.3, 0.2])
QUARTERS = np.outer([0.6, 0.4], [0.5, 0.5])
UNIFORM = np.full((4, 5), 0.05)
BLEND = 0.7 * np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.3]) + 0.3 * np.diag([0.4, 0.35, 0.25])


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("law", "records", "holders", "part"),
    [
        (DEPENDENT, 3_000, 1, 0.1),
        (DEPENDENT, 20_000, 4, 0.12),
        (INDEPENDENT, 2_000, 3, 0.12),
        (UNIFORM, 10_000, 3, 0.12),
        (BLEND, 5_000, 2, 0.12),
    ],
)
def test_bias_and_squared_error_are_those_of_a_simulation(
    law: FloatArray, records: int, holders: int, part: float, kind: str, normalised: bool
) -> None:
    event = event_of(kind, part * records * float(law.min()) / holders**0.5)
    tables = noisy_tables(law, records=records, event=event, holders=holders, times=40_000, seed=records + holders)
    cells = tables.reshape(-1, *law.shape).astype(np.float64)
    shares = cells / (cells.sum(axis=(1, 2), keepdims=True) if normalised else records)
    plain = (
        minus_x_ln_x(shares.sum(axis=1)).sum(axis=1)
        + minus_x_ln_x(shares.sum(axis=2)).sum(axis=1)
        - minus_x_ln_x(shares).sum(axis=(1, 2))
        - information(law)
    )
    told = np.log(law / np.outer(law.sum(axis=1), law.sum(axis=0)))
    slope = told - (information(law) if normalised else 1.0)
    centred = plain - (slope * (cells / records - law)).sum(axis=(1, 2))
    found = information_error(
        law, records=records, noise=NoiseMoments.of(event, holders=holders), normalised=normalised
    )
    assert found.holds
    assert precise(centred, within=0.12)
    assert close(found.bias, centred, within=0.12)
    assert precise(plain**2, within=0.15)
    assert close(found.mean_squared, plain**2, within=0.15)
    assert found.deviation**2 == pytest.approx(found.mean_squared)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_dividing_by_the_noisy_sum_matters_most_in_small_tables(kind: str) -> None:
    event = event_of(kind, 0.12 * 2_000 * float(QUARTERS.min()))
    tables = noisy_tables(QUARTERS, records=2_000, event=event, holders=1, times=150_000, seed=5)
    cells = tables.reshape(-1, 2, 2).astype(np.float64)
    shares = cells / cells.sum(axis=(1, 2), keepdims=True)
    scores = minus_x_ln_x(shares.sum(axis=1)).sum(axis=1) + minus_x_ln_x(shares.sum(axis=2)).sum(axis=1)
    scores = scores - minus_x_ln_x(shares).sum(axis=(1, 2))
    found = information_error(QUARTERS, records=2_000, noise=NoiseMoments.of(event, holders=1))
    assert precise(scores, within=0.12)
    assert close(found.bias, scores, within=0.12)
    assert found.noise > found.chance


def test_the_bias_is_that_of_three_entropies() -> None:
    records, noise = 4_000, NoiseMoments.laplace(9.0, holders=3)
    rows, columns = DEPENDENT.shape
    parts = []
    for law, cells in ((DEPENDENT.sum(axis=1), columns), (DEPENDENT.sum(axis=0), rows), (DEPENDENT, 1)):
        more = NoiseMoments(cells * noise.second, noise.fourth, noise.sixth)
        parts.append(entropy_error(law, records=records, noise=more))
    found = information_error(DEPENDENT, records=records, noise=noise, normalised=False)
    assert found.chance == pytest.approx(parts[0].chance + parts[1].chance - parts[2].chance)
    assert found.noise == pytest.approx(parts[0].noise + parts[1].noise - parts[2].noise)


def test_noise_makes_large_independent_tables_look_informative() -> None:
    noise = NoiseMoments.laplace(5.0, holders=3)
    small, large = (information_error(np.full((k, k), 1 / k**2), records=10_000, noise=noise) for k in (2, 8))
    assert large.noise > 40 * small.noise > 0


@pytest.mark.parametrize("law", [np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.0, 0.0]])])
def test_empty_cells_and_vectors_are_refused(law: FloatArray) -> None:
    with pytest.raises(InputError, match="law: found an empty cell"):
        information_error(law, records=10, noise=NoiseMoments(0.0, 0.0, 0.0))


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("scale", [3.0, 60.0])
@pytest.mark.parametrize("law", [DEPENDENT, INDEPENDENT, BLEND])
def test_second_order_is_what_derivatives_and_the_covariance_give(
    law: FloatArray, scale: float, normalised: bool
) -> None:
    def told(p: FloatArray) -> float:
        table = (p / p.sum() if normalised else p).reshape(law.shape)
        parts = (table.sum(axis=1), table.sum(axis=0), table)
        rows, columns, cells = (float(minus_x_ln_x(part).sum()) for part in parts)
        return rows + columns - cells

    noise = NoiseMoments.laplace(scale, holders=3)
    bias, squared = second_order(told, law, records=500.0, noise=noise)
    found = information_error(law, records=500, noise=noise, normalised=normalised)
    assert found.bias == pytest.approx(bias, rel=1e-3)
    assert found.mean_squared == pytest.approx(squared, rel=1e-3)
