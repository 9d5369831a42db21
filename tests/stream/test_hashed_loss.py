"""The guarantee where users share cells: every stream, every pair, every observation, in exact rationals.

Two tiers: the first has two cells, one of them shared by users A and B, the other that of D; C is alone in the second
tier. The adversary sees the whole state once, and releases of both tiers' counts. Adjacent streams differ in the
occurrences of A. Geometric noise of a rational ratio λ = e^(−1/σ) keeps everything rational, and so is e^E of the
closed form: max[(1 − p)/(1 − q)·(1 + q(e^ρ − 1)), (q/p)·(1 + (1 − p)(e^ρ − 1))] with e^ρ = λ^(−R).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import pytest

CELL = {"A": 0, "B": 0, "D": 1, "C": 2}
TIERS = ((0, 1), (2,))
STATES = tuple(itertools.product((0, 1), repeat=3))
LOOK = None

State = tuple[int, ...]
Seen = tuple[object, ...]


def start(init: Fraction) -> dict[State, Fraction]:
    chances = {}
    for state in STATES:
        chance = Fraction(1)
        for bit in state:
            chance *= init if bit else 1 - init
        chances[state] = chance
    return chances


def redrawn(chances: dict[State, Fraction], cell: int, update: Fraction) -> dict[State, Fraction]:
    found: dict[State, Fraction] = defaultdict(Fraction)
    for state, chance in chances.items():
        for bit in (0, 1):
            found[(*state[:cell], bit, *state[cell + 1 :])] += chance * (update if bit else 1 - update)
    return found


def likelihoods(
    events: Sequence[str], seen: Sequence[Fraction | None], init: Fraction, update: Fraction
) -> dict[Seen, Fraction]:
    """The likelihood of everything that can be seen, up to factors that no stream changes.

    ``events[i]`` are the users who appear before observation i; an observation is a look, or a release with noise of
    this ratio. Counts range over what the cells can add up to: beyond, the ratio of two streams stays the same.
    """
    found: dict[Seen, dict[State, Fraction]] = {(): start(init)}
    for users, ratio in zip(events, seen, strict=True):
        after: dict[Seen, dict[State, Fraction]] = {}
        for told, before in found.items():
            chances = before
            for user in users:
                chances = redrawn(chances, CELL[user], update)
            if ratio is LOOK:
                for state, chance in chances.items():
                    after[(*told, state)] = {state: chance}
                continue
            for counts in itertools.product(*(range(len(tier) + 1) for tier in TIERS)):
                weighed = {}
                for state, chance in chances.items():
                    distance = sum(abs(o - sum(state[c] for c in tier)) for o, tier in zip(counts, TIERS, strict=True))
                    weighed[state] = chance * ratio**distance
                after[(*told, counts)] = weighed
        found = after
    return {told: sum(chances.values(), Fraction(0)) for told, chances in found.items()}


def bound(init: Fraction, update: Fraction, growth: Fraction) -> Fraction:
    """e^E of the theorem, for e^ρ = ``growth``."""
    zeros = (1 - init) / (1 - update) * (1 + update * (growth - 1))
    return max(zeros, update / init * (1 + (1 - init) * (growth - 1)))


def worst_ratio(options: Sequence[str], seen: Sequence[Fraction | None], init: Fraction, update: Fraction) -> Fraction:
    """The largest ratio of likelihoods between two streams that differ in A's occurrences alone."""
    classes: dict[tuple[str, ...], list[dict[Seen, Fraction]]] = defaultdict(list)
    for events in itertools.product(options, repeat=len(seen)):
        others = tuple(users.replace("A", "") for users in events)
        classes[others].append(likelihoods(events, seen, init, update))
    worst = Fraction(1)
    for tables in classes.values():
        for told in tables[0]:
            values = [table[told] for table in tables]
            worst = max(worst, max(values) / min(values))
    return worst


LAWS = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(2, 5), Fraction(3, 5)), (Fraction(1, 2), Fraction(3, 4))]


@pytest.mark.parametrize(("init", "update"), LAWS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_shared_cell_loses_no_more_than_one_of_its_own(init: Fraction, update: Fraction, place: int) -> None:
    """One look and one release, in either order, with A before, after, around and between B's appearances."""
    ratio = Fraction(2, 3)
    seen: list[Fraction | None] = [ratio]
    seen.insert(place, LOOK)
    shared = worst_ratio(("", "A", "B", "AB", "BA", "ABA"), seen, init, update)
    alone = worst_ratio(("", "A"), seen, init, update)
    assert shared <= bound(init, update, 1 / ratio)
    assert shared == alone
    if place == 0:
        assert alone == bound(init, update, 1 / ratio)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_two_releases_and_a_look(place: int) -> None:
    """The 1/σ of the releases add up, also where they differ and somebody else comes in between."""
    init, update, ratios = Fraction(1, 4), Fraction(3, 4), [Fraction(3, 4), Fraction(5, 6)]
    seen: list[Fraction | None] = [*ratios]
    seen.insert(place, LOOK)
    worst = worst_ratio(("", "A", "B", "BA"), seen, init, update)
    growth = 1 / (ratios[0] * ratios[1])
    assert worst <= bound(init, update, growth)
    assert worst > bound(init, update, 1 / ratios[0])


def test_who_is_in_another_cell_changes_nothing_about_it() -> None:
    init, update = LAWS[0]
    seen = [LOOK, Fraction(2, 3)]
    assert worst_ratio(("", "A", "C", "AD", "DCA"), seen, init, update) == bound(init, update, Fraction(3, 2))


def test_two_looks_lose_everything() -> None:
    """The power of the enumeration: what is known not to be private is found not to be."""
    init, update = LAWS[0]
    unseen, seen = likelihoods(("", ""), [LOOK, LOOK], init, update), likelihoods(("", "A"), [LOOK, LOOK], init, update)
    assert any(unseen.get(told, 0) == 0 for told, chance in seen.items() if chance > 0)


def test_deletions_from_a_shared_cell_would_not_take_one_user_out() -> None:
    """Why they are refused: after A left, B's cell looks as if B had never come."""
    init, update = LAWS[0]
    after_both = redrawn(redrawn(start(init), CELL["A"], update), CELL["B"], update)
    after_leaving = redrawn(after_both, CELL["A"], init)
    assert after_leaving == start(init)
    assert after_leaving != redrawn(start(init), CELL["B"], update)
