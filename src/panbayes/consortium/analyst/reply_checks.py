"""Whether a release can be an answer to what was asked. A holder is not trusted to answer sensibly.

Everything that learning relies on is checked here, once: the kind of the answer, the number of cells, the attributes
and parents named, their number and order, counts small enough to be added up over thousands of holders without
overflow, and a number of people that a table can have. A :class:`GarbageError` says what is wrong; whether the counts
are *true* nobody can tell from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.protocol.answers import (
    GroupedTablesAnswer,
    ModelAnswer,
    ParentChoiceAnswer,
    TableChoiceAnswer,
    TablesAnswer,
)
from panbayes.consortium.protocol.cells import Cells, unpack_cells
from panbayes.consortium.protocol.envelope import Question, Refusal, Release, Reply
from panbayes.consortium.protocol.queries import (
    GroupedTablesQuery,
    Grouping,
    LinearChoiceQuery,
    ModelQuery,
    Pair,
    ParentChoiceQuery,
    Query,
    TableChoiceQuery,
    TablesQuery,
)
from panbayes.exact.score_rounding import MAX_RECORDS

__all__ = ["MAX_COUNT", "MAX_TOTAL", "GarbageError", "NoiseError", "check_release", "check_reply", "public_size"]

MAX_COUNT: Final = 2**53
"""The largest count taken for one: sums over a thousand holders then fit 64 bits."""

MAX_TOTAL: Final = 2**38
"""The largest noisy number of records taken for one.

A table has fewer than 2³¹ records. Noise of the largest scale or deviation served, 2³¹, exceeds 2³⁷ with a chance of
e⁻⁶⁴ at most.
"""


class GarbageError(Exception):
    """The release cannot be an answer to the query."""


class NoiseError(GarbageError):
    """The release has the other kind of noise than the run takes."""


def check_reply(reply: Reply, asked: Question, study: Terms, *, simulated: bool, size: int | None) -> None:
    """Check a reply against the question, the study, the kind of noise and the number of people said before.

    A refusal need not say which question it is to: one that could not be read has no id.
    """
    if reply.id != asked.id and not (isinstance(reply, Refusal) and not reply.id):
        raise GarbageError("the reply is to another question")
    if isinstance(reply, Refusal):
        return
    if reply.private == simulated:
        found = "secure" if reply.private else "simulated"
        raise NoiseError(f"{found} noise; this run takes the other kind only")
    if (reply.size is None) != (study.adjacency == "add-remove"):
        raise GarbageError("the number of its people came where it is private, or did not where it is public")
    check_release(reply, asked.query, study.schema.sizes)
    if size not in (None, reply.size):
        raise GarbageError("its number of people changed during the run")


def check_release(release: Release, query: Query, sizes: Sequence[int]) -> None:
    """Check a release against the query and the domain ``sizes`` of the schema."""
    if release.size is not None and release.size > MAX_RECORDS:
        raise GarbageError(f"it says it has {release.size:,} people, and no table has more than {MAX_RECORDS:,}")
    match query, release.answer:
        case TablesQuery(), TablesAnswer():
            _check_cells(release.answer.cells, query.sets, sizes, clipped=query.clip)
        case ParentChoiceQuery() | LinearChoiceQuery(), ParentChoiceAnswer():
            _check_pair(release.answer.pair, query.placed, query.degree, sizes, fewer=False)
        case ModelQuery(), ModelAnswer():
            _check_model(release.answer, query, sizes)
        case GroupedTablesQuery(), GroupedTablesAnswer():
            grouped = [_groups(grouping, sizes) for grouping in query.groupings]
            _check_cells(release.answer.cells, query.tables, grouped, clipped=False)
            if query.tables == ((),):
                _check_total(release.answer.cells)
        case TableChoiceQuery(), TableChoiceAnswer():
            _check_taken(release.answer, query)
        case _:
            raise GarbageError("the answer is of another kind than the query")


def _check_cells(cells: Cells, sets: Iterable[Sequence[int]], sizes: Sequence[int], *, clipped: bool) -> None:
    expected = sum(prod(sizes[a] for a in attributes) for attributes in sets)
    if len(cells.data) != expected * cells.width:
        raise GarbageError(f"{len(cells.data) / cells.width:,g} counts came where {expected:,} were asked for")
    counts = unpack_cells(cells)
    if cells.width == 8 and (int(counts.max(initial=0)) >= MAX_COUNT or int(counts.min(initial=0)) <= -MAX_COUNT):
        raise GarbageError(f"a count is {MAX_COUNT:,} or more")
    if clipped and int(counts.min(initial=0)) < 0:
        raise GarbageError("a count is negative, and the study says that holders clip")


def _check_total(cells: Cells) -> None:
    if abs(int(unpack_cells(cells)[0])) > MAX_TOTAL:
        raise GarbageError(f"it says it has over {MAX_TOTAL:,} records, and no table has more than {MAX_RECORDS:,}")


def _check_pair(pair: Pair, placed: Sequence[int], degree: int, sizes: Sequence[int], *, fewer: bool) -> None:
    most = min(degree, len(placed))
    if pair.child >= len(sizes) or pair.child in placed:
        raise GarbageError("an attribute is placed twice, or is not in the schema")
    if len(set(pair.parents)) != len(pair.parents) or not set(pair.parents) <= set(placed):
        raise GarbageError("a parent comes twice, or is not placed before its child")
    if len(pair.parents) > most or (len(pair.parents) < most and not fewer):
        raise GarbageError(f"an attribute has {len(pair.parents)} parents where {most} were asked for")


def _groups(grouping: Grouping, sizes: Sequence[int]) -> int:
    return max(grouping.groups) + 1 if grouping.groups else sizes[grouping.attribute]


def _check_taken(answer: TableChoiceAnswer, query: TableChoiceQuery) -> None:
    taken = answer.taken
    counts = [count.tables for count in query.counts] + ([0] if query.look else [])  # without a look, none is not found
    if answer.count not in counts or len(taken) > answer.count:
        raise GarbageError("another number of tables was taken than could be")
    if len(set(taken)) != len(taken) or max(taken, default=0) >= len(query.candidates):
        raise GarbageError("a candidate was taken twice, or one that was not offered")
    members = [tuple(query.groupings[g].attribute for g in query.candidates[place].axes) for place in taken]
    if len({frozenset(found) for found in members}) != len(members):
        raise GarbageError("two tables of the same attributes were taken")
    if query.rule == "forest":
        part: dict[int, int] = {}
        pairs = (*query.taken, *(found for found in members if len(found) == 2))
        for place, (first, second) in enumerate(pairs):
            a, b = part.setdefault(first, first), part.setdefault(second, second)
            if a == b and place >= len(query.taken):
                raise GarbageError("the pairs taken close a cycle")
            part = {attribute: a if found == b else found for attribute, found in part.items()}


def _check_model(answer: ModelAnswer, query: ModelQuery, sizes: Sequence[int]) -> None:
    if len(answer.pairs) != len(sizes):
        raise GarbageError(f"a model of {len(answer.pairs)} attributes came where {len(sizes)} were asked for")
    if answer.pairs[0] != Pair(query.first, ()):
        raise GarbageError("the model does not begin with the attribute that was asked for")
    placed = [query.first]
    for pair in answer.pairs[1:]:
        # Fewer parents where they would not be useful, or where the tables together would be too large.
        _check_pair(pair, placed, query.degree, sizes, fewer=True)
        placed.append(pair.child)
    _check_cells(answer.cells, [(*pair.parents, pair.child) for pair in answer.pairs], sizes, clipped=query.clip)


def public_size(release: Release) -> int:
    """Return a holder's number of people where it is public."""
    if release.size is None:
        raise GarbageError("the number of people is private")
    return release.size
