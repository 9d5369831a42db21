"""How many users came at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.stream.statistics.kind import StatisticKind

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.density import Density

__all__ = ["DENSITY"]


def _read(most: int | None) -> Density:
    from panbayes.stream.statistics.methods.density import Density

    if most is not None:
        raise InputError("--max", found=f"found {most}", remedy="leave it out: a density tells no visits apart")
    return Density()


DENSITY: Final = StatisticKind("density", "how many users came at all", _read)
