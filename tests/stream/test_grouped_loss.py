"""The guarantee over all groups together: which cell an event touches is asked of the code, the rest is played out.

Users A and B share a cell of the group DE, D is in another cell of DE, and C in one of FR; all may have events of both
groups. The adversary sees the whole state once, and releases of both groups' counts. Adjacent streams differ in the
events of A, of whichever groups.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from panbayes.stream.ids.records import Records
from panbayes.stream.ids.universes.grouped import GroupedUniverse, Groups
from panbayes.stream.ids.universes.hashed import HashedUniverse
from tests.stream import test_hashed_loss
from tests.stream.slots import record_slots
from tests.stream.test_hashed_loss import LAWS, LOOK, Seen, bound, likelihoods

CELLS = 64
USERS = GroupedUniverse(HashedUniverse(1, CELLS, CELLS, bytes(16), panels=2), Groups("land", ("DE", "FR")))


def slots_of(one: str) -> tuple[int, int]:
    """Return the slots of a user's events of either group, −1 where they are dropped."""
    first, second = record_slots(Records([one, one], {"land": ["DE", "FR"]}), USERS, ())
    return first, second


def touched() -> dict[str, int]:
    """Find ids as in the story, and say which cell each event touches: A's of DE is ``a``, of FR ``A``, and so on."""
    found = {one: slots_of(one) for one in (f"user-{i}" for i in range(400))}
    german = [one for one, (slot, _) in found.items() if slot >= 0]
    a, b = next(pair for pair in itertools.combinations(german, 2) if found[pair[0]] == found[pair[1]])
    d = next(one for one in german if found[one] != found[a])
    c = next(one for one, (_, slot) in found.items() if slot >= 0)
    names = {-1: -1, found[a][0]: 0, found[d][0]: 1, found[c][1]: 2}
    return {
        name: names[slot]
        for letter, one in zip("abdc", (a, b, d, c), strict=True)
        for name, slot in zip((letter, letter.upper()), found[one], strict=True)
    }


def worst(cells: Mapping[str, int], options: Sequence[str], seen: Sequence[Fraction | None]) -> Fraction:
    """The largest ratio of likelihoods between two streams that differ in A's events alone, of either group."""
    classes: dict[tuple[str, ...], list[dict[Seen, Fraction]]] = defaultdict(list)
    for events in itertools.product(options, repeat=len(seen)):
        others = tuple(users.replace("a", "").replace("A", "") for users in events)
        counted = ["".join(user for user in users if cells[user] >= 0) for users in events]
        classes[others].append(likelihoods(counted, seen, *LAWS[0]))
    return max(
        max(table[told] for table in tables) / min(table[told] for table in tables)
        for tables in classes.values()
        for told in tables[0]
    )


OPTIONS = ("", "a", "A", "aA", "b", "aBA", "DAc")


@pytest.mark.parametrize("place", [0, 1])
def test_a_user_of_several_groups_loses_no_more_than_of_one(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cells, ratio = touched(), Fraction(2, 3)
    monkeypatch.setattr(test_hashed_loss, "CELL", cells)
    seen: list[Fraction | None] = [ratio]
    seen.insert(place, LOOK)
    found = worst(cells, OPTIONS, seen)
    assert found <= bound(*LAWS[0], 1 / ratio)
    if place == 0:
        assert found == bound(*LAWS[0], 1 / ratio)


def test_a_cell_in_every_group_would_lose_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power of the enumeration: without the panels the user would lose in each group."""
    cells, ratio = {**touched(), "A": 2}, Fraction(2, 3)
    monkeypatch.setattr(test_hashed_loss, "CELL", cells)
    assert worst(cells, OPTIONS, [LOOK, ratio]) > bound(*LAWS[0], 1 / ratio)
