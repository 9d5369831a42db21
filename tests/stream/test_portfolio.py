"""What one user loses over several states."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.ids.part import Part
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.portfolio import Holding, add_up, portfolio
from panbayes.stream.setup import configure, configure_hashed
from panbayes.stream.turns import WHOLE, Window

KEY, OTHER = bytes(16), bytes(15) + b"1"


def held(window: Window = WHOLE, *, turns: int = 0, key: bytes = KEY, epsilon: str = "1") -> Holding:
    setup = configure_hashed(HashedUniverse(1, 640, 640, key), epsilon=epsilon, window=window)
    return Holding("state", setup, turns)


def of(number: int, panels: int = 3) -> Window:
    return Window(panels=panels, panel=number)


@pytest.mark.parametrize(
    ("holdings", "total"),
    [
        ([held()], 1),
        ([held(), held(epsilon="1/2")], Fraction(3, 2)),
        ([held(of(0)), held(of(1)), held(of(2))], 1),
        ([held(of(0)), held(of(1), epsilon="2"), held()], 3),
        ([held(of(0)), held(of(0)), held(of(1))], 2),
        ([held(of(0)), held(of(1), key=OTHER)], 2),
        ([held(of(0)), held(of(1, 4))], 2),
        ([held(Window(anew=True), turns=4)], 5),
        ([held(Window(half_life=7), turns=4)], 1),
        ([held(Window(panels=30), turns=0)], 1),
        ([held(Window(panels=30), turns=29)], 1),
        ([held(Window(panels=30), turns=30)], 2),
        ([held(Window(panels=30)), held(Window(panels=30))], 2),
        ([held(Window(panels=3, panel=0, anew=True), turns=2), held(Window(panels=3, panel=1, anew=True), turns=1)], 3),
        ([Holding("known", configure(100, epsilon=1)), held(of(0))], 2),
    ],
)
def test_losses_add_up_except_over_panels(holdings: list[Holding], total: Fraction) -> None:
    found = add_up(holdings)
    assert found.total == total
    assert found.disjoint is (found.total < sum(one.loss for one in holdings))


def test_another_reading_of_addresses_makes_other_panels() -> None:
    one = configure_hashed(HashedUniverse(1, 640, 640, KEY, 64), epsilon=1, window=of(0))
    other = configure_hashed(HashedUniverse(1, 640, 640, KEY, 128), epsilon=1, window=of(1))
    assert add_up([Holding("a", one), Holding("b", other)]).total == 2


def test_units_in_words() -> None:
    assert held().unit == "the whole stream"
    assert held(Window(half_life=7), turns=9).unit == "the whole stream"
    assert held(Window(anew=True)).unit == "1 period"
    assert held(Window(panels=30), turns=31).unit == "2 cycles"


def test_files_are_looked_up_and_left_alone(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("a", "b", "c")]
    for number, place in enumerate(places[:2]):
        DistinctCounter.create(place, epsilon=1, memory="1K", key=KEY.hex(), window=of(number)).close()
    with DistinctCounter.create(places[2], epsilon="1/2", memory="1K", window=Window(anew=True)) as weekly:
        weekly.turn()
    before = [place.read_bytes() for place in places]
    found = portfolio(places)
    assert [one.loss for one in found.holdings] == [1, 1, 1]
    assert found.total == 2
    assert [place.read_bytes() for place in places] == before
    with pytest.raises(InputError, match="given twice"):
        portfolio([*places, tmp_path / ".." / tmp_path.name / "a"])
    with pytest.raises(InputError, match="at least one"):
        portfolio([])


def part_of(number: int, *, parts: int = 2, window: Window = WHOLE, turns: int = 0, epsilon: str = "1") -> Holding:
    users = HashedUniverse(1, 640, 640, KEY)
    setup = configure_hashed(users, epsilon=epsilon, window=window, part=Part(number, parts, KEY))
    return Holding("part", setup, turns)


@pytest.mark.parametrize(
    ("holdings", "total"),
    [
        ([part_of(1), part_of(2)], 1),
        ([part_of(1), part_of(1)], 2),
        ([part_of(1), part_of(2), held()], 2),
        ([part_of(1), part_of(2, epsilon="2")], 3),
        ([part_of(1), part_of(2, parts=5)], 2),
        ([part_of(1, window=Window(anew=True), turns=4), part_of(2, window=Window(anew=True), turns=1)], 5),
        ([part_of(n, window=of(panel)) for n in (1, 2) for panel in (0, 1, 2)], 1),
        ([part_of(1, window=of(0)), part_of(1, window=of(0)), part_of(2, window=of(1))], 2),
    ],
)
def test_of_the_parts_of_one_whole_a_user_meets_one(holdings: list[Holding], total: Fraction) -> None:
    assert add_up(holdings).total == total
