"""Every holder's own single attributes: holders may differ, and a difference between them is no dependency."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.estimation import estimate_given_model
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["own_marginals"]

DEVIATIONS: Final = 2.0
"""By so many deviations of χ² a holder's single attribute must differ from the common one to be taken for another."""


def own_marginals(
    belief: Belief, singles: Sequence[Measurement], records: Mapping[str, float]
) -> dict[str, list[FloatArray]]:
    """Estimate every holder's own distributions: holders may differ, and a difference is no dependency.

    They start from the common ones and leave them as far as a holder's noisy tables ask for it; and where noise and
    chance explain how far that is, they stay: χ² beyond two deviations counts, as James and Stein have it.
    """
    common = [single.distribution for single in belief.singles]
    if len(records) == 1:
        return dict.fromkeys(records, common)
    found: dict[str, list[FloatArray]] = {name: [] for name in records}
    for single, distribution in zip(singles, common, strict=True):
        for name, number in records.items():
            expected = number * distribution
            ((estimate, _),) = estimate_given_model([single.tables[name]], [expected], [single.law])
            away = float(((single.tables[name] - expected) ** 2 / (single.law.deviation**2 + expected)).sum())
            free = max(1, distribution.size - 1)
            kept = max(0.0, 1 - (free + DEVIATIONS * math.sqrt(2 * free)) / max(away, 1e-9))
            found[name].append(kept * estimate / estimate.sum() + (1 - kept) * distribution)
    return found
