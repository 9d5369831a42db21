"""The contract of noise sources, over every implementation; the charge against OpenDP's own privacy map."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import discrete_laplace_tail, selection_pmf
from panbayes.dp import noise as noise_module
from panbayes.dp.noise import OPENDP_CELLS, Noise, SecureNoise, Selection, SimulatedNoise
from panbayes.dp.opendp_bridge import (
    discrete_laplace_map,
    noisy_max_map,
    padded_scale,
)
from panbayes.dp.sampler import MAX_NOISE, MAX_SCALE, MIN_SCALE
from panbayes.exact.bounds import float_above

FALSE_ALARM = 1e-11
"""Each statistical test of true randomness fails by chance with at most this probability."""

SOURCES: dict[type, Callable[[], Noise]] = {
    SecureNoise: SecureNoise,
    SimulatedNoise: lambda: SimulatedNoise(20_261_101),
}
sources = pytest.mark.parametrize("noise", [make() for make in SOURCES.values()], ids=lambda n: type(n).__name__)
HALF = Fraction(1, 2)


def test_every_implementation_is_under_contract() -> None:
    methods = {name for name in vars(Noise) if not name.startswith("_")}
    found = {
        value
        for value in vars(noise_module).values()
        if inspect.isclass(value) and value is not Noise and methods <= set(dir(value))
    }
    assert found == set(SOURCES)


@sources
@pytest.mark.parametrize("size", [0, 1, 7, OPENDP_CELLS + 1])
def test_shapes(noise: Noise, size: int) -> None:
    counts = noise.discrete_laplace(size, scale=Fraction(5, 3))
    coins = noise.bernoulli(size, probability=Fraction(1, 3))
    assert counts.shape == coins.shape == (size,)
    assert counts.dtype == np.int64
    assert coins.dtype == np.bool_
    assert (np.abs(counts) <= MAX_NOISE).all()


def cells(values: NDArray[np.int64], scale: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return edges at multiples of the scale, and the numbers of values between them."""
    edges = np.unique(np.rint(np.array([-3, -2, -1, -0.5, -0.2, 0.2, 0.5, 1, 2, 3]) * float(scale)).astype(int))
    return edges, np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)


@sources
@pytest.mark.parametrize("size", [50_000, 150_000])
@pytest.mark.parametrize("scale", [Fraction(2, 3), Fraction(20), Fraction(10**9, 7)])
def test_laplace_noise_has_its_scale_and_no_other(noise: Noise, size: int, scale: Fraction) -> None:
    edges, counts = cells(noise.discrete_laplace(size, scale=scale), scale)

    def p_value(b: Fraction) -> float:
        above = np.concatenate([[1.0], discrete_laplace_tail(edges, scale=b), [0.0]])
        return float(stats.chisquare(counts, -np.diff(above) * size).pvalue)

    assert p_value(scale) > FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(9, 10), Fraction(11, 10), Fraction(13, 10)):
        assert p_value(scale * wrong) < FALSE_ALARM


@sources
def test_coins_have_their_probability_and_no_other(noise: Noise) -> None:
    for p in (HALF, Fraction(1, 3), Fraction(999, 1000)):
        heads = int(noise.bernoulli(400_000, probability=p).sum())
        assert stats.binomtest(heads, 400_000, float(p)).pvalue > FALSE_ALARM
        assert stats.binomtest(heads, 400_000, float(p * Fraction(97, 100))).pvalue < FALSE_ALARM
    assert noise.bernoulli(1000, probability=Fraction(1)).all()
    assert not noise.bernoulli(1000, probability=Fraction(0)).any()


@sources
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_selections_have_their_law_and_no_other(noise: Noise, mechanism: Selection) -> None:
    # 12,000 draws: laws at ±30 % and the other mechanism's are 8 standard deviations beyond the threshold.
    scores, scale, draws = np.array([6.5, 9.5, 5.0, 8.0]), Fraction(3, 2), 12_000
    before = scores.copy()
    picked = [noise.select(scores, scale=scale, mechanism=mechanism) for _ in range(draws)]
    counts = np.bincount(picked, minlength=scores.size)
    assert (scores == before).all()

    def p_value(b: Fraction, by: Selection) -> float:
        return float(stats.chisquare(counts, selection_pmf(scores, scale=b, mechanism=by) * draws).pvalue)

    other: Selection = "exponential" if mechanism == "permute-and-flip" else "permute-and-flip"
    assert p_value(scale, mechanism) > FALSE_ALARM
    assert p_value(scale, other) < FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert p_value(scale * wrong, mechanism) < FALSE_ALARM


@sources
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_a_selection_far_ahead_is_taken(noise: Noise, mechanism: Selection) -> None:
    # The others lack 100 scales each: taken with probability below 1e-39.
    for winner in (0, 3, 999):
        scores = np.zeros(1000)
        scores[winner] = 100.0
        assert noise.select(scores, scale=Fraction(1), mechanism=mechanism) == winner
    assert noise.select(np.array([-1e300]), scale=Fraction(1, 10**9), mechanism=mechanism) == 0


@sources
@pytest.mark.parametrize(
    "call",
    [
        lambda n: n.discrete_laplace(-1, scale=Fraction(1)),
        lambda n: n.discrete_laplace(1, scale=Fraction(0)),
        lambda n: n.discrete_laplace(1, scale=Fraction(-3)),
        lambda n: n.discrete_laplace(1, scale=MAX_SCALE + 1),
        lambda n: n.discrete_laplace(1, scale=MIN_SCALE / 2),
        lambda n: n.bernoulli(1, probability=Fraction(-1, 10)),
        lambda n: n.bernoulli(1, probability=Fraction(11, 10)),
        lambda n: n.select(np.array([]), scale=Fraction(1), mechanism="exponential"),
        lambda n: n.select(np.zeros((2, 2)), scale=Fraction(1), mechanism="exponential"),
        lambda n: n.select(np.array([1.0, np.nan]), scale=Fraction(1), mechanism="exponential"),
        lambda n: n.select(np.array([1.0, np.inf]), scale=Fraction(1), mechanism="permute-and-flip"),
        lambda n: n.select(np.zeros(3), scale=Fraction(0), mechanism="permute-and-flip"),
        lambda n: n.select(np.zeros(3), scale=Fraction(1), mechanism="report-noisy-max"),
    ],
)
def test_refusals(noise: Noise, call: Callable[[Noise], object]) -> None:
    with pytest.raises(ValueError, match=r"found|must"):
        call(noise)


def test_who_is_private() -> None:
    assert SecureNoise().private
    assert SecureNoise().spawn(b"anything").private
    assert not SimulatedNoise(0).private
    assert not SimulatedNoise(0).spawn(b"anything").private


def drawn(noise: Noise) -> list[int]:
    """Draw a little of everything."""
    counts = noise.discrete_laplace(20, scale=Fraction(9)).tolist()
    coins = noise.bernoulli(20, probability=HALF).tolist()
    return [*counts, *coins, noise.select(np.zeros(50), scale=Fraction(1), mechanism="permute-and-flip")]


def test_simulated_noise_repeats_itself() -> None:
    assert drawn(SimulatedNoise(5)) == drawn(SimulatedNoise(5))
    assert drawn(SimulatedNoise(5)) != drawn(SimulatedNoise(6))
    assert drawn(SimulatedNoise(2**300)) == drawn(SimulatedNoise(2**300))
    with pytest.raises(ValueError, match="negative"):
        SimulatedNoise(-1)


def test_streams_by_key_do_not_depend_on_what_was_drawn() -> None:
    used, fresh = SimulatedNoise(5), SimulatedNoise(5)
    drawn(used)
    assert drawn(used.spawn(b"holder 1, query 9")) == drawn(fresh.spawn(b"holder 1, query 9"))
    streams = [drawn(fresh.spawn(key)) for key in (b"", b"a", b"b", b"ab")]
    streams += [drawn(fresh.spawn(b"a").spawn(b"b")), drawn(fresh), drawn(SimulatedNoise(6).spawn(b"a"))]
    assert all(a != b for i, a in enumerate(streams) for b in streams[:i])


def test_simulated_streams_stay_as_they_are() -> None:
    # Golden values: experiments cite a seed, so a change of these numbers is a change of published results.
    child = SimulatedNoise(2026).spawn(b"holder 1")
    assert child.discrete_laplace(8, scale=Fraction(20)).tolist() == [-38, -4, -2, -50, -21, -3, 35, -8]
    assert child.select(np.arange(100.0), scale=Fraction(30), mechanism="exponential") == 72


def test_secure_noise_never_repeats_itself() -> None:
    # 20 integers of scale 9, 20 coins and more: equal with probability below 2**-80.
    assert drawn(SecureNoise()) != drawn(SecureNoise())


def test_forked_processes_draw_different_noise() -> None:
    # A generator buffered before the fork would repeat itself; 40 integers agree with probability below 2**-80.
    program = (
        "import os, sys, numpy as np; from fractions import Fraction; from panbayes.dp.noise import SecureNoise\n"
        "def line():\n"
        "    noise = SecureNoise(); scores = np.zeros(10**6)\n"
        "    drawn = noise.discrete_laplace(40, scale=Fraction(9)).tolist()\n"
        "    picked = [noise.select(scores[:1000], scale=Fraction(1), mechanism='exponential') for _ in range(9)]\n"
        "    print(drawn); print(picked); sys.stdout.flush()\n"
        "line()\n"
        "for _ in range(3):\n"
        "    child = os.fork()\n"
        "    if not child: line(); os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "line()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 10


def test_secure_noise_has_nothing_to_seize() -> None:
    assert not hasattr(SecureNoise(), "__dict__")
    assert SecureNoise.__slots__ == ()


def test_opendp_is_loaded_when_used_and_its_prelude_never() -> None:
    program = (
        "import sys; from fractions import Fraction; from panbayes.dp.noise import SecureNoise; "
        "import panbayes.dp.mechanisms; print('opendp' in sys.modules); "
        "SecureNoise().discrete_laplace(3, scale=Fraction(1)); print('opendp.measurements' in sys.modules, "
        "'opendp.prelude' in sys.modules, 'opendp.context' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False", "False"]


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.fractions(MIN_SCALE, MAX_SCALE))
def test_padded_scales_are_above_and_close(scale: Fraction) -> None:
    assert scale < Fraction(padded_scale(scale)) < scale * (1 + Fraction(1, 2**49))


def test_the_charge_is_never_below_the_map_of_opendp_for_counts() -> None:
    # The trap: at the scale 2k itself the map exceeds 1/k for nearly every k. Then thousands of other pairs.
    pairs = [(2, Fraction(1, k)) for k in range(1, 1000)]
    naive = sum(Fraction(discrete_laplace_map(d, scale=float(d / e))) > e for d, e in pairs)
    assert naive > 900, "OpenDP no longer rounds up: the padding may be reconsidered"
    random = np.random.default_rng(3)
    for _ in range(2500):
        sensitivity = int(random.integers(1, 10 ** int(random.integers(1, 6))))
        digits = int(random.integers(1, 12))
        pairs.append((sensitivity, Fraction(int(random.integers(1, 3 * 10**digits)), 10**digits)))
        pairs.append((sensitivity, Fraction(1, int(random.integers(1, 10**6)))))
    for sensitivity, epsilon in pairs:
        scale = Fraction(sensitivity) / epsilon
        if MIN_SCALE <= scale <= MAX_SCALE:
            served = padded_scale(scale)
            assert sensitivity / Fraction(served) <= epsilon
            assert Fraction(discrete_laplace_map(sensitivity, scale=served)) <= epsilon


def test_the_charge_is_never_below_the_map_of_opendp_for_selections() -> None:
    random = np.random.default_rng(4)
    for trial in range(3000):
        sensitivity = Fraction(float(random.uniform(0.01, 4))) if trial % 2 else Fraction(3, int(trial) + 1)
        epsilon = Fraction(int(random.integers(1, 10**6)), 10**5) if trial % 3 else Fraction(1, trial + 1)
        served = padded_scale(2 * sensitivity / epsilon)
        assert 2 * sensitivity / Fraction(served) <= epsilon
        assert Fraction(noisy_max_map(float_above(sensitivity), scale=served)) <= epsilon
