"""How precisely distinct users will be counted: by their number, the memory of the state and the releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from panbayes.privacy.written import Written
from panbayes.stream.accuracy.tier_design import relative_error
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.setup import configure_hashed
from panbayes.stream.statistics.methods.distinct import tier_design

__all__ = ["COMMON_MEMORY", "COMMON_RELEASES", "ErrorColumn", "plan_distinct", "users_to_plan_for"]

COMMON_MEMORY: Final = (16 << 10, 128 << 10, 1 << 20)
COMMON_RELEASES: Final = (1, 30)

_KEY: Final = bytes(16)
"""Any key: errors do not depend on it."""


@dataclass(frozen=True, slots=True)
class ErrorColumn:
    """The relative ``errors`` for each number of ``users``, with a state of ``memory`` bytes and so many ``releases``.

    ``state_bytes`` is what is used of the memory, in ``tiers`` tiers.
    """

    memory: int
    releases: int
    state_bytes: int
    tiers: int
    users: tuple[int, ...]
    errors: tuple[float, ...]


def users_to_plan_for(expect: int | None) -> tuple[int, ...]:
    """The numbers of users that a plan shows: powers of ten, or those around the expected one."""
    if expect is None:
        return tuple(10**k for k in range(3, 11))
    return tuple(max(1, round(expect * part)) for part in (0.1, 0.3, 1, 3, 10))


def plan_distinct(
    *,
    epsilon: Written,
    memory: Sequence[int] = COMMON_MEMORY,
    releases: Sequence[int] = COMMON_RELEASES,
    expect: int | None = None,
    groups: int = 1,
) -> list[ErrorColumn]:
    """Predict the relative standard error for every size of the state and every number of releases.

    ``epsilon`` is E, the total for one look and all releases; ``expect`` makes it one tier for so many users.
    With ``groups``, users are those of one group, ``memory`` is that of all together, and each has its part.

    >>> [column] = plan_distinct(epsilon=1, memory=[128 << 10], releases=[1])
    >>> [f"{users:,}: {100 * error:.2f} %" for users, error in zip(column.users[2:5], column.errors[2:5], strict=True)]
    ['100,000: 0.91 %', '1,000,000: 0.77 %', '10,000,000: 0.77 %']
    """
    columns = []
    for size in memory:
        part = None if expect is None else -(-expect // groups)
        universe = HashedUniverse.of_memory(size // groups, expect=part, key=_KEY)
        for count in releases:
            setup = configure_hashed(universe, epsilon=epsilon, releases=count)
            # A group sees its users as a panel does.
            design = tier_design(setup.calibration, replace(universe, panels=groups))
            users = users_to_plan_for(expect)
            errors = tuple(relative_error(design, number) for number in users)
            columns.append(ErrorColumn(size, count, groups * setup.state_bytes, universe.tiers, users, errors))
    return columns
