"""A run of the adaptive strategy: what is asked, what it cost, and the tables that came back.

Tables are named by their axes, (attribute, groups) each; groups of None leave the values as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from panbayes.consortium.analyst.adaptive.division import Budget
from panbayes.consortium.analyst.adaptive.grouping import Groups
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.asking import Holders, expect
from panbayes.consortium.analyst.pooled_counts import split_cells
from panbayes.consortium.protocol.messages import (
    GroupedTablesAnswer,
    GroupedTablesQuery,
    Grouping,
    Release,
    TableChoiceQuery,
    ratio,
)
from panbayes.privacy import composition
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.loss import Loss

__all__ = ["Axes", "Run", "views_of"]

Axes: TypeAlias = tuple[tuple[int, Groups | None], ...]


@dataclass(slots=True)
class Run:
    """What is fixed for a run, and what has been spent in it."""

    holders: Holders
    budget: Budget
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    spent: dict[str, list[composition.Step]] = field(default_factory=dict)
    private: bool = True
    sizes_of_holders: dict[str, int | None] = field(default_factory=dict)

    def ask(
        self,
        query: GroupedTablesQuery | TableChoiceQuery,
        what: str,
        *,
        round_number: int,
        only: Sequence[str] | None = None,
    ) -> Mapping[str, Release]:
        """Ask and write down what it cost."""
        releases = self.holders.ask(query, round_number=round_number, only=only)
        loss = Fraction(query.loss)
        cost: Loss = Pure(loss) if query.privacy == "pure" else ZeroConcentrated(loss)
        pure = query.privacy == "pure"
        if isinstance(query, GroupedTablesQuery):
            mechanism = "discrete Laplace" if pure else "discrete Gaussian"
        else:
            mechanism = "permute-and-flip" if pure else "exponential mechanism"
        for name, release in releases.items():
            self.spent.setdefault(name, []).append(composition.Step(what, mechanism, cost))
            self.private = self.private and release.private
            self.sizes_of_holders[name] = release.size
        return releases

    def tables(
        self, axes: Sequence[Axes], weights: Sequence[int], share: Fraction, what: str, *, round_number: int
    ) -> tuple[dict[str, list[FloatArray]], list[NoiseLaw]]:
        """Measure tables at a ``share`` of the grant, divided by ``weights``.

        Returns each holder's tables, and the laws of the noise in one holder's cells.
        """
        groupings, views = views_of(axes, self.sizes)
        query = GroupedTablesQuery(
            privacy=self.budget.privacy,
            adjacency=self.budget.adjacency,
            groupings=groupings,
            views=views,
            weights=tuple(weights),
            loss=ratio(self.budget.grant * share),
        )
        releases = self.ask(query, what, round_number=round_number)
        shapes = [tuple(self.sizes[a] if g is None else int(g.max()) + 1 for a, g in axis) for axis in axes]
        found = {}
        for name, release in releases.items():
            cells = expect(release, GroupedTablesAnswer).cells
            found[name] = [table.astype(np.float64) for table in split_cells(cells, shapes)]
        whole = sum(weights)
        return found, [self.budget.law(share * weight / whole, 1) for weight in weights]


def views_of(axes: Sequence[Axes], sizes: Sequence[int]) -> tuple[tuple[Grouping, ...], tuple[tuple[int, ...], ...]]:
    """Write axes as groupings, each once, and views that name them."""
    places: dict[Grouping, int] = {}
    views = []
    for axis in axes:
        view = []
        for attribute, groups in axis:
            plain = groups is None or int(groups.max()) + 1 == sizes[attribute]
            grouping = Grouping(attribute, () if plain or groups is None else tuple(groups.tolist()))
            view.append(places.setdefault(grouping, len(places)))
        views.append(tuple(view))
    return tuple(places), tuple(views)
