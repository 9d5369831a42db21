"""Which measured tables the law should hold: those that still say something once it holds the stronger ones.

A round takes many tables at once, chosen against the same law. Where three attributes depend on each other, so do, more
weakly, those close to them, and all of these look worth measuring; a law that held them all would spend its junction
tree on shadows, and its parameters on chance. So tables come in by parts, strongest first, and after each part the law
is fitted and asked again what it expects of the others. That costs no privacy: all of it is computed from releases.

What a table says is n·KL(p̂ ‖ p), in nats over all records, of its estimated law p̂ from the law p so far, less one nat
for each cell that holds a record: half of it is what chance alone would say, and half what fitting chance costs on
records not seen (Akaike's criterion). The order is by what a table says for the cells that the junction tree grows by.

After the last round there is nothing left to keep the tree for, and pairs that say no more than chance come in as well,
as far as they fit: what they say is true of the records at hand, as far as their estimates trust it, and costs others
next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.maxent import Effort
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.fitting import TREE, fitting, weight
from panbayes.consortium.analyst.adaptive.measurement import Measurement

__all__ = ["said", "with_worthwhile"]

_PAIR: Final = 2

_PARTS: Final = 2
"""Of the tables that say something, the better one of so many comes in before the law is asked again …"""

_AT_ONCE: Final = 4
"""… but at least so many."""

_EFFORT: Final = Effort(15)
_GROWTH: Final = TREE / 64
"""Cells that the junction tree may grow by at no cost: so many more halve what a table is worth."""


def said(table: Known, records: float) -> float:
    """Return what an estimated table says beyond chance, in nats over all ``records``; see the module."""
    law, expected = table.mean / table.mean.sum(), table.expected / table.expected.sum()
    told = float((law * np.log(law / np.maximum(expected, 1e-300))).sum())
    return records * told - float(np.minimum(1.0, np.maximum(table.mean, table.expected)).sum())


def with_worthwhile(belief: Belief, measured: Sequence[Measurement], *, last: bool = False) -> Belief:
    """Return the belief with those of the ``measured`` tables that are worth it, fitted in a few iterations.

    After the ``last`` round others are held too. Those that are not become idle: they are not offered again.
    """
    left = list(measured)
    batch = 1 + max((table.batch for table in belief.known), default=0)
    while True:
        weights = {table.axes: weight(belief, [table.axes]) for table in left}
        light = [table for table in left if weights[table.axes] <= TREE]
        told = {table.axes: said(table, belief.records) for table in _estimates(belief, light)}
        worth = [table for table in light if told[table.axes] > 0]
        if not worth:
            break
        alone = weight(belief, [])
        worth.sort(key=lambda table: -told[table.axes] / max(_GROWTH + weights[table.axes] - alone, 1.0))
        part = worth[: max(_AT_ONCE, -(-len(worth) // _PARTS))]
        kept = set(fitting(belief, [table.axes for table in part]))
        new = [table for table in part if table.axes in kept]
        belief = belief.learned(new, (), effort=_EFFORT, batch=batch)
        left = worth[len(part) :]
    if last:
        held = {table.axes for table in belief.known}
        rest = [table for table in measured if table.axes not in held and len(table.axes) == _PAIR]
        kept = set(fitting(belief, [table.axes for table in rest]))
        new = [table for table in rest if table.axes in kept]
        belief = belief.learned(new, (), effort=_EFFORT, batch=batch + 1)
    return belief.idling([table.axes for table in measured])


def _estimates(belief: Belief, measured: Sequence[Measurement]) -> list[Known]:
    """Estimate tables against what the law expects of them; so many at a time as a junction tree holds."""
    found: list[Known] = []
    left = list(measured)
    while left:
        batch = set(fitting(belief, [table.axes for table in left]))
        found += belief.expecting([table for table in left if table.axes in batch])
        left = [table for table in left if table.axes not in batch]
    return belief.estimated(found)
