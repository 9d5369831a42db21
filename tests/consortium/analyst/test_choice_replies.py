"""What an analyst refuses of a choice of tables: whatever the query did not allow."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations

import msgspec
import numpy as np
import pytest

from panbayes.consortium.analyst.reply_checks import GarbageError, check_release
from panbayes.consortium.protocol.answers import Answer, ParentChoiceAnswer, TableChoiceAnswer
from panbayes.consortium.protocol.cells import pack_cells
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Count, Grouping, Pair, TableCandidate, TableChoiceQuery

SIZES = (2, 2, 2, 2)
AXES = ((0, 1), (1, 2), (2, 0), (4, 1), (2, 3), (0, 1, 2), (4, 2, 1), (0, 1, 2, 3))
"""Three pairs of a circle, the first again with other groups, one more; an interaction twice, and one of four."""

FOREST = TableChoiceQuery(
    "pure",
    "replace",
    (*(Grouping(a, ()) for a in range(4)), Grouping(0, (1, 0))),
    tuple(TableCandidate(axes, 0, 0) for axes in AXES),
    pack_cells(np.zeros(23, dtype=np.int64)),
    "forest",
    (),
    (Count(2, 0), Count(4, 0), Count(6, 0)),
    0,
    "1/5",
    "1",
)
ANY = msgspec.structs.replace(FOREST, rule="any")
AFTER = msgspec.structs.replace(FOREST, taken=((0, 3), (3, 2)))
UNSEEN = msgspec.structs.replace(FOREST, counts=(Count(4, 0),), look=None)
ROUND = msgspec.structs.replace(FOREST, taken=((0, 1), (1, 0), (2, 2)))
"""What was taken before closes a cycle by itself: nobody's fault now."""


def check(answer: Answer, query: TableChoiceQuery) -> None:
    check_release(Release("0" * 64, 10, "0" * 64, True, answer), query, SIZES)


@pytest.mark.parametrize(
    ("query", "count", "taken"),
    [
        (FOREST, 0, ()),
        (FOREST, 2, ()),
        (FOREST, 2, (1,)),
        (FOREST, 4, (0, 1, 4, 5)),
        (FOREST, 6, (7, 6, 4, 3, 2)),
        (ANY, 4, (0, 1, 2, 4)),
        (ANY, 6, (0, 1, 2, 4, 5, 7)),
        (UNSEEN, 4, ()),
        (UNSEEN, 4, (0, 1)),
        (AFTER, 2, (0,)),
        (AFTER, 4, (1, 5, 7)),
        (ROUND, 4, (1, 4)),
    ],
)
def test_what_the_query_allows_passes(query: TableChoiceQuery, count: int, taken: tuple[int, ...]) -> None:
    for order in permutations(taken):
        check(TableChoiceAnswer(count, order), query)


NUMBER, OFFERED, SAME, CYCLE = (
    "another number of tables",
    "taken twice, or one that was not offered",
    "two tables of the same attributes",
    "close a cycle",
)


@pytest.mark.parametrize(
    ("query", "count", "taken", "message"),
    [
        (FOREST, 1, (), NUMBER),
        (FOREST, 3, (0, 1), NUMBER),
        (FOREST, 100, (), NUMBER),
        (FOREST, 0, (0,), NUMBER),
        (UNSEEN, 0, (), NUMBER),
        (FOREST, 2, (0, 1, 4), NUMBER),
        (FOREST, 2, (1, 1), OFFERED),
        (FOREST, 2, (8,), OFFERED),
        (ANY, 4, (5, 0, 5), OFFERED),
        (FOREST, 2, (0, 3), SAME),
        (ANY, 2, (3, 0), SAME),
        (FOREST, 2, (5, 6), SAME),
        (ANY, 4, (6, 1, 5), SAME),
        (FOREST, 4, (0, 1, 2), CYCLE),
        (FOREST, 4, (2, 7, 3, 1), CYCLE),
        (AFTER, 2, (2,), CYCLE),
        (AFTER, 2, (4,), CYCLE),
        (AFTER, 4, (0, 1), CYCLE),
        (ROUND, 2, (0,), CYCLE),
    ],
)
def test_what_it_does_not_allow_is_refused(
    query: TableChoiceQuery, count: int, taken: tuple[int, ...], message: str
) -> None:
    for order in permutations(taken):
        with pytest.raises(GarbageError, match=message):
            check(TableChoiceAnswer(count, order), query)


@pytest.mark.parametrize("answer", [ParentChoiceAnswer(Pair(0, ()))])
def test_an_answer_of_another_kind_is_refused(answer: Answer) -> None:
    with pytest.raises(GarbageError, match="another kind"):
        check(answer, FOREST)


@pytest.mark.parametrize("query", [FOREST, ANY, AFTER, ROUND])
def test_of_pairs_exactly_the_forests_pass(query: TableChoiceQuery) -> None:
    """All subsets of the five pairs: the parts of a graph are counted by letting labels spread."""
    for taken in (found for size in range(6) for found in combinations(range(5), size)):
        edges = [tuple(FOREST.groupings[g].attribute for g in AXES[place]) for place in taken]
        fine = len({frozenset(edge) for edge in edges}) == len(edges)
        if query.rule == "forest":
            fine &= parts([*query.taken, *edges]) == parts(query.taken) - len(edges)
        try:
            check(TableChoiceAnswer(6, taken), query)
            passed = True
        except GarbageError:
            passed = False
        assert passed == fine, taken


def parts(edges: Iterable[tuple[int, ...]]) -> int:
    labels, every = list(range(4)), list(edges)
    for _ in range(4):
        for a, b in every:
            labels[a] = labels[b] = min(labels[a], labels[b])
    return len(set(labels))
