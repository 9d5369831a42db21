"""What a holder answers: one type for each query."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from panbayes.consortium.protocol.cells import Cells
from panbayes.consortium.protocol.queries import Pair

__all__ = ["Answer", "GroupedTablesAnswer", "ModelAnswer", "ParentChoiceAnswer", "TableChoiceAnswer", "TablesAnswer"]


class _Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """What all answers have in common."""


class TablesAnswer(_Answer, frozen=True, tag="counts"):
    """The tables asked for, end to end, each in C order with the axes in the order of its set."""

    cells: Cells


class ParentChoiceAnswer(_Answer, frozen=True, tag="vote"):
    """The pair chosen."""

    pair: Pair


class ModelAnswer(_Answer, frozen=True, tag="model"):
    """The structure, in the order of placing, and the noisy table of each (parents, child), end to end."""

    pairs: tuple[Pair, ...]
    cells: Cells


class GroupedTablesAnswer(_Answer, frozen=True, tag="tables"):
    """The tables asked for, end to end, each in C order with the axes in the order asked for."""

    cells: Cells


class TableChoiceAnswer(_Answer, frozen=True, tag="choices"):
    """How many tables could be taken, and those taken, by their positions in the query, in the order of taking."""

    count: Annotated[int, Meta(ge=0, le=100_000)]
    taken: Annotated[tuple[Annotated[int, Meta(ge=0, lt=1_000_000)], ...], Meta(max_length=100_000)]


Answer: TypeAlias = TablesAnswer | ParentChoiceAnswer | ModelAnswer | GroupedTablesAnswer | TableChoiceAnswer
