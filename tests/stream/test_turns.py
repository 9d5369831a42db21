"""Panels, periods and forgetting: who counts when, what the estimates say, and what a file keeps of it."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.accuracy.tier_design import TierDesign, relative_error
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.quantized_laplace import QUANTIZED_LAPLACE
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.setup import configure
from panbayes.stream.state.coins import seeded_coins, system_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Store
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import Window, decay_bias, half_life_of
from tests.effort import often
from tests.stream.slots import slots_of

KEY = bytes(range(16))


@pytest.mark.parametrize("ids", [np.arange(5000), [f"user-{i}@example.org" for i in range(5000)]])
@pytest.mark.parametrize("tiers", [1, 3])
def test_every_user_has_a_cell_in_one_panel_and_the_same_one(ids: object, tiers: int) -> None:
    whole = HashedUniverse(tiers, 640, 640, KEY)
    rotating = HashedUniverse(tiers, 640, 640, KEY, panels=7)
    everywhere = np.array(slots_of(whole, ids))
    by_turn = np.array([slots_of(rotating.at(turn), ids) for turn in range(7)])
    assert ((by_turn >= 0).sum(axis=0) == 1).all()
    assert (by_turn.max(axis=0) == everywhere).all()
    assert (by_turn[3] == np.array(slots_of(rotating.at(10), ids))).all()
    sizes = (by_turn >= 0).sum(axis=1)
    assert ((sizes - 5000 / 7) ** 2 / (5000 / 7)).sum() < 40  # chi-squared of 6 degrees: above 40 once in 2,000,000


def test_the_panel_says_nothing_about_the_cell() -> None:
    """Where it did, the users of a panel would crowd in some cells."""
    rotating = HashedUniverse(1, 640, 640, KEY, panels=4)
    found = np.array(slots_of(rotating.at(1), np.arange(100_000)))
    counts = np.bincount(found[found >= 0], minlength=640)
    mean = counts.mean()
    assert ((counts - mean) ** 2 / mean).sum() < 640 + 6 * math.sqrt(2 * 640)


@pytest.mark.parametrize("window", [Window(panels=5), Window(panels=5, panel=2)])
def test_ids_of_other_panels_leave_the_state_alone(window: Window, tmp_path: Path) -> None:
    place = tmp_path / "state"
    with DistinctCounter.create(place, epsilon=1, expect=4000, window=window, key=KEY.hex()) as counter:
        users = counter.setup.users_at(0)
        assert isinstance(users, HashedUniverse)
        slots = slots_of(users, np.arange(4000))
        outside = np.array([i for i, slot in enumerate(slots) if slot < 0])
        before = place.read_bytes()
        counter.update(outside)
        for one in outside[:300].tolist():
            counter.add(one)
        assert place.read_bytes() == before
        counter.update(np.array([i for i, slot in enumerate(slots) if slot >= 0]))
        assert place.read_bytes() != before


def test_the_error_of_a_panel_is_the_states_and_that_of_who_is_in_it() -> None:
    n, k = 3_000_000, 30
    one = TierDesign(0.38, 0.62, 1 << 17, (1 << 17,), 30.0)
    panel = TierDesign(0.38, 0.62, 1 << 17, (k << 17,), 30.0)
    assert relative_error(panel, n) ** 2 == pytest.approx(relative_error(one, n / k) ** 2 + (k - 1) / n, rel=1e-3)


def test_every_day_of_a_rotating_panel_speaks_of_all_users() -> None:
    n, k = 60_000, 12
    with DistinctCounter(
        epsilon=4,
        expect=n,
        window=Window(panels=k),
        key=KEY.hex(),
        noise=SimulatedNoise(5),
        coins=seeded_coins(7),
    ) as counter:
        answers = []
        for day in range(k):
            counter.update(np.arange(n))
            answers.append(counter.estimate())
            assert answers[-1].fresh
            assert (counter.turns, counter.releases_left) == (day, 0)
            counter.turn()
            assert (counter.turns, counter.releases_left) == (day + 1, 1)
    # Over a whole cycle every user was counted once: only the noise of the states is left.
    error = math.sqrt(sum(a.relative_error**2 for a in answers)) / k
    assert abs(np.mean([a.users for a in answers]) / n - 1) < 3 * error
    assert 0.01 < answers[0].relative_error < 0.05
    assert sum(a.low <= n <= (a.high or n) for a in answers) >= 10
    assert max(abs(a.users / n - 1) for a in answers) < 4.5 * answers[0].relative_error


def test_intervals_of_panels_hold() -> None:
    """Exact: states of one tier, each of a panel of its own and of fixed coins."""
    n, hits, runs = 3000, 0, often(60, 150)
    for run in range(runs):
        with DistinctCounter(
            epsilon=2,
            expect=n,
            window=Window(panels=3, panel=run % 3),
            key=f"{run:032x}",
            noise=SimulatedNoise(run),
            coins=seeded_coins(run),
        ) as counter:
            counter.update(np.arange(n))
            answer = counter.estimate()
        assert answer.interval == "exact"
        hits += answer.low <= n <= (answer.high or n)
    assert 0.9 * runs <= hits < runs


@pytest.mark.parametrize("chance", [COIN // 10, COIN // 2, COIN])
@pytest.mark.parametrize("sample", [100, 64 * 5000, 3_000_001])
def test_so_many_bits_are_forgotten(chance: int, sample: int) -> None:
    law = optimal_bernoulli(Fraction(6))
    entries = Entries(law, sample, np.full(law.state_bytes(sample), 0xFF, dtype=np.uint8))
    entries.forget(chance, seeded_coins(3))
    gamma, init = chance / COIN, law.init[1] / COIN
    expected = sample * (1 - gamma * (1 - init))
    spread = math.sqrt(sample * gamma * (1 - init) * (1 - gamma * (1 - init)))
    assert abs(entries.counts()[0] - expected) < 5 * spread
    untouched = 8 * entries.memory.size - sample
    tail = np.unpackbits(entries.memory, bitorder="little")[sample:]
    assert tail.sum() == untouched, "nothing beyond the last entry is drawn"


def test_levels_are_not_forgotten_one_by_one() -> None:
    law = QUANTIZED_LAPLACE.law(Fraction(1), levels=4)
    entries = Entries(law, 100, np.zeros(law.state_bytes(100), dtype=np.uint8))
    with pytest.raises(ValueError, match="bits"):
        entries.forget(COIN // 2, seeded_coins(1))


def test_decayed_users_are_estimated_without_bias_and_within_their_intervals() -> None:
    """Half-life 2 turns: 3,000 users seen four turns ago, 1,000 two turns ago, 2,000 now: 750 + 500 + 2,000."""
    truth, size, runs, found, hits, predicted = 3250, 10_000, often(40, 100), [], 0, 0.0
    for run in range(runs):
        with StreamEstimator(
            size,
            Density(),
            epsilon=6,
            window=Window(half_life=2),
            noise=SimulatedNoise(run),
            coins=seeded_coins(run),
        ) as estimator:
            estimator.update(np.arange(3000))
            estimator.turn()
            estimator.turn()
            estimator.update(np.arange(3000, 4000))
            estimator.turn()
            estimator.turn()
            estimator.update(np.arange(4000, 6000))
            answer = estimator.estimate()
        found.append(answer.unbiased * size)
        predicted = answer.rmse
        hits += answer.low * size <= truth <= answer.high * size
    error = np.std(found) / math.sqrt(runs)
    assert abs(np.mean(found) - truth) < 3.5 * error
    assert hits >= 0.92 * runs
    # The stated error is that of entries from infinitely many users, here twice the real one: 0.50 of it.
    assert 0.38 * predicted < np.std(found) / size < 0.65 * predicted


def test_the_bias_of_decayed_cells_is_what_is_said() -> None:
    n, runs, found = 4096, often(10, 25), []
    for run in range(runs):
        with DistinctCounter(
            epsilon=6,
            expect=n,
            key=f"{run:032x}",
            window=Window(half_life=1),
            noise=SimulatedNoise(run),
            coins=seeded_coins(run),
        ) as counter:
            counter.update(np.arange(n))
            counter.turn()
            answer = counter.estimate()
            found.append(answer.users)
            assert answer.interval == "tested"
            assert answer.low <= answer.users <= (answer.high or answer.users)
    mean, error = np.mean(found), np.std(found) / math.sqrt(runs)
    said = decay_bias(float(mean) / n)
    assert said is not None
    assert said == pytest.approx(-0.24, abs=0.02)
    assert mean / (n / 2) - 1 == pytest.approx(said, abs=often(4, 2) / 100)
    assert error < often(2, 1) / 100 * n


def test_the_bias_at_a_quarter_load_and_where_it_has_no_bound() -> None:
    assert decay_bias(-math.log1p(-(1 - math.exp(-0.25)) / 2)) == pytest.approx(-0.0625, abs=0.001)
    assert decay_bias(0.7) is None
    assert decay_bias(0.0) == 0.0


def test_half_lives_are_what_they_say() -> None:
    for turns in (0.5, 1, 7, 365):
        assert half_life_of(Window(half_life=turns).forget) == pytest.approx(turns, rel=1e-5)
    assert Window(half_life=1).forget == COIN // 2
    assert (Window().forget, Window(anew=True).forget, Window(panels=30).forget) == (0, COIN, COIN)
    assert Window(panels=30, panel=3).forget == 0


def started(kind: str, window: Window, place: Path) -> StreamEstimator[DensityEstimate]:
    if kind == "file":
        return StreamEstimator.create(place, 50_000, Density(), epsilon=4, releases=2, window=window)
    return StreamEstimator(50_000, Density(), epsilon=4, releases=2, window=window)


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize(("window", "left", "rest"), [(Window(anew=True), 2, 0.0), (Window(half_life=1), 1, 0.5)])
def test_a_turn_renews_state_and_releases_or_only_forgets(
    kind: str, window: Window, left: int, rest: float, tmp_path: Path
) -> None:
    estimator = started(kind, window, tmp_path / "state")
    with estimator:
        estimator.update(np.arange(50_000))
        first = estimator.estimate()
        assert first.density > 0.95
        assert ("a user and a period" in repr(first)) is window.anew
        estimator.turn()
        assert (estimator.turns, estimator.releases_left) == (1, left)
        again = estimator.last()
        assert again is not None
        assert (again.density, again.fresh) == (first.density, False)
        if kind == "memory":
            assert estimator.estimate().density == pytest.approx(rest, abs=0.05)
    if kind == "file":
        with StreamEstimator[DensityEstimate].open(tmp_path / "state") as later:
            assert (later.turns, later.releases_left) == (1, left)
            assert later.estimate().density == pytest.approx(rest, abs=0.05)


class CutError(Exception):
    """Something that ends a turn."""


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_turn_is_written_down_only_when_the_entries_are_drawn_anew(kind: str, tmp_path: Path) -> None:
    """Were it the other way round, a crash in between would give the old period more releases than were planned."""
    setup = configure(1000, epsilon=1, releases=2, window=Window(anew=True))
    store: Store = MemoryStore(setup, system_coins)
    if kind == "file":
        StateFile.create(tmp_path / "state", setup, fill=lambda entries: entries.initialize(system_coins))
        store = StateFile(tmp_path / "state", writing=True)

    def cut(_entries: Entries) -> None:
        raise CutError

    def begin(count: ReleaseCount, _entries: Entries) -> ReleaseCount:
        return ReleaseCount(count.left, None, turn=count.turn + 1)

    def stay(count: ReleaseCount, _entries: Entries) -> ReleaseCount:
        return count

    with pytest.raises(CutError):
        store.turn(cut, begin)
    assert store.transact(stay)[1].turn == 0
    assert store.turn(lambda entries: entries.forget(COIN, system_coins), begin)[1].turn == 1
    assert store.transact(stay)[1].turn == 1
    store.close()


def test_nobody_turns_a_state_that_was_opened_for_estimates(tmp_path: Path) -> None:
    started("file", Window(anew=True), tmp_path / "state").close()
    with StreamEstimator[DensityEstimate].open(tmp_path / "state", writing=False) as estimator:
        with pytest.raises(InputError, match="estimates only"):
            estimator.turn()
        assert estimator.turns == 0


def test_a_stream_without_periods_has_no_turns() -> None:
    with StreamEstimator(100, Density(), epsilon=1) as estimator, pytest.raises(InputError, match="no periods"):
        estimator.turn()
