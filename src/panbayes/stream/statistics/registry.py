"""Every statistic there is, by name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from panbayes.discovery import registry
from panbayes.errors import InputError
from panbayes.stream.choices import choose
from panbayes.stream.statistics.kind import StatisticKind

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.statistic import Answer, SampledStatistic, Statistic

__all__ = ["read_statistic", "sampled", "statistic_kinds"]


@cache
def statistic_kinds() -> dict[str, StatisticKind]:
    """Return every kind of statistic by its name.

    >>> statistic_kinds()["visits"].summary
    'how many users came 0, 1, 2, … times, up to --max'
    """
    return registry("panbayes.stream.statistics", StatisticKind, lambda kind: kind.name)


def read_statistic(name: str, most: int | None, *, argument: str = "statistic") -> Statistic[Answer]:
    """Return the statistic called ``name`` that tells apart up to ``most`` visits; ``argument`` is what users write."""
    return choose(name, statistic_kinds(), argument=argument).read(most)


def sampled(statistic: Statistic[Answer], *, argument: str = "statistic") -> SampledStatistic[Answer]:
    """Return a statistic of known users as one; refuse that of hashed ids."""
    from panbayes.stream.statistics.methods.statistic import SampledStatistic

    if isinstance(statistic, SampledStatistic):
        return statistic
    raise InputError(
        argument, found=f"{statistic.name} is for ids without a list", remedy="give --universe hashed, or leave it out"
    )
