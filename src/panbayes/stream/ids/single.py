"""The slot of one id, for programs that hand over ids one by one.

A universe may know a short way for one id (:class:`FindsOne`); any other is asked as for a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.universes.kind import Universe

__all__ = ["FindsOne", "Id", "single_slots"]

Id: TypeAlias = int | str | bytes | UUID
"""What can be an id."""


@runtime_checkable
class FindsOne(Protocol):
    """A universe that knows a short way to the slot of one id."""

    def slot(self, one: object) -> int | None:
        """Return the slot of an id, −1 without one; nothing for an id that has to go the long way."""


def single_slots(universe: Universe, arena: Arena) -> Callable[[object], int]:
    """Return the function from an id to its slot, −1 without one."""
    short = universe.slot if isinstance(universe, FindsOne) else None

    def slot(one: object) -> int:
        found = None if short is None else short(one)
        return _long_way(universe, one, arena) if found is None else found

    return slot


def _long_way(universe: Universe, one: object, arena: Arena) -> int:
    with arena:
        for chunk in chunks([one]):
            return int(universe.slots(chunk.block(0, 1, arena), arena)[0])
    return -1
