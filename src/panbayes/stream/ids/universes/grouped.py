"""Anybody, by groups: how many users had an event of each group, at the loss of one state.

The groups are public and declared: some values of a field. A public hash of the id gives every user one of them
(:meth:`HashedUniverse.panel_numbers`), and only events of that group count for the user; all others are dropped. Each
group has cells of its own.

**Privacy.** A user's events touch one cell, that of the group which the hash of the id chose, or none; so the proof of
:mod:`panbayes.stream.ids.universes.hashed` holds as it stands, with the cells of all groups in place of those of one:
one look at the state and all releases, of all groups together, lose E. It does not matter in how many groups the user
has events, nor whether the groups of an id change.

**Error.** To a group, all its users are seen as by a state of one panel of k: a user of the group is counted with
probability 1/k, independently of everything else, so estimate, interval and error are those of panels. Figures of
several groups speak of all their users; who is in several groups is in several figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Block
from panbayes.stream.ids.kernels.panels import place_in_groups
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.ids.where import LONGEST, one_text

__all__ = ["MOST_GROUPS", "GroupedUniverse", "Groups", "parse_groups"]

MOST_GROUPS: Final = 256


@dataclass(frozen=True, slots=True)
class Groups:
    """The values ``names`` of ``field``: the groups that are counted."""

    field: str
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a list of different values."""
        if not 2 <= len(self.names) <= MOST_GROUPS or len(set(self.names)) < len(self.names):
            raise ValueError("there are 2 to 256 different groups")
        if not all(text and one_text(text) == text for text in (self.field, *self.names)):
            raise ValueError("fields and groups are in their one form")


@dataclass(frozen=True, slots=True)
class GroupedUniverse:
    """Anybody, in one of some ``groups``; ``each`` is the universe of one group, with a panel for every group."""

    each: HashedUniverse
    groups: Groups

    def __post_init__(self) -> None:
        """Refuse panels that are not the groups."""
        if not self.each.rotates or self.each.panels != len(self.groups.names):
            raise ValueError("every group has its panel")

    @property
    def entries(self) -> int:
        """How many cells there are."""
        return len(self.groups.names) * self.each.entries

    @property
    def sections(self) -> int:
        """Each tier of each group is counted by itself."""
        return len(self.groups.names) * self.each.tiers

    def of_group(self, number: int) -> HashedUniverse:
        """The users of one group, as estimates see them."""
        return replace(self.each, panel=number)

    def slots(self, _ids: Block, _arena: Arena) -> NDArray[np.int64]:
        """Refuse ids without a group."""
        raise ValueError("users have slots in a group, and ids do not say in which")

    def slots_in(self, ids: Block, groups: NDArray[np.int64], arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids whose events are of these ``groups`` (−1: of none)."""
        slots = replace(self.each, panels=1).slots(ids, arena)
        place_in_groups(slots, self.each.panel_numbers(ids, arena), groups, self.each.entries)
        return slots

    def describe(self) -> str:
        """Name the universe for people."""
        whole = replace(self.each, panels=1).describe()
        return f"{whole.replace('any ids', 'any ids by ' + self.groups.field, 1)} for each of {self.each.panels} groups"

    def save(self) -> Saved:
        """Return what a state file keeps of the cells of a group; the groups stand in the setup."""
        return self.each.save()


def parse_groups(written: str, *, argument: str = "--groups") -> Groups:
    """Read a field and its values as users write them.

    >>> parse_groups("country=DE,FR, other land")
    Groups(field='country', names=('DE', 'FR', 'other land'))
    """
    field, equals, values = written.partition("=")
    names = tuple(one_text(value) for value in values.split(","))
    signs = field.endswith(("!", "<", ">")) or values.startswith("=")
    if not equals or signs or not one_text(field) or not all(names):
        raise InputError(
            argument,
            found=f"found {written[:60]!r}",
            remedy="write FIELD=VALUE,VALUE,…: the list of groups is public and comes from you, never from the data"
            f" (names and values have 1 to {LONGEST} printable characters)",
        )
    if len(set(names)) < len(names):
        raise InputError(argument, found="a group was given twice", remedy="give every group once")
    if not 2 <= len(names) <= MOST_GROUPS:
        found = "found one group" if len(names) == 1 else f"found {len(names)}"
        remedy = "count it with --where" if len(names) == 1 else f"give {MOST_GROUPS} at most"
        raise InputError(argument, found=found, remedy=remedy)
    return Groups(one_text(field), names)
