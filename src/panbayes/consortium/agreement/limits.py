"""How large a question may be, and so what it can cost a holder: public, the same for everybody.

A holder looks at a question before it is paid for, so an asker could make it work for nothing; and a few hundred bytes
could ask for tables that take minutes and gigabytes. Two bounds keep both small. What a strategy leaves to the asker is
bounded in the study's plan by numbers of the schema (a stage's ``most``), which is checked first; whatever is asked,
an answer has at most :data:`MAX_CELLS`.

What that comes to, for 43 attributes with 507 values between them: 705,019 cells in one question of the adaptive
strategy, some six seconds of Laplace noise, ten of Gaussian noise, and up to a minute and a half where half of them are
in tables of 512 cells that share a radius (:mod:`panbayes.dp.one_radius`); seven such questions in a study, and five
choices. The holder's agent promises the time that follows from a question (:mod:`panbayes.consortium.agent.effort`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from panbayes.consortium.protocol.codec import MAX_BYTES
from panbayes.consortium.protocol.queries import Grouping

__all__ = ["MAX_CELLS", "cells_of_all", "cells_of_each", "cells_of_grouped", "cells_of_largest", "cells_text"]

MAX_CELLS: Final = (MAX_BYTES - 2**20) // 8
"""Cells of one answer at most: with eight bytes for each, it fits into a message."""


def cells_text(cells: int) -> str:
    """Say how many cells a question may ask for."""
    return f"{min(cells, MAX_CELLS):,} cells"


def cells_of_all(sizes: Sequence[int], length: int) -> int:
    """Return the cells of the tables of all sets of ``length`` among attributes of these ``sizes``.

    >>> cells_of_all((2, 3, 10), 2)  # 2·3 + 2·10 + 3·10
    56
    """
    found = [1] + [0] * length
    for size in sizes:
        for taken in range(length, 0, -1):
            found[taken] += found[taken - 1] * size
    return found[length]


def cells_of_largest(sizes: Sequence[int], length: int) -> int:
    """Return the cells of the largest table of ``length`` of these attributes.

    >>> cells_of_largest((2, 3, 10), 2)
    30
    """
    return prod(sorted(sizes, reverse=True)[:length])


def cells_of_grouped(
    tables: Sequence[tuple[int, ...]], groupings: Sequence[Grouping], sizes: Sequence[int]
) -> int | None:
    """Return the cells of all tables of grouped values; None if one names what there is not.

    >>> cells_of_grouped([(), (0,), (0, 1)], [Grouping(0, ()), Grouping(1, (0, 1, 0))], (4, 3))
    13
    >>> cells_of_grouped([(1,)], [Grouping(0, ())], (4, 3)) is None
    True
    """
    found = cells_of_each(tables, groupings, sizes)
    return None if found is None else sum(found)


def cells_of_each(
    tables: Sequence[tuple[int, ...]], groupings: Sequence[Grouping], sizes: Sequence[int]
) -> list[int] | None:
    """Return the cells of every table of grouped values; None if one names what there is not."""
    if any(grouping.attribute >= len(sizes) for grouping in groupings):
        return None
    groups = [max(found.groups) + 1 if found.groups else sizes[found.attribute] for found in groupings]
    if max((number for axes in tables for number in axes), default=-1) >= len(groups):
        return None
    return [prod(groups[number] for number in axes) for axes in tables]
