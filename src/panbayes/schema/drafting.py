"""Who can draft a schema off data. The room of schemas reads no data itself.

:meth:`Schema.draft <panbayes.schema.schema.Schema.draft>` is where people look for a draft, and data is read by a room
that builds on this one. So this room says what a drafter is, the other offers one, and it is found as formats and
sources are: by its type. The offer is looked up when a draft is asked for, never on import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from panbayes.discovery import discover
from panbayes.schema.attribute import Attribute

__all__ = ["Drafter", "Suggest", "drafter"]


class Suggest(Protocol):
    """Suggests an attribute for every column of a file or data frame that a schema can describe."""

    def __call__(
        self,
        data: object,
        *,
        other: Sequence[str],
        missing_values: tuple[str, ...],
        unit_column: str | None,
        keep: Sequence[str],
        drop: Sequence[str],
    ) -> tuple[Attribute, ...]:
        """Suggest attributes; those in ``other`` ("*" for all) get ``other``, the ``unit_column`` is left out.

        Columns are those to ``keep``, all if none are named, but for those to ``drop``.
        """


@dataclass(frozen=True, slots=True)
class Drafter:
    """The offer to draft."""

    suggest: Suggest


def drafter() -> Drafter:
    """Return the drafter that the room of tables offers."""
    (found,) = discover("panbayes.tables", Drafter)
    return found
