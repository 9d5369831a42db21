"""How finely a table is measured: fewer cells, each with more records, for the same noise.

The noise of a cell does not depend on how many values it stands for, so a table of two attributes with 118 and 75
values is best asked for in a few groups of each. How the records spread within a group is known from the attribute's
own table. Which values are put together is in :mod:`panbayes.bayesnet.markov.nested`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

__all__ = ["groups_within"]


def groups_within(sizes: Sequence[int], cells: float) -> list[int]:
    """Return how many groups each attribute gets so that their product stays within ``cells``, as even as may be.

    Every attribute gets two, even if that exceeds ``cells``, and at most one per value.

    >>> groups_within((118, 10, 2), 60)
    [6, 5, 2]
    """
    found = [min(2, size) for size in sizes]
    heap = [(count, place) for place, count in enumerate(found) if count < sizes[place]]
    heapq.heapify(heap)
    while heap:
        count, place = heapq.heappop(heap)
        if math.prod(found) // count * (count + 1) <= cells:
            found[place] = count + 1
            if count + 1 < sizes[place]:
                heapq.heappush(heap, (count + 1, place))
    return found
