"""How often users came on average, visits beyond some number not counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.stream.statistics.kind import StatisticKind

if TYPE_CHECKING:
    from panbayes.stream.statistics.methods.thinning import CroppedMean

__all__ = ["CROPPED_MEAN"]


def _read(most: int | None) -> CroppedMean:
    from panbayes.stream.statistics.methods.thinning import CroppedMean, check_crop

    if most is None:
        raise InputError("--max", found="missing", remedy="say up to how many visits of a user count, such as 5")
    check_crop(most, argument="--max")
    return CroppedMean(most)


CROPPED_MEAN: Final = StatisticKind("cropped-mean", "the mean of a user's visits, at most --max of them", _read)
