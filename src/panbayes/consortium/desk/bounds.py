"""How large an answer can be: public, for it follows from the question and the schema.

Whoever waits for an answer knows that before it comes, and takes no more: neither into memory
(:mod:`panbayes.consortium.desk.asking`) nor, at a mailbox, onto the disk (:mod:`panbayes.consortium.desk.letterbox`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Final, TypeAlias

from panbayes.consortium.agreement.limits import MAX_CELLS, cells_of_grouped, cells_of_largest
from panbayes.consortium.post.bodies import decode_study
from panbayes.consortium.post.letters import LIMITS, Letter, LetterError
from panbayes.consortium.protocol.codec import MalformedError, decode_question
from panbayes.consortium.protocol.queries import (
    GroupedTablesQuery,
    LinearChoiceQuery,
    ModelQuery,
    ParentChoiceQuery,
    Query,
    TableChoiceQuery,
    TablesQuery,
)
from panbayes.errors import InputError
from panbayes.schema.schema import Schema

__all__ = ["LARGEST_READ", "AnswerBounds", "answer_bound"]

LARGEST_READ: Final = 4 * 2**20
"""Bytes of a letter that a mailbox reads to know how large its answer can be; of a larger one it believes anything."""

_NUMBER: Final = 8
_AROUND: Final = 8192
"""Bytes that a number takes at most; and a header, a seal and all that is no number, or a refusal with its words."""

_State: TypeAlias = tuple[int, int, int]


def answer_bound(query: Query, sizes: Sequence[int]) -> int:
    """Return the bytes that the letter of an answer has at most, under a schema with domains of these ``sizes``.

    >>> answer_bound(TablesQuery(((0,), (0, 1)), "1", False), (2, 3))
    8256
    """
    return min(_AROUND + _NUMBER * min(_numbers(query, sizes), MAX_CELLS), LIMITS["answer"])


def _numbers(query: Query, sizes: Sequence[int]) -> int:
    match query:
        case TablesQuery():
            if max(attribute for attributes in query.sets for attribute in attributes) >= len(sizes):
                return 0  # Nobody answers this but by a refusal.
            return sum(prod(sizes[attribute] for attribute in attributes) for attributes in query.sets)
        case ParentChoiceQuery() | LinearChoiceQuery():
            return 1 + query.degree
        case ModelQuery():
            return len(sizes) * (2 + query.degree + cells_of_largest(sizes, query.degree + 1))
        case GroupedTablesQuery():
            return cells_of_grouped(query.tables, query.groupings, sizes) or 0
        case TableChoiceQuery():
            return 1 + max(count.tables for count in query.counts)


class AnswerBounds:
    """What answers to the questions that lie in a folder may have; every file is read once while it stays as it is."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._sizes: dict[Path, tuple[_State, tuple[int, ...] | None]] = {}
        self._bounds: dict[Path, tuple[_State, int]] = {}

    def of(self, question: Path) -> int:
        """Return the bound for the question in a file, beside which the letter lies that proposed its study."""
        state = _state(question)
        known = self._bounds.get(question)
        if known is None or known[0] != state:
            known = state, self._read(question)
            self._bounds[question] = known
        return known[1]

    def _read(self, question: Path) -> int:
        sizes = self._sizes_of(question.with_name(f"{question.name[:12]}-000000.study"))
        body = _body(question)
        if sizes is not None and body is not None:
            try:
                return answer_bound(decode_question(body).query, sizes)
            except MalformedError:
                pass
        return LIMITS["answer"]

    def _sizes_of(self, study: Path) -> tuple[int, ...] | None:
        state = _state(study)
        known = self._sizes.get(study)
        if known is None or known[0] != state:
            known = state, _schema_sizes(study)
            self._sizes[study] = known
        return known[1]


def _schema_sizes(study: Path) -> tuple[int, ...] | None:
    body = _body(study)
    try:
        return None if body is None else tuple(Schema.parse(decode_study(body).schema, source="schema").sizes)
    except (LetterError, InputError):
        return None


def _body(path: Path) -> bytes | None:
    """Return what is in a letter; nothing if it is too large, or none."""
    try:
        if _state(path)[2] > LARGEST_READ:
            return None
        return Letter.decode(path.read_bytes()).body
    except (OSError, LetterError):
        return None


def _state(path: Path) -> _State:
    try:
        found = path.lstat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size
