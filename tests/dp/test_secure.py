"""Secure noise: nothing to seize, nothing to repeat, and saturation where numbers never come."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.dp import opendp_bridge
from panbayes.dp.sampler import MAX_NOISE, MAX_SCALE, MIN_SCALE
from panbayes.dp.secure import OPENDP_CELLS, SecureNoise


def test_forked_processes_draw_different_noise() -> None:
    # A generator buffered before the fork would repeat itself; 40 integers agree with probability below 2**-80.
    program = (
        "import os, sys, numpy as np; from fractions import Fraction; from panbayes.dp.secure import SecureNoise\n"
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


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_two_cells_never_share_their_noise(law: str) -> None:
    """At the largest scale two cells agree, or cancel, with probability below 3e-10; two times of three below 1e-18.

    A source that drew once for several cells would let an analyst subtract the noise away.
    """
    noise = SecureNoise()
    alike = 0
    for _ in range(3):
        if law == "laplace":
            drawn = noise.discrete_laplace(2, scale=MAX_SCALE)
        else:
            drawn = noise.discrete_gaussian(2, variance=MAX_SCALE**2)
        alike += abs(int(drawn[0])) == abs(int(drawn[1]))
    assert alike < 2


@pytest.mark.parametrize("size", [64, OPENDP_CELLS + 1])
def test_no_cells_of_a_table_share_their_noise(size: int) -> None:
    """2,000 cells of a larger table, at the largest scale, among which a pair agrees with probability below 1e-3.

    Three agree, or three pairs do, with probability below 1e-9.
    """
    drawn = SecureNoise().discrete_laplace(size, scale=MAX_SCALE)[:2_000]
    assert len({abs(number) for number in drawn.tolist()}) > drawn.size - 3
    if size < OPENDP_CELLS:
        drawn = SecureNoise().discrete_gaussian(size, variance=MAX_SCALE**2)
        assert len({abs(number) for number in drawn.tolist()}) > drawn.size - 3


SCALES = [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(903, 7), Fraction(10**15 + 1, 3), Fraction(1)]


@pytest.mark.parametrize("asked", [*SCALES, *(Fraction(2**k) / 10 for k in range(-12, 24, 3))])
def test_the_scale_served_is_never_below_the_scale_asked_for(asked: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """A float next to the scale may lie below it, and the loss above the charge; what is handed over does not."""
    served: list[Fraction] = []

    def keep_noise(zeros: list[int], *, scale: float) -> NDArray[np.int64]:
        assert isinstance(scale, float)
        served.append(Fraction(scale))
        return np.zeros(len(zeros), dtype=np.int64)

    monkeypatch.setattr(opendp_bridge, "add_discrete_laplace", keep_noise)
    monkeypatch.setattr(opendp_bridge, "add_discrete_gaussian", keep_noise)
    noise = SecureNoise()
    if MIN_SCALE <= asked <= MAX_SCALE:
        noise.discrete_laplace(3, scale=asked)
        noise.discrete_gaussian(3, variance=asked**2)
    for scale in served:
        assert asked < scale < asked * (1 + Fraction(1, 2**30))


def test_secure_noise_has_nothing_to_seize() -> None:
    assert not hasattr(SecureNoise(), "__dict__")
    assert SecureNoise.__slots__ == ()


def test_opendp_is_loaded_when_used_and_its_prelude_never() -> None:
    program = (
        "import sys; from fractions import Fraction; from panbayes.dp.secure import SecureNoise; "
        "import panbayes.dp.mechanisms; print('opendp' in sys.modules); "
        "SecureNoise().discrete_laplace(3, scale=Fraction(1)); print('opendp.measurements' in sys.modules, "
        "'opendp.prelude' in sys.modules, 'opendp.context' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False", "False"]


def test_numbers_that_are_never_drawn_are_saturated(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenDP saturates at the ends of int64, which it reaches with probability exp(−2³²); we do before that."""
    ends = np.array([2**63 - 1, -(2**63), MAX_NOISE + 1, MAX_NOISE - 1, 5])

    def at_the_ends(_zeros: list[int], *, scale: float) -> NDArray[np.int64]:
        assert scale > 0
        return ends

    monkeypatch.setattr(opendp_bridge, "add_discrete_laplace", at_the_ends)
    monkeypatch.setattr(opendp_bridge, "add_discrete_gaussian", at_the_ends)
    expected = [MAX_NOISE, -MAX_NOISE, MAX_NOISE, MAX_NOISE - 1, 5]
    assert SecureNoise().discrete_laplace(5, scale=Fraction(1)).tolist() == expected
    assert SecureNoise().discrete_gaussian(5, variance=Fraction(1)).tolist() == expected
