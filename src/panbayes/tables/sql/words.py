"""Codes of a record in as few words of 63 bits as they need.

Cells c₁, …, c_k of columns with n₁, …, n_k cells make the word (…(c₁·n₂ + c₂)·n₃ + …)·n_k + c_k, which is below
n₁·…·n_k ≤ 2⁶³; they come out again from the last to the first, each as the remainder by its n. The sizes follow from
the schema and the declared types, so the form of the words does too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.sql.expressions import number

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

    from panbayes.tables.counting.engines import Engine

__all__ = ["Word", "packed", "word_of"]

ROOM: Final = 2**63
"""A word is below this."""


_NARROW: Final = (("SMALLINT", 2**15), ("INT", 2**31))
"""Types that take less than a whole word on the way, and how many values they hold."""


@dataclass(frozen=True, slots=True)
class Word:
    """Which columns lie in a word, and how many cells each of them has."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def values(self) -> int:
        """How many values it has."""
        return math.prod(self.sizes)

    def unpack(self, words: NDArray[np.int64], out: NDArray[np.int32], engine: Engine) -> bool:
        """Write the cells of every record into the columns' rows of ``out``; tell whether they are all there."""
        if words.size and not 0 <= int(words.min()) <= int(words.max()) < self.values:
            return False
        engine.unpack(words, np.array(self.columns), np.array(self.sizes, dtype=np.int64), out)
        return True


def packed(sizes: Sequence[int]) -> tuple[Word, ...]:
    """Put columns into words, the largest first, each into the first word that has room.

    >>> [word.columns for word in packed([2**40, 3, 2**30, 5])]
    [(0, 3, 1), (2,)]
    """
    words: list[list[int]] = []
    room: list[int] = []
    for column in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        place = next((i for i, left in enumerate(room) if left * sizes[column] <= ROOM), None)
        if place is None:
            words.append([column])
            room.append(sizes[column])
        else:
            words[place].append(column)
            room[place] *= sizes[column]
    return tuple(Word(tuple(found), tuple(sizes[column] for column in found)) for found in words)


def word_of(word: Word, cells: Sequence[Expr]) -> Expr:
    """Return the expression of a word; ``cells`` are those of all columns."""
    from sqlglot import exp

    first, *rest = word.columns
    found: Expr = exp.cast(cells[first].copy(), "BIGINT")
    for column, size in zip(rest, word.sizes[1:], strict=True):
        times = exp.Mul(this=found if isinstance(found, exp.Cast) else exp.Paren(this=found), expression=number(size))
        found = exp.Add(this=times, expression=cells[column].copy())
    narrow = next((name for name, most in _NARROW if word.values <= most), None)
    return found if narrow is None else exp.cast(found, narrow)
