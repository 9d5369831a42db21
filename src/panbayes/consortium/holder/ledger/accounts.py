"""What is spent of whom: losses add up block by block, and what is charged to everybody counts in every block.

A person belongs to one block, so a study that is charged to other blocks costs this person nothing: of several blocks
the largest sum counts, not the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from panbayes.consortium.holder.ledger.declaration import Named
from panbayes.privacy.loss import Loss, largest, total

__all__ = ["heaviest", "shares"]

T = TypeVar("T")


def shares(named: Named, others: Iterable[tuple[Named, T]]) -> Iterator[list[T]]:
    """Yield, for every block that somebody of ``named`` may have, what others are charged to it.

    >>> first, second = frozenset({"2026-10"}), frozenset({"2026-10", "2026-11"})
    >>> list(shares(second, [(first, "a"), (None, "b")]))
    [['a', 'b'], ['b']]
    >>> list(shares(None, [(first, "a"), (None, "b")]))
    [['b'], ['a', 'b']]
    """
    known = list(others)
    # Where everybody is meant, there is one more block than is named anywhere: of those who are in none of them.
    blocks = sorted(named) if named is not None else ["", *sorted({one for theirs, _ in known for one in theirs or ()})]
    for block in blocks:
        yield [charged for theirs, charged in known if theirs is None or block in theirs]


def heaviest(nothing: Loss, losses: Mapping[str, Loss], named: Mapping[str, Named], *, about: Named = None) -> Loss:
    """Return what studies come to for whoever they cost most, among people of the blocks ``about``.

    ``losses`` and ``named`` are by study; one that names no blocks is charged to everybody.
    """
    charged = [(named.get(study), loss) for study, loss in losses.items()]
    return largest([nothing, *(total((nothing, *found)) for found in shares(about, charged))])
