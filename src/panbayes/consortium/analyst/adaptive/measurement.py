"""One measured table: its axes, each holder's noisy counts, and the public law of their noise.

A **centred** table is without what its margins say (:mod:`panbayes.privacy.adjacency`): its counts lie about 0, and the
noise that its cells have in common says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from panbayes.bayesnet.markov.field import Axes
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

__all__ = ["Measurement", "averaged", "mean_of_both"]


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of one table: ``tables`` of every holder, by name, and the ``law`` of the noise of one's cells."""

    axes: Axes
    tables: Mapping[str, FloatArray]
    law: NoiseLaw
    centred: bool = False

    @cached_property
    def pooled(self) -> FloatArray:
        """The sum over all holders."""
        first, *others = self.tables.values()
        return sum(others, first)

    @cached_property
    def pooled_law(self) -> NoiseLaw:
        """The law of the noise in the sum."""
        return self.law.summed(len(self.tables))


def averaged(
    first: FloatArray, first_law: NoiseLaw, second: FloatArray, second_law: NoiseLaw
) -> tuple[FloatArray, NoiseLaw]:
    """Return the mean of two measurements of the same counts, weighed by inverse variances, and its law."""
    mine, theirs = first_law.deviation**2, second_law.deviation**2
    weight = theirs / (mine + theirs)
    return weight * first + (1 - weight) * second, first_law.scaled(weight).plus(second_law.scaled(1 - weight))


def mean_of_both(first: Measurement, second: Measurement) -> Measurement:
    """Return the mean of two measurements of one table, of every holder that answered both."""
    tables = {
        name: averaged(first.tables[name], first.law, table, second.law)[0] for name, table in second.tables.items()
    }
    some = next(iter(second.tables.values()))
    return Measurement(first.axes, tables, averaged(some, first.law, some, second.law)[1])
