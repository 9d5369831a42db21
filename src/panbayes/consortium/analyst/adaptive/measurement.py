"""One measured table: its axes, each holder's noisy counts, and the public law of their noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from panbayes.consortium.analyst.adaptive.grouping import Groups
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

__all__ = ["Axes", "Measurement"]

Axes: TypeAlias = tuple[tuple[int, Groups | None], ...]
"""A table's axes: an attribute and the groups of its values each; None leaves the values as they are."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of one table: ``tables`` of every holder, by name, and the ``law`` of the noise of one's cells."""

    axes: Axes
    tables: Mapping[str, FloatArray]
    law: NoiseLaw

    @cached_property
    def pooled(self) -> FloatArray:
        """The sum over all holders."""
        first, *others = self.tables.values()
        return sum(others, first)

    @cached_property
    def pooled_law(self) -> NoiseLaw:
        """The law of the noise in the sum."""
        return self.law.summed(len(self.tables))

    def averaged(self, other: Measurement) -> Measurement:
        """Average two measurements of the same table, weighed by the inverse of their variances."""
        mine, theirs = self.law.deviation**2, other.law.deviation**2
        weight = theirs / (mine + theirs)
        tables = {name: weight * own + (1 - weight) * other.tables[name] for name, own in self.tables.items()}
        return Measurement(self.axes, tables, self.law.scaled(weight).plus(other.law.scaled(1 - weight)))
