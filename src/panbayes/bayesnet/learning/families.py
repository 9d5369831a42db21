"""The families that one round of a search chooses from, and who chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.structure import Family

__all__ = ["Choose", "Families", "best"]


@dataclass(frozen=True, slots=True)
class Families(Sequence[Family]):
    """Families to choose from: every parent set with every child, children running fastest.

    A sequence that makes its items when asked, since there may be tens of thousands.

    >>> list(Families(((0,), (1,)), (2, 3)))
    [(2, (0,)), (3, (0,)), (2, (1,)), (3, (1,))]
    """

    parent_sets: tuple[tuple[int, ...], ...]
    children: tuple[int, ...]

    def __len__(self) -> int:
        """Count the families."""
        return len(self.parent_sets) * len(self.children)

    @overload
    def __getitem__(self, index: int) -> Family: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Family]: ...
    def __getitem__(self, index: int | slice) -> Family | Sequence[Family]:
        """Return one family, or several."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        row, column = divmod(index % len(self), len(self.children))
        return self.children[column], self.parent_sets[row]


Choose: TypeAlias = Callable[[Families, FloatArray], int]
"""Takes families and their scores (same order, −∞ where not allowed) and returns the index of the one to place."""


def best(candidates: Families, scores: FloatArray) -> int:
    """Choose the highest score; on a tie the first candidate."""
    if len(candidates) != scores.size:
        raise ValueError(f"found {scores.size} scores for {len(candidates)} candidates")
    return int(np.argmax(scores))
