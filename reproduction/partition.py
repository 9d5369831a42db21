"""How records are dealt to holders: in turns as in the thesis, in shares of unequal size, or by a label.

``turns``: record i goes to holder i mod M, so that holders differ by chance alone. ``sizes``: holder j has a share in
proportion to 1/j: of three the first has 55 % and the last 18 %, of twenty 28 % and 1.4 %. ``labels``: records are put
in order of their last attribute and cut into M equal parts, so that no holder sees more than a few of its values: the
hardest case there is.

Thesis: sections "Synthetic Data" and "Real-World Data" (round-robin partitioning).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np

from panbayes.tables.table import Table

__all__ = ["PARTITIONS", "TURNS", "Partition", "dealt"]

Partition: TypeAlias = Literal["turns", "sizes", "labels"]

TURNS: Final[Partition] = "turns"
PARTITIONS: Final[dict[Partition, str]] = {
    "turns": "dealt out in turns",
    "sizes": "shares of unequal size",
    "labels": "ordered by a label",
}
"""Every way to deal, and what a figure calls it."""


def dealt(table: Table, holders: int, partition: Partition) -> dict[str, Table]:
    """Return what every holder has of a table whose records are in random order.

    >>> from reproduction.synthetic import synthetic_network
    >>> table = synthetic_network().sample_table(1100, np.random.default_rng(1), independent=True)
    >>> [part.records for part in dealt(table, 3, "sizes").values()]
    [600, 300, 200]
    """
    if partition == TURNS:
        parts = [table.select(slice(j, None, holders)) for j in range(holders)]
    elif partition == "sizes":
        shares = np.cumsum(1 / np.arange(1, holders + 1))
        cuts = np.rint(shares / shares[-1] * table.records).astype(int)
        parts = [table.select(slice(start, end)) for start, end in pairwise([0, *cuts])]
    else:
        order = np.argsort(table.codes[-1], kind="stable")
        parts = [table.select(part) for part in np.array_split(order, holders)]
    return {f"holder {j}": part for j, part in enumerate(parts)}
