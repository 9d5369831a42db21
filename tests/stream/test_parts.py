"""Parts of a state: together they are one state, each loses what one loses, and each is a file of its own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.accuracy.density_error import worst_rmse
from panbayes.stream.accuracy.tier_design import relative_error
from panbayes.stream.distinct_counter import DistinctCounter, any_ids
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.flipped_copy import FlippedCopies
from panbayes.stream.guarantee.calibration import calibrate, design_of
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.kernels.parts import keep_part, keep_stretch, reciprocal
from panbayes.stream.ids.part import Part, noises, parse_part
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.universes.grouped import GroupedUniverse, parse_groups
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.release import combine
from panbayes.stream.saved_setup import digest_of, entries_bytes, load_setup, save_setup
from panbayes.stream.setup import StreamSetup, configure, configure_groups, configure_hashed, with_rules
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.distinct import tier_design
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.statistics.methods.visits import Visits
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import WHOLE, Window
from tests.effort import often, some
from tests.stream.test_hashed_loss import LAWS, LOOK, Seen, State, bound, redrawn

KEY = "0123456789abcdef" * 2
PEOPLE = [f"visitor-{i}@example.org" for i in range(700)] + list(map(str, range(300)))


class Marking(StreamEstimator[Answer]):
    """A stream whose entries say who came: 0 at the start, 1 once redrawn."""

    def __init__(self, setup: StreamSetup, *, turns: int = 0) -> None:
        self.byte = 255
        self._start(setup, None, self.coins)
        for _ in range(turns):
            self.turn()
        self.byte = 0

    def coins(self, out: NDArray[np.uint8]) -> None:
        out[:] = self.byte

    def entries(self) -> NDArray[np.uint8]:
        with self._store.feeding() as entries:
            return np.unpackbits(entries.memory, bitorder="little")[: entries.sample].copy()


def shares(setup: StreamSetup) -> list[StreamSetup]:
    assert setup.part is not None
    return [replace(setup, part=replace(setup.part, number=j)) for j in range(1, setup.part.of + 1)]


def whole_of(setup: StreamSetup) -> StreamSetup:
    return replace(setup, part=None, calibration=replace(setup.calibration, parts=1, terms=()))


def places(setup: StreamSetup) -> NDArray[np.int64]:
    """Which entries of the whole a part has."""
    assert setup.part is not None
    every = np.arange(setup.universe.entries)
    if setup.universe.sections == 1:
        return every[setup.part.number - 1 :: setup.part.of]
    words = every.reshape(-1, 64)
    ends = [place * len(words) // setup.part.of for place in (setup.part.number - 1, setup.part.number)]
    return words[slice(*ends)].ravel()


def part(parts: int, key: str = KEY) -> Part:
    return Part(1, parts, bytes.fromhex(key))


def hashed_setup(parts: int, *, window: Window = WHOLE, expect: int | None = None) -> StreamSetup:
    users = any_ids(memory="32K", expect=expect, key=KEY, parts=parts)
    return configure_hashed(users, epsilon=1, window=window, part=part(parts))


def grouped_setup(parts: int) -> StreamSetup:
    groups = parse_groups("land=DE,FR,IT")
    each = replace(any_ids(memory="8K", key=KEY, expect=5000, parts=parts), panels=3)
    return configure_groups(GroupedUniverse(each, groups), epsilon=1, part=part(parts))


SETUPS = {
    "tiers": lambda parts: hashed_setup(parts),
    "one tier": lambda parts: hashed_setup(parts, expect=30_000),
    "panels": lambda parts: hashed_setup(parts, window=Window(panels=3, panel=1)),
    "integers": lambda parts: configure(1001, epsilon=1, part=part(parts)),
    "sampled": lambda parts: configure(5000, epsilon=1, sample=801, part=part(parts)),
    "addresses": lambda parts: configure("ipv4:10.1.0.0/20", epsilon=1, part=part(parts)),
    "list": lambda parts: configure(PEOPLE, epsilon=1, part=part(parts)),
    "edges": lambda parts: configure("graph:60", epsilon=1, part=part(parts)),
    "groups": grouped_setup,
}


def fed(setup: StreamSetup, ids: list[str]) -> NDArray[np.uint8]:
    with Marking(setup) as estimator:
        if setup.fields:
            lands = ["DE", "FR", "IT", "US"]
            estimator.update(Records(ids, {"land": [lands[i % 4] for i in range(len(ids))]}))
        else:
            estimator.update(ids[:-40])
            for one in ids[-40:]:
                estimator.add(one)
        return estimator.entries()


@pytest.mark.parametrize("parts", [2, 3, 16])
@pytest.mark.parametrize("name", SETUPS)
def test_the_entries_of_all_parts_are_those_of_one_state(name: str, parts: int) -> None:
    """Bit for bit: part J has the entries J − 1 modulo P, or its stretch, and each entry is in one part."""
    first = SETUPS[name](parts)
    ids = [f"10.1.{i % 16}.{i % 251}" for i in range(400)] if name == "addresses" else PEOPLE[100:600] + PEOPLE[650:900]
    ids = [f"{i % 7},{i % 53}" for i in range(300)] if name == "edges" else ids
    whole = fed(whole_of(first), ids)
    together = np.full(whole.size, 2, dtype=np.uint8)
    for setup in shares(first):
        together[places(setup)] = fed(setup, ids)
    assert 0 < whole.sum() < whole.size
    assert (together == whole).all()


@pytest.mark.parametrize("parts", [2, 16])
def test_sections_of_parts_add_up_to_those_of_the_whole(parts: int) -> None:
    """Without noise the counts of a release are sums over the parts, section by section."""
    for first in (hashed_setup(parts), grouped_setup(parts)):
        sections = first.universe.sections
        whole = fed(whole_of(first), PEOPLE).reshape(sections, -1).sum(axis=1)
        found = np.zeros(sections, dtype=np.int64)
        for setup in shares(first):
            assert setup.part is not None
            bits = fed(setup, PEOPLE)
            edges = setup.part.edges(sections, setup.universe.entries)
            assert sum(end - start for start, end in edges) == bits.size
            found += [int(bits[start:end].sum()) for start, end in edges]
        assert sections > 1
        assert np.array_equal(whole, found)


class Loud(SimulatedNoise):
    """Noise that is seen: a million each time."""

    def discrete_laplace(self, count: int, *, scale: Fraction) -> NDArray[np.int64]:
        return np.full(count, 1_000_000 if scale > 0 else 0, dtype=np.int64)


@pytest.mark.parametrize("parts", [2, 16, 64])
def test_a_count_has_the_noise_of_every_part_that_has_an_entry_of_it_and_no_other(parts: int) -> None:
    """Brute force over the entries; what a part has nothing of it counts as 0 without noise."""
    found = []
    for number in range(1, parts + 1):
        with DistinctCounter(epsilon=1, memory="32K", key=KEY, part=f"{number}/{parts}", noise=Loud(1)) as counter:
            counter.update(PEOPLE)
            release, setup = counter.release(), counter.setup
        sections = setup.universe.sections
        mine = np.unique(places(setup) // (setup.universe.entries // sections))
        assert [count // 500_000 > 0 for count in release.counts] == [t in mine for t in range(sections)]
        assert [count == 0 for count in release.counts] == [t not in mine for t in range(sections)]
        assert release.noise_terms == tuple(int(t in mine) for t in range(sections))
        found.append(release)
    whole = combine(found)
    loud = [round(count / 1_000_000) for count in whole.counts]
    assert whole.noise_terms == tuple(loud) == tuple(sum(one.noise_terms[t] for one in found) for t in range(len(loud)))
    assert sum(whole.noise_terms) <= len(loud) + parts - 1
    assert whole.noise_terms == hashed_setup(parts).calibration.terms


@settings(max_examples=often(40, 200), deadline=None)
@given(st.integers(2, 40), st.integers(1, 12), st.integers(2, 100))
def test_stretches_are_whole_words_and_their_noises_are_counted(sections: int, words: int, parts: int) -> None:
    whole = 64 * sections * words
    if sections * words < parts:
        return
    ends = [Part(j, parts, bytes(16), stretches=True).bounds(whole) for j in range(1, parts + 1)]
    assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == whole
    sizes = [end - start for start, end in ends]
    assert min(sizes) > 0
    assert max(sizes) - min(sizes) <= 64
    assert all(size % 64 == 0 for size in sizes)
    size = 64 * words
    wanted = [sum(start < (t + 1) * size and end > t * size for start, end in ends) for t in range(sections)]
    assert list(noises(sections, size, parts)) == wanted


def test_rotating_panels_turn_in_every_part() -> None:
    first = hashed_setup(4, window=Window(panels=3))
    whole = whole_of(first)
    for turns in (1, 2):
        found = []
        for setup in (whole, *shares(first)):
            estimator = Marking(setup, turns=turns)
            estimator.update(PEOPLE)
            found.append(estimator.entries())
        together = np.empty_like(found[0])
        for setup, bits in zip(shares(first), found[1:], strict=True):
            together[places(setup)] = bits
        assert found[0].sum() > 100
        assert np.array_equal(together, found[0])


@settings(max_examples=often(40, 200), deadline=None)
@given(
    st.lists(st.one_of(st.integers(-(2**62), 2**62), st.integers(0, 2000), st.integers(2**40 - 9, 2**40 + 9))),
    st.integers(2, 1024),
    st.integers(1, 2**40),
    st.data(),
)
def test_the_kernel_divides(slots: list[int], parts: int, entries: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, parts - 1))
    array, out = np.array(slots, dtype=np.int64), np.empty(len(slots), dtype=np.int64)
    kept = keep_part(array, entries, number, parts, reciprocal(parts), out)
    wanted = [n // parts for n in slots if 0 <= n < entries and n % parts == number]
    assert out[:kept].tolist() == wanted
    one = Part(number + 1, parts, bytes(16))
    assert [slot for n in slots if (slot := one.slot(n, entries)) >= 0] == wanted
    assert one.entries(entries) == len(range(number, entries, parts)) if entries < 10**7 else True
    stretch = Part(number + 1, parts, bytes(16), stretches=True)
    start, end = stretch.bounds(entries)
    kept = keep_stretch(array, start, end, out)
    wanted = [n - start for n in slots if start <= n < end]
    assert out[:kept].tolist() == wanted
    assert [slot for n in slots if (slot := stretch.slot(n, entries)) >= 0] == wanted
    assert [slot for block in stretch.slots(iter([array]), entries, Arena()) for slot in block.tolist()] == wanted


def test_blocks_are_not_changed_and_all_slots_come_out_in_order() -> None:
    rng = np.random.default_rng(5)
    blocks = [rng.integers(-5, 10**6, size, dtype=np.int64) for size in (0, 7, 100_000, 3, 300_000)]
    before = [block.copy() for block in blocks]
    one, found = Part(2, 3, bytes(16)), list[int]()
    for slots in one.slots(iter(blocks), 900_000, Arena()):
        found += slots.tolist()
    assert all(map(np.array_equal, blocks, before))
    assert found == [n // 3 for block in blocks for n in block.tolist() if 0 <= n < 900_000 and n % 3 == 1]


def told(
    events: tuple[str, ...], seen: list[tuple[int, Fraction | None]], init: Fraction, update: Fraction
) -> dict[Seen, Fraction]:
    """The likelihood of what is seen of two parts, with two entries each, of which A's is the first of part 0.

    An observation is of one part: a look at it, or a release of its count.
    """
    cell = {"A": 0, "B": 0, "C": 2}
    start: dict[State, Fraction] = {
        state: init ** sum(state) * (1 - init) ** (3 - sum(state)) for state in product((0, 1), repeat=3)
    }
    found: dict[Seen, dict[State, Fraction]] = {(): start}
    own = ((0, 1), (2,))
    for users, (which, ratio) in zip(events, seen, strict=True):
        after: dict[Seen, dict[State, Fraction]] = {}
        for so_far, chances in found.items():
            for user in users:
                chances = dict(redrawn(chances, cell[user], update))
            values = {tuple(state[c] for c in own[which]) for state in chances}
            if ratio is LOOK:
                for value in values:
                    kept = {s: p for s, p in chances.items() if tuple(s[c] for c in own[which]) == value}
                    after[(*so_far, value)] = kept
                continue
            for count in range(len(own[which]) + 1):
                after[(*so_far, count)] = {
                    s: p * ratio ** abs(count - sum(s[c] for c in own[which])) for s, p in chances.items()
                }
        found = after
    return {so_far: sum(chances.values(), Fraction(0)) for so_far, chances in found.items()}


def worst(seen: list[tuple[int, Fraction | None]], init: Fraction, update: Fraction) -> Fraction:
    classes: dict[tuple[str, ...], list[dict[Seen, Fraction]]] = {}
    for events in product(("", "A", "BC", "AC"), repeat=len(seen)):
        others = tuple(users.replace("A", "") for users in events)
        classes.setdefault(others, []).append(told(events, seen, init, update))
    return max(
        max(table.get(one, Fraction(0)) for table in tables) / min(table[one] for table in tables)
        for tables in classes.values()
        for one in tables[0]
    )


@pytest.mark.parametrize(("init", "update"), some(LAWS[:2], 1))
def test_one_look_at_each_part_loses_no_more_than_one_look_at_one(init: Fraction, update: Fraction) -> None:
    """Every pair of streams, every observation, exactly: looks at both parts at different times, a release of each."""
    ratio = Fraction(2, 3)
    limit = bound(init, update, 1 / ratio)
    assert worst([(0, LOOK), (0, ratio)], init, update) == limit
    assert worst([(1, LOOK), (0, LOOK), (0, ratio), (1, ratio)], init, update) == limit
    assert worst([(0, LOOK), (1, ratio), (1, LOOK), (0, ratio)], init, update) == limit


def test_a_second_release_of_the_same_part_does_cost() -> None:
    """The power of the enumeration: an observation more of A's own part loses more."""
    init, update = LAWS[0]
    ratio = Fraction(2, 3)
    assert worst([(0, LOOK), (0, ratio), (0, ratio)], init, update) > bound(init, update, 1 / ratio)


def test_noise_of_every_part_is_in_the_error_and_the_budget_is_divided_for_it() -> None:
    """U = 10⁶ at E = 1: 4 parts err 1.016 times as much as one, 16 parts 1.05 times at most."""
    errors = {}
    for parts in (1, 4, 16):
        found = calibrate(epsilon=Fraction(1), sample=10**6, universe=10**6, parts=parts)
        scale = float(found.noise_scale)
        errors[parts] = worst_rmse(design_of(found.law, scale, sample=10**6, universe=10**6, parts=parts))
        # The same law with the split for one part is worse, or as good.
        plain = calibrate(epsilon=Fraction(1), sample=10**6, universe=10**6)
        other = design_of(plain.law, float(plain.noise_scale), sample=10**6, universe=10**6, parts=parts)
        assert errors[parts] <= worst_rmse(other) * (1 + 1e-9)
    assert errors[4] / errors[1] < 1.0165
    assert 1.02 < errors[16] / errors[1] < 1.05
    setup = configure(10**6, epsilon=1, part=part(16))
    assert setup.error() == pytest.approx(errors[16])


def test_hashed_users_in_16_parts_err_as_much_as_in_one() -> None:
    """10⁶ hashed users at E = 1, in 128 KB: 1.02 times at most; parts that go round in each tier err 1.1 times."""
    errors = {}
    for parts in (1, 16):
        users = any_ids(key=KEY, parts=parts)
        setup = configure_hashed(users, epsilon=1, part=None if parts == 1 else part(parts))
        errors[parts] = relative_error(tier_design(setup.calibration, users), 10**6)
        design = tier_design(replace(setup.calibration, terms=()), users)
        errors[-parts] = relative_error(design, 10**6)
    assert 1.005 < errors[16] / errors[1] < 1.02
    assert errors[-16] / errors[1] > 1.1


def test_cells_divide_and_memory_is_that_of_all_parts() -> None:
    for parts in (2, 3, 16, 100):
        assert any_ids(memory="128K", parts=parts, key=KEY) == any_ids(memory="128K", key=KEY)
        one = any_ids(memory="128K", expect=100_000, parts=parts)
        assert one.cells % (64 * parts) == 0
        assert one.of == max(one.cells, 100_000)
    with pytest.raises(InputError, match=r"memory.*too few for 1000 parts"):
        any_ids(memory="4K", parts=1000)
    with pytest.raises(InputError, match="too few for 126 parts"):
        any_ids(memory="1K", parts=126)


def test_a_setup_of_a_part_is_read_again_and_all_parts_have_one_digest() -> None:
    for name, make in SETUPS.items():
        first = make(4)
        for setup in shares(first):
            saved = save_setup(setup)
            again = load_setup(saved)
            assert save_setup(again) == saved
            assert (again.part, again.calibration.parts, again.entries) == (setup.part, 4, setup.entries), name
            assert entries_bytes(saved.header) == setup.state_bytes
            assert digest_of(again) == digest_of(first)
        assert digest_of(whole_of(first)) != digest_of(first)
    assert digest_of(hashed_setup(4)) != digest_of(hashed_setup(8))
    other = configure(1001, epsilon=1, part=part(4, key="ff" * 16))
    assert digest_of(other) != digest_of(configure(1001, epsilon=1, part=part(4)))


def test_parts_made_one_by_one_are_of_one_whole() -> None:
    made = [DensityEstimator(5000, epsilon=1, sample=800, part=f"{j}/3", key=KEY).setup for j in (1, 2, 3)]
    assert len({digest_of(setup) for setup in made}) == 1
    assert [setup.entries for setup in made] == [267, 267, 266]
    fading = [
        StreamEstimator(5000, Density(), epsilon=1, window=Window(half_life=3), part=f"{j}/3", key=KEY).setup
        for j in (1, 2, 3)
    ]
    assert len({digest_of(setup) for setup in fading}) == 1
    counters = [DistinctCounter(epsilon=1, part=f"{j}/3", key=KEY).setup for j in (1, 2, 3)]
    assert len({digest_of(setup) for setup in counters}) == 1


def test_what_has_no_parts_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"part.*visits.*densities and distinct users"):
        configure(1000, statistic=Visits(3), epsilon=1, part=part(2))
    with pytest.raises(InputError, match=r"flipped.*copies are of whole states"):
        configure(1000, epsilon=2, flipped=FlippedCopies.plan(1, 0.5), part=part(2))
    with pytest.raises(InputError, match="3 entries are fewer than 4 parts"):
        configure(3, epsilon=1, part=part(4))
    with pytest.raises(InputError, match=r"sample.*parts of a list"):
        configure(PEOPLE, epsilon=1, sample=100, part=part(4))
    with pytest.raises(InputError, match=r"table of a list.*--parts"):
        DensityEstimator(PEOPLE, epsilon=1, part="1/4", key=KEY)
    with pytest.raises(InputError, match=r"key.*without a part"):
        DensityEstimator(1000, epsilon=1, key=KEY)
    with pytest.raises(InputError, match="a part without a key"):
        DistinctCounter(epsilon=1, part="1/4")
    for wrong in ("0/4", "5/4", "1/1", "1/2000", "one", "1", "-1/2", "1/4/4"):
        with pytest.raises(InputError, match="part"):
            parse_part(wrong, KEY)
    with pytest.raises(InputError, match="32 hexadecimal digits"):
        parse_part("1/2", "12")


def test_impossible_setups_cannot_be_built() -> None:
    setup = hashed_setup(4)
    assert setup.part is not None
    for wrong in (
        {"part": None},
        {"part": replace(setup.part, of=8)},
        {"part": replace(setup.part, key=bytes(16))},
        {"part": replace(setup.part, stretches=False)},
        {"calibration": replace(setup.calibration, parts=1)},
        {"calibration": replace(setup.calibration, terms=())},
        {"calibration": replace(setup.calibration, terms=(2,) * len(setup.calibration.terms))},
    ):
        with pytest.raises(ValueError, match="part"):
            replace(setup, **wrong)
    users = setup.universe
    assert isinstance(users, HashedUniverse)
    plain, calibration = replace(setup.part, stretches=False), replace(setup.calibration, terms=())
    with pytest.raises(ValueError, match="a stretch where there are several sections"):
        replace(setup, part=plain, calibration=calibration)
    one = hashed_setup(4, expect=1000)
    assert one.part is not None
    assert not one.part.stretches
    with pytest.raises(ValueError, match="part"):
        replace(one, part=replace(one.part, stretches=True))
    for number, of in ((0, 4), (5, 4), (1, 1), (1, 1025)):
        with pytest.raises(ValueError, match="one of 2 to 1024"):
            Part(number, of, bytes(16))


def test_a_part_gives_no_estimate_and_spends_nothing_for_asking() -> None:
    with DistinctCounter(epsilon=1, part="2/4", key=KEY) as counter:
        for ask in (counter.estimate, counter.last):
            with pytest.raises(InputError, match=r"part 2 of 4.*release\(\)"):
                ask()
        assert counter.releases_left == 1
        assert counter.setup.scope == "one look at each part and all releases"
        assert "part 2 of 4" in repr(counter)


@pytest.mark.parametrize("expect", [1000, None])
def test_a_part_in_a_file_is_the_part_it_was(tmp_path: Path, expect: int | None) -> None:
    place = tmp_path / "visits.2.state"
    with DistinctCounter.create(place, epsilon=1, part="2/4", key=KEY, expect=expect) as counter:
        counter.update(PEOPLE)
        setup = counter.setup
    assert inspect_state(place).setup.part == setup.part
    with DistinctCounter.open(place) as counter:
        counter.add("somebody")
        assert counter.release().part == 2


def test_a_rule_belongs_to_a_part_too() -> None:
    setup = with_rules(hashed_setup(2), where="land=DE")
    whole = whole_of(setup)
    records = Records(PEOPLE, {"land": ["DE" if i % 2 else "FR" for i in range(len(PEOPLE))]})
    found = []
    for one in (whole, *shares(setup)):
        with Marking(one) as estimator:
            estimator.update(records)
            found.append(estimator.entries())
    assert int(found[0].sum()) == int(found[1].sum() + found[2].sum()) > 300


def test_numbers_go_round() -> None:
    sizes = [Part(j, 7, bytes(16)).entries(100) for j in range(1, 8)]
    assert sum(sizes) == 100
    assert all(a >= b for a, b in pairwise(sizes))
    assert max(sizes) - min(sizes) == 1
