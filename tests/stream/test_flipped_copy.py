"""Flipped copies: what they show, what they cost, and that each is paid for before it is handed over.

That a copy adds η to ρ is enumerated in ``test_turns_loss.py``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.exact.bounds import surely_at_most_exp
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.flipped_copy import FlippedCopies, FlippedCopy, flip_chance
from panbayes.stream.guarantee.calibration import Calibration, calibrate
from panbayes.stream.guarantee.loss import joint_loss
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.laws.counter_law import counter_law
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.saved_setup import load_setup, save_setup
from panbayes.stream.setup import configure
from panbayes.stream.state.coins import seeded_coins
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.visits import Visits
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import Window

TWO = FlippedCopies.plan(2, "1/2")

GOLDEN = (
    b'{"kind":"panbayes flipped copy","version":1,"users":"the integers 0 to 69","entries":70,"parts":1,'
    b'"init":1073741824,"update":3221225472,"flip":1155092543,"out_of":4294967296,"epsilon":"3","eta":"1","turn":2,'
    b'"private":true,"bits":"AQAAAAAAAIA/AAAAAAAAAA==",'
    b'"universe":"00","spread":[],"size":70,"forget":4294967296,"where":[],"site":"00112233445566778899aabbccddeeff"}'
)


@pytest.mark.parametrize("eta", [Fraction(1, 1000), Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(12)])
def test_the_chance_of_a_flip_is_the_least_that_keeps_eta(eta: Fraction) -> None:
    chance = flip_chance(eta)
    assert surely_at_most_exp(Fraction(COIN - chance, chance), eta)
    assert not surely_at_most_exp(Fraction(COIN - chance + 1, chance - 1), eta)
    assert chance / COIN == pytest.approx(1 / (1 + math.exp(eta)), abs=2 / COIN)


def test_copies_share_the_budget_with_the_releases() -> None:
    plain = calibrate(epsilon=Fraction(2), sample=10_000, universe=None, releases=3)
    copied = calibrate(epsilon=Fraction(2), sample=10_000, universe=None, releases=3, flipped=2, eta=Fraction(1, 4))
    rate = 3 / copied.noise_scale + Fraction(1, 2)
    assert copied.rate == rate
    assert 1.9999 < joint_loss(copied.law, float(rate)) <= 2
    assert 1.9999 < copied.loss() <= 2
    assert copied.noise_scale > plain.noise_scale
    closer = copied.noise_scale - Fraction(1, 1000)
    with pytest.raises(ValueError, match="more than the total"):
        Calibration(copied.epsilon, copied.state_epsilon, copied.law, closer, 3, 2, Fraction(1, 4))
    with pytest.raises(ValueError, match="more than the total"):
        Calibration(copied.epsilon, copied.state_epsilon, copied.law, copied.noise_scale, 3, 3, Fraction(1, 4))


@pytest.mark.parametrize(("flipped", "eta"), [(1, 0), (0, 1), (-1, 1), (1, -1), (0, -1), (10_001, Fraction(1, 10**9))])
def test_a_calibration_of_copies_that_cannot_be_is_refused(flipped: int, eta: Fraction) -> None:
    plain = calibrate(epsilon=Fraction(1), sample=1000, universe=None)
    with pytest.raises(ValueError, match="flipped copies"):
        Calibration(plain.epsilon, plain.state_epsilon, plain.law, 2 * plain.noise_scale, 1, flipped, Fraction(eta))


def test_only_bits_are_flipped() -> None:
    with pytest.raises(ValueError, match="only bits"):
        Calibration(Fraction(4), Fraction(1), counter_law(Fraction(1), 4), Fraction(10), 1, 1, Fraction(1, 2))
    with pytest.raises(InputError, match="two levels"):
        configure(1000, epsilon=1, statistic=Visits(3), flipped=TWO)
    with pytest.raises(InputError, match="two levels"):
        configure(1000, epsilon=2, law="quantized-laplace", levels=4, flipped=TWO)


def test_copies_that_leave_nothing_are_refused() -> None:
    with pytest.raises(InputError, match=r"the flipped copies alone take 5"):
        configure(1000, epsilon=1, flipped=FlippedCopies.plan(5, 1))
    with pytest.raises(InputError, match="plan 1 to"):
        FlippedCopies.plan(0, 1)


def test_the_variance_that_copies_cost_is_said() -> None:
    """Known figures: a split of E = 1, 2, 4 with the best share for one copy costs 3.6, 2.7, 1.6 at most."""
    setup = configure(10**6, epsilon=1, flipped=FlippedCopies.plan(1, "1/2"))
    plain = configure(10**6, epsilon=1)
    assert setup.flipped_cost() == pytest.approx((setup.error() / plain.error()) ** 2)
    assert setup.flipped_cost() == pytest.approx(2.55, abs=0.1)
    assert plain.flipped_cost() == pytest.approx(1.0)


def test_a_copy_has_the_law_it_says() -> None:
    size = 200_000
    with StreamEstimator(size, Density(), epsilon=3, flipped=TWO, coins=seeded_coins(4)) as estimator:
        estimator.update(np.arange(size // 2))
        first, second = estimator.look(), estimator.look()
    assert not first.private
    one, other = (np.unpackbits(copy.bits, bitorder="little")[:size] for copy in (first, second))
    flip = 1 / (1 + math.exp(0.5))
    apart = 2 * flip * (1 - flip)
    assert abs((one != other).mean() - apart) < 5 * math.sqrt(apart * (1 - apart) / size), "flipped anew each time"
    for copy in (first, second):
        slope = (copy.update - copy.init) / COIN * (1 - 2 * flip)
        assert copy.density() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(size) / slope)
        halves = np.unpackbits(copy.bits, bitorder="little")[:size].reshape(2, -1).mean(axis=1)
        assert halves[0] - halves[1] == pytest.approx(slope, abs=5 / math.sqrt(size))


def test_a_copy_leaves_the_state_alone_and_is_paid_for(tmp_path: Path) -> None:
    place = tmp_path / "state"
    with StreamEstimator.create(place, 5000, Density(), epsilon=3, flipped=TWO, window=Window(anew=True)) as estimator:
        estimator.update(np.arange(2500))
        before = place.read_bytes()[24576:]
        assert estimator.look().private
        assert place.read_bytes()[24576:] == before
        assert estimator.flipped_left == 1
    with StreamEstimator[DensityEstimate].open(place, writing=False) as estimator:
        assert estimator.flipped_left == 1
        estimator.look()
        with pytest.raises(InputError, match="every planned copy"):
            estimator.look()
        assert (estimator.flipped_left, estimator.releases_left) == (0, 1)
    with StreamEstimator[DensityEstimate].open(place) as estimator:
        with pytest.raises(InputError, match="every planned copy"):
            estimator.look()
        estimator.turn()
        assert estimator.flipped_left == 2
        assert estimator.look().turn == 1


def test_a_half_life_gives_no_new_copies() -> None:
    with StreamEstimator(5000, Density(), epsilon=3, flipped=TWO, window=Window(half_life=3)) as estimator:
        estimator.look()
        estimator.turn()
        assert estimator.flipped_left == 1


def test_nobody_gets_a_copy_that_was_not_planned() -> None:
    with StreamEstimator(5000, Density(), epsilon=3) as estimator, pytest.raises(InputError, match="no copy"):
        estimator.look()


def test_hashed_tiers_are_copied_in_parts() -> None:
    with DistinctCounter(
        epsilon=6, memory="4K", flipped=FlippedCopies.plan(1, 3), key="ab" * 16, coins=seeded_coins(1)
    ) as counter:
        counter.update(np.arange(3000))
        copy = counter.look()
        universe = counter.setup.universe
    assert (copy.sections, copy.entries) == (universe.sections, universe.entries)
    ones, cells = copy.ones(), copy.entries // copy.sections
    assert len(ones) == copy.sections
    filled = -math.expm1(-3000 / (2 * cells))
    assert ones[0] / cells == pytest.approx((copy.init + (copy.update - copy.init) * filled) / COIN, abs=0.07)
    assert ones[-1] / cells == pytest.approx(copy.init / COIN, abs=0.07)


def test_a_copy_is_read_as_it_was_written() -> None:
    copy = FlippedCopy.from_bytes(GOLDEN)
    assert copy.to_bytes() == GOLDEN
    assert (copy.users, copy.entries, copy.sections, copy.turn, copy.private) == (
        "the integers 0 to 69",
        70,
        1,
        2,
        True,
    )
    assert (copy.epsilon, copy.eta) == (Fraction(3), Fraction(1))
    flip = 1155092543 / COIN
    assert copy.ones() == pytest.approx(((8 - 70 * flip) / (1 - 2 * flip),))
    assert copy.density() == pytest.approx((copy.ones()[0] / 70 - 0.25) / 0.5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"version":1', b'"version":2'),
        (b"flipped copy", b"something else"),
        (b'"entries":70', b'"entries":700'),
        (b'"parts":1', b'"parts":0'),
        (b'"flip":1155092543', b'"flip":2155092543'),
        (b'"flip":1155092543', b'"flip":0'),
        (b'"out_of":4294967296', b'"out_of":5'),
        (b'"eta":"1"', b'"eta":"one"'),
        (b'"turn":2', b'"turn":-2'),
        (b"AQAA", b"!QAA"),
        (b"{", b"["),
    ],
)
def test_what_is_no_copy_is_refused(old: bytes, new: bytes) -> None:
    assert old in GOLDEN
    with pytest.raises(InputError, match="not a flipped copy"):
        FlippedCopy.from_bytes(GOLDEN.replace(old, new))


def test_a_setup_with_copies_is_read_as_it_was_written() -> None:
    setup = configure(1000, epsilon=2, flipped=TWO)
    saved = save_setup(setup)
    assert saved.header.endswith(b',"flipped":2,"eta":"1/2"}')
    assert load_setup(saved) == setup
    assert "and flipped copies" in setup.scope
    for old, new in ((b'"flipped":2', b'"flipped":3'), (b'"eta":"1/2"', b'"eta":"1"'), (b',"eta":"1/2"', b"")):
        with pytest.raises(ValueError, match=r"more than|eta"):
            load_setup(Saved(saved.header.replace(old, new)))
