"""How many users came how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.stream.statistics.kind import StatisticKind

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.visits import Visits

__all__ = ["VISITS"]


def _read(most: int | None) -> Visits:
    from panbayes.stream.statistics.methods.visits import Visits, check_most

    if most is None:
        raise InputError("--max", found="missing", remedy="say up to how many visits are told apart, such as 7")
    check_most(most, argument="--max")
    return Visits(most)


VISITS: Final = StatisticKind("visits", "how many users came 0, 1, 2, … times, up to --max", _read)
