"""What a kind of statistic is: a name, what it says, and how to get it.

Each module of this folder that defines a :class:`StatisticKind` adds one;
:mod:`panbayes.stream.statistics.registry` finds them. They are loaded for a help text, so the methods themselves
(:mod:`panbayes.stream.statistics.methods`) are loaded when one is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.statistic import Answer, Statistic

__all__ = ["StatisticKind"]


@dataclass(frozen=True, slots=True)
class StatisticKind:
    """A kind of statistic.

    ``name`` is what users and state files call it and ``summary`` says what it is. ``read`` gives the statistic for the
    largest number of visits that a user asked to tell apart, if any.
    """

    name: str
    summary: str
    read: Callable[[int | None], Statistic[Answer]]
