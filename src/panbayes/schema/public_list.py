"""Lists of codes that panbayes has: each module of :mod:`panbayes.schema.lists` defines one :class:`PublicList`.

A schema that names a list means its rows, which are hashed: rows of a list that has been published never change. A new
edition of a classification is a new list under another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from panbayes.discovery import registry
from panbayes.schema.code_map import CodeMap, CodeRange

__all__ = ["PublicList", "public_lists", "ranges"]


@dataclass(frozen=True, slots=True)
class PublicList:
    """A list by its ``name``, what it ``holds`` and where that is ``published``."""

    name: str
    holds: str
    published: str
    groups: CodeMap


@cache
def public_lists() -> dict[str, PublicList]:
    """Return every list, by name."""
    return registry("panbayes.schema.lists", PublicList, lambda one: one.name)


def ranges(rows: Sequence[tuple[str, str, str]]) -> tuple[CodeRange, ...]:
    """Return the ranges from the first to the second code of each row, under a label that begins with them."""
    return tuple(CodeRange(f"{low}-{high} {title}", low=low, high=high) for low, high, title in rows)
