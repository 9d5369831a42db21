"""How many users came whom nobody has listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.stream.statistics.kind import StatisticKind

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.distinct import Distinct

__all__ = ["DISTINCT"]


def _read(most: int | None) -> Distinct:
    from panbayes.stream.statistics.methods.distinct import Distinct

    if most is not None:
        raise InputError("--max", found=f"found {most}", remedy="leave it out: users are counted, not visits")
    return Distinct()


DISTINCT: Final = StatisticKind("distinct", "how many users came, where ids are hashed", _read)
