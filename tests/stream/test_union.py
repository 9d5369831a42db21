"""The union of independent sites: unbiased whoever came where, errors as predicted, and intervals that hold."""

from __future__ import annotations

import json
import math
import secrets
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter, any_ids
from panbayes.stream.flipped_copy import FlippedCopies, FlippedCopy, flip_chance
from panbayes.stream.guarantee.calibration import largest_rate
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.site_planning import SitePlan, plan_sites, union_error
from panbayes.stream.state.move import move_state
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import Window
from panbayes.stream.union import UnionEstimate, union
from tests.cli.test_stream import Here, here
from tests.effort import often, some

__all__ = ["here"]

KEY = "0123456789abcdef" * 2
DAYS = Window(anew=True)


def copy_of(bits: NDArray[np.bool_], *, init: float, update: float, flip: float, spread: int | None) -> FlippedCopy:
    """A copy of one section with these bits."""
    packed = np.zeros(8 * math.ceil(bits.size / 64), dtype=np.uint8)
    found = np.packbits(bits, bitorder="little")
    packed[: found.size] = found
    return FlippedCopy(
        users="some",
        entries=bits.size,
        sections=1,
        init=round(init * COIN),
        update=round(update * COIN),
        flip=round(flip * COIN),
        epsilon=Fraction(3),
        eta=Fraction(1),
        turn=0,
        private=True,
        bits=packed,
        universe="0" * 64,
        spread=() if spread is None else (spread,),
        size=bits.size if spread is None else None,
        forget=0,
        where=(),
        site=secrets.token_hex(16),
    )


def drawn(
    occupied: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    init: float,
    update: float,
    flip: float,
    spread: int | None,
) -> FlippedCopy:
    bits = rng.random(occupied.size) < np.where(occupied, update, init)
    return copy_of(bits ^ (rng.random(occupied.size) < flip), init=init, update=update, flip=flip, spread=spread)


def test_the_product_is_unbiased_for_cells_that_are_empty_everywhere() -> None:
    """Exactly, over all bits that two sites of different laws can hand over, for every pattern of who came where."""
    laws = ((0.25, 0.5, 0.125), (0.375, 0.75, 0.25))
    for pattern in product((False, True), repeat=4):
        first, second = np.array(pattern[:2]), np.array(pattern[2:])
        mean = square = 0.0
        for bits in product((False, True), repeat=4):
            chance = 1.0
            copies = []
            for (init, update, flip), occupied, seen in zip(
                laws, (first, second), (np.array(bits[:2]), np.array(bits[2:])), strict=True
            ):
                one = np.where(occupied, update, init)
                one = one * (1 - flip) + (1 - one) * flip
                chance *= float(np.prod(np.where(seen, one, 1 - one)))
                copies.append(copy_of(seen, init=init, update=update, flip=flip, spread=None))
            ((a, b), (c, d)) = (copy.chances for copy in copies)
            values = (1 - (copies[0].cells()[0] - a) / (b - a)) * (1 - (copies[1].cells()[0] - c) / (d - c))
            mean += chance * float(values.mean())
            square += chance * float((values**2).mean())
        assert mean == pytest.approx(np.mean(~first & ~second), abs=1e-12)
        assert square >= mean**2


@pytest.mark.parametrize(("sites", "overlap"), some([(2, 1.0), (2, 0.0), (3, 0.5)], 1))
def test_errors_are_as_predicted_and_intervals_hold(sites: int, overlap: float) -> None:
    """One tier of 4,096 cells and 3,000 users: the deviation of the estimate, the error it states, and coverage."""
    rng = np.random.default_rng(100 * sites + round(10 * overlap))
    cells, users, rounds = 4096, 3000, often(150, 400)
    law = {"init": 0.15, "update": 0.85, "flip": 0.15}
    found, stated, held = [], [], 0
    for _ in range(rounds):
        where = rng.integers(0, cells, users)
        at_all = rng.random(users) < overlap
        at_one = rng.integers(0, sites, users)
        copies = []
        for site in range(sites):
            occupied = np.zeros(cells, dtype=np.bool_)
            occupied[where[at_all | (at_one == site)]] = True
            copies.append(drawn(occupied, rng, spread=cells, **law))
        answer = union(copies)
        found.append(answer.users)
        stated.append(answer.relative_error)
        held += answer.low <= users and (answer.high is None or users <= answer.high)
    deviation = float(np.std(np.array(found) / users - 1))
    # 150 rounds know the deviation within 6 %, 400 within 3.5 %.
    assert deviation == pytest.approx(float(np.median(stated)), rel=often(20, 15) / 100)
    assert abs(np.mean(found) / users - 1) < 0.3 * deviation
    assert often(90, 92) < 100 * held / rounds < often(99, 98)
    signal = 0.7 * (1 - 2 * 0.15)
    predicted = union_error(signal, HashedUniverse(1, cells, cells, bytes(16)), sites=sites, count=users)
    if overlap == 0:
        assert deviation == pytest.approx(predicted, rel=often(20, 15) / 100)
    else:
        assert deviation < predicted * 1.1


def test_known_users_are_united_too() -> None:
    rng = np.random.default_rng(3)
    law, rounds, held, found = {"init": 0.2, "update": 0.8, "flip": 0.1}, 300, 0, []
    first, second = np.zeros(2000, dtype=np.bool_), np.zeros(2000, dtype=np.bool_)
    first[:700], second[500:1200] = True, True
    stated = []
    for _ in range(rounds):
        answer = union([drawn(one, rng, spread=None, **law) for one in (first, second)])
        held += answer.low <= 1200 <= (answer.high or 0)
        found.append(answer.users)
        stated.append(answer.relative_error * answer.users)
    assert np.std(found) == pytest.approx(np.median(stated), rel=0.17)
    assert abs(np.mean(found) - 1200) < 0.3 * np.std(found)
    assert 0.91 < held / rounds < 0.985


def test_cells_that_are_surely_empty_add_no_variance() -> None:
    rng = np.random.default_rng(4)
    nobody = np.zeros(2000, dtype=np.bool_)
    answer = union([drawn(nobody, rng, init=0.01, update=0.99, flip=0.01, spread=None) for _ in range(2)])
    assert answer.low == 0
    assert (answer.high or 2000) < 50


def test_real_states_with_tiers_are_united() -> None:
    copies = []
    for visitors in (range(20_000), range(10_000, 30_000)):
        with DistinctCounter(epsilon=16, memory="8K", key=KEY, flipped=FlippedCopies.plan(1, 6)) as site:
            site.update(visitors)
            copies.append(site.look())
    again = [FlippedCopy.from_bytes(copy.to_bytes()) for copy in copies]
    assert [copy.universe for copy in again] == [copy.universe for copy in copies]
    assert again[0].spread == copies[0].spread
    answer = union(again)
    assert answer.users == pytest.approx(30_000, rel=5 * answer.relative_error)
    assert answer.relative_error < 0.1
    assert (answer.epsilon, answer.sites, answer.private) == (Fraction(32), 2, True)


def looks(*, key: str = KEY, window: Window = DAYS, turns: int = 0, expect: int = 1000) -> FlippedCopy:
    with DistinctCounter(
        epsilon=8, memory="2K", expect=expect, key=key, window=window, flipped=FlippedCopies.plan(1, 2)
    ) as site:
        for _ in range(turns):
            site.turn()
        return site.look()


def test_copies_that_cannot_be_united_are_refused_by_name() -> None:
    first, second = looks(), looks()
    with StreamEstimator(1000, Density(), epsilon=8, flipped=FlippedCopies.plan(1, 2)) as known:
        other = known.look()
    for wrong, said in (
        (looks(key="ff" * 16), "b.copy: is of another key than the first"),
        (looks(expect=2000), "b.copy: has 2,048 entries, and the first 1,024"),
        (replace(second, spread=(5000,)), "b.copy: spreads users over other cells"),
        (replace(second, where=("kind=buy",)), "b.copy: counts other events than the first"),
        (looks(turns=1), "b.copy: is of period 1, and the first of period 0"),
        (replace(second, private=False), "b.copy: was made with simulated coins"),
        (looks(window=Window(half_life=3)), "b.copy: is of a state that forgets"),
        (other, "b.copy: has 1,000 entries"),
        (first, "b.copy: is of the same site as a.copy"),
        (replace(second, site=first.site), "b.copy: is of the same site as a.copy"),
        (replace(first, site="0" * 32), "b.copy: has the same bits as a.copy"),
    ):
        with pytest.raises(InputError, match=said):
            union([first, wrong], names=["a.copy", "b.copy"])
    with pytest.raises(InputError, match="copies: found 1"):
        union([first])
    with pytest.raises(InputError, match="copy 2: is of another key"):
        union([first, looks(key="ff" * 16)])
    with pytest.raises(InputError, match="confidence"):
        union([first, second], confidence=0.0)


def test_two_copies_of_one_site_are_refused_however_they_were_flipped(tmp_path: Path) -> None:
    """Also of one that was closed, moved and opened again in between; other states of the same options are others."""
    place, copies = tmp_path / "a.state", list[FlippedCopy]()
    two = FlippedCopies.plan(2, 2)
    DistinctCounter.create(place, epsilon=8, expect=1000, key=KEY, flipped=two).close()
    with DistinctCounter.open(place, writing=False) as site:
        copies.append(site.look())
    move_state(place, tmp_path / "b.state")
    with DistinctCounter.open(tmp_path / "b.state") as site:
        copies.append(site.look())
    assert not np.array_equal(copies[0].bits, copies[1].bits)
    with pytest.raises(InputError, match="copy 2: is of the same site as copy 1"):
        union(copies)
    with DistinctCounter(epsilon=8, expect=1000, key=KEY, flipped=two) as other:
        third, setup = other.look(), other.setup
        with pytest.raises(InputError, match="copy 3: is of the same site as copy 2"):
            union([copies[0], third, other.look()])
    assert union([copies[0], third]).sites == 2
    # One setup may be used for several states.
    for name in ("c", "d"):
        with DistinctCounter.start(tmp_path / name, setup) as site:
            copies.append(site.look())
    assert union([third, *copies[2:]]).sites == 3


def test_what_is_no_copy_of_a_site_is_refused() -> None:
    copy = looks()
    told = json.loads(copy.to_bytes())
    assert (told["version"], told["parts"], told["spread"], told["size"]) == (1, 1, [1024], None)
    assert FlippedCopy.from_bytes(copy.to_bytes()).site == copy.site == told["site"]
    wrong: list[dict[str, object]] = [
        {"spread": []},
        {"spread": [10]},
        {"size": 5},
        {"version": 2},
        {"universe": 1},
        {"site": "0" * 31},
        {"site": "G" * 32},
        {"site": None},
    ]
    for change in wrong:
        with pytest.raises(InputError, match="c: is not a flipped copy"):
            FlippedCopy.from_bytes(json.dumps({**told, **change}).encode(), name="c")


def test_bits_published_beside_one_look_err_as_is_known() -> None:
    """RSE·√m at as many users as cells, for one site: 16.2, 5.3, 3.0, 2.0 at E = 1, 2, 3, 4."""
    cells = 1 << 20
    users = HashedUniverse(1, cells, cells, bytes(16))
    for epsilon, known in ((1, 16.2), (2, 5.3), (3, 3.0), (4, 2.0)):
        found = plan_sites(sites=2, epsilon=Fraction(epsilon), users=users, expect=cells)
        flip = 1 - 2 * flip_chance(found.eta) / COIN
        signal = math.tanh(float(found.state_epsilon) / 2) * flip
        one = union_error(signal, users, sites=1, count=cells) * math.sqrt(cells)
        assert one == pytest.approx(known, rel=0.03)


def plan(sites: int, epsilon: int) -> SitePlan:
    users = any_ids(memory="8K", expect=65_536, key=KEY)
    return plan_sites(sites=sites, epsilon=Fraction(epsilon), users=users, expect=65_536)


def test_a_plan_says_where_a_union_is_useless() -> None:
    assert plan(3, 1).useless
    assert plan(2, 1).errors[2] > 0.2
    assert not plan(2, 4).useless
    assert plan(2, 4).errors[2] < 0.02
    assert plan(3, 4).errors[2] > plan(2, 4).errors[2]
    assert plan(2, 4).total == 8
    for wrong in (1, 101):
        with pytest.raises(InputError, match="sites"):
            plan(wrong, 4)


def test_the_planned_split_is_the_best() -> None:
    """A little more or less for the state makes the bits of a copy say less."""
    found = plan(2, 3)

    def signal(state: Fraction) -> float:
        law = optimal_bernoulli(state)
        left = largest_rate(law, 3.0) - 2 / 256
        return (law.update[1] - law.init[1]) / COIN * math.tanh(left / 2)

    best = signal(found.state_epsilon)
    for step in (Fraction(-3, 20), Fraction(3, 20)):
        assert signal(found.state_epsilon + step) < best


def test_union_as_a_command(here: Here, tmp_path: Path) -> None:
    planned = here(
        "stream", "plan", "--universe", "hashed", "--expect", "20000", "--epsilon", "10", "--sites", "2", "--json"
    )
    told = json.loads(planned.stdout)
    assert (told["total"], told["sites"]) == ("20", 2)
    for name, visitors in (("north", range(12_000)), ("south", range(6_000, 20_000))):
        (tmp_path / f"{name}.txt").write_text("\n".join(f"v{i}" for i in visitors), encoding="utf-8")
        opened = here(
            *("stream", "open", f"{name}.state", "--universe", "hashed", "--expect", "20000", "--key", KEY),
            *("--epsilon", "10", "--state-epsilon", told["state_epsilon"], "--flipped", "1", "--eta", told["eta"]),
        )
        assert opened.returncode == 0, opened.stderr
        assert here("stream", "feed", f"{name}.state", f"{name}.txt").returncode == 0
        assert here("stream", "look", f"{name}.state", "-o", f"{name}.copy").returncode == 0
    shown = here("stream", "union", "north.copy", "south.copy")
    assert shown.stdout.startswith("distinct users  ")
    assert "E = 20 for a user of all sites" in shown.stdout
    found = json.loads(here("stream", "union", "north.copy", "south.copy", "--json").stdout)
    assert found["users"] == pytest.approx(20_000, rel=0.1)
    assert json.loads(here("stream", "portfolio", "north.state", "south.state", "--json").stdout)["total"] == "20"
    for given, said in (
        (("north.copy", "north.txt"), "error: north.txt: is not a flipped copy"),
        (("north.copy", "nothing"), "error: nothing: cannot be read"),
        (("north.copy",), "error: copies: found 1"),
        (("north.copy", "south.copy", "--confidence", "2"), "error: --confidence: found 2"),
    ):
        refused = here("stream", "union", *given)
        assert refused.returncode == 2
        assert said in refused.stderr


def test_a_plan_for_little_says_so(here: Here) -> None:
    told = here("stream", "plan", "--universe", "hashed", "--epsilon", "1", "--sites", "3", "--memory", "8K").stdout
    assert "useless" in told
    assert "Below E = 2 at a site a flipped copy is next to noise." in told
    assert "This union is useless at every number of users" in told
    refused = here("stream", "plan", "--epsilon", "1", "--alpha", "0.1", "--sites", "3")
    assert "error: --sites: found with known users" in refused.stderr
    refused = here("stream", "plan", "--epsilon", "1", "--universe", "hashed", "--sites", "3", "--releases", "3")
    assert "error: --releases: found with --sites" in refused.stderr


def test_a_union_is_shown_in_a_few_lines() -> None:
    shown = repr(UnionEstimate(10, 5, None, 0.9, 2.0, 3, 100, Fraction(6), False))
    assert "10 (5 or more with confidence 90 %; of 100)" in shown
    assert "above 100 %" in shown
    assert "none: coins were simulated" in shown
