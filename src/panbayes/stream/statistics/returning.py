"""How many users came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.stream.statistics.kind import StatisticKind

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.thinning import Returning

__all__ = ["RETURNING"]


def _read(most: int | None) -> Returning:
    from panbayes.stream.statistics.methods.thinning import Returning

    if most is not None:
        raise InputError("--max", found=f"found {most}", remedy="leave it out: to return is to come twice")
    return Returning()


RETURNING: Final = StatisticKind("returning", "how many users came at least twice, however often", _read)
