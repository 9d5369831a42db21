"""Intervals of an answer with what is to be said about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from panbayes.bayesnet.uncertainty.intervals import Limits
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.schema.schema import Schema

__all__ = ["NOT_KEPT", "Bounds", "remarks"]

NOT_KEPT: Final = "No error is known: the model does not keep what its measurements would also allow."
_NOT_LOOKED: Final = "No error is known: nobody looked at how attributes depend on each other."
_NAMED: Final = 5
"""So many attributes are named in one remark."""
_TOO_LARGE: Final = "No error is known: these attributes together are too many to say."


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The ``limits`` of all probabilities of an answer, None if no error is known, and ``remarks`` for readers."""

    limits: Limits | None
    remarks: tuple[str, ...]


def remarks(
    schema: Schema, replicates: Replicates | None, asked: Iterable[int], *, known: bool, alone: bool = False
) -> tuple[str, ...]:
    """Say what widens the intervals of a question about attributes that are ``asked`` for or given, or why none is.

    ``alone``: the question is about nothing else, so groups do not matter.
    """
    if replicates is None:
        return (NOT_KEPT,)
    if not known:
        return (_NOT_LOOKED if replicates.unseen is None else _TOO_LARGE,)
    apart, found = [], []
    for place in () if alone else asked:
        attribute = schema.attributes[place]
        groups = int(replicates.groups[place].max()) + 1
        if groups == 1 < attribute.size:
            apart.append(attribute.name)
        elif groups < attribute.size:
            found.append(
                f"{attribute.name}: its {attribute.size} values were measured in {groups} groups; inside a group they "
                "are told apart by their own frequencies alone, and intervals are wider."
            )
    if apart:
        named = ", ".join(apart[:_NAMED]) + (f" and {len(apart) - _NAMED:,} more" if len(apart) > _NAMED else "")
        found.append(
            f"{named}: in no measured table that says how attributes go together; intervals allow for what that hides."
        )
    return tuple(found)
