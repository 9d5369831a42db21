"""A forest of attributes with conditional tables, and what it expects of two or three attributes together.

Nodes are numbered by attribute. ``tables[x]`` has the axes (parent, x), or (x,) for a root. ``expectations`` are exact:
messages along the branches, with the values of one end kept in groups so that nothing of the size of two large domains
squared is held for all pairs at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from panbayes.consortium.analyst.adaptive.grouping import Groups, grouped
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["Forest"]


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Parents (None for roots), an order with parents first, and tables; see the module."""

    parents: tuple[int | None, ...]
    order: tuple[int, ...]
    tables: tuple[FloatArray, ...]

    @classmethod
    def of(
        cls, singles: Sequence[FloatArray], joints: Mapping[tuple[int, int], tuple[Groups, Groups, FloatArray]]
    ) -> Forest:
        """Grow a forest from single distributions and, for every edge (a, b), groups of both and the ratio of the
        joint distribution to the product of the margins, by groups.

        Every tree is rooted at its node with the most neighbours, the first of them in the schema.
        """  # fmt: skip
        near: dict[int, list[int]] = {x: [] for x in range(len(singles))}
        for a, b in sorted(joints):
            near[a].append(b)
            near[b].append(a)
        parents: list[int | None] = [None] * len(singles)
        order: list[int] = []
        seen: set[int] = set()
        for root in sorted(near, key=lambda x: (-len(near[x]), x)):
            queue = [] if root in seen else [root]
            seen.add(root)
            for x in queue:
                order.append(x)
                for y in near[x]:
                    if y not in seen:
                        seen.add(y)
                        parents[y] = x
                        queue.append(y)
        tables = [np.asarray(single) for single in singles]
        for x, parent in enumerate(parents):
            if parent is not None:
                tables[x] = _conditional(singles[x], joints, parent, x)
        return cls(tuple(parents), tuple(order), tuple(tables))

    def singles(self) -> list[FloatArray]:
        """Return the distribution of every attribute under the forest."""
        found: list[FloatArray] = list(self.tables)
        for x in self.order:
            parent = self.parents[x]
            if parent is not None:
                found[x] = found[parent] @ self.tables[x]
        return found

    def joint_with(self, start: int, groups: Groups, singles: Sequence[FloatArray]) -> list[FloatArray]:
        """Return for every attribute v the joint distribution of (the groups of ``start``, v); ``singles`` are the own.

        The entry of ``start`` itself is diagonal in the groups.
        """
        near: dict[int, list[int]] = {x: [] for x in self.order}
        for x, parent in enumerate(self.parents):
            if parent is not None:
                near[x].append(parent)
                near[parent].append(x)
        outside = grouped(singles[start], groups, 0)
        found: list[FloatArray] = [np.outer(outside, single) for single in singles]
        found[start] = np.zeros((outside.size, singles[start].size))
        found[start][groups, np.arange(groups.size)] = singles[start]
        seen = {start}
        queue = [start]
        for x in queue:
            for y in near[x]:
                if y in seen:
                    continue
                seen.add(y)
                queue.append(y)
                if self.parents[y] == x:
                    found[y] = found[x] @ self.tables[y]
                else:
                    # p(y | x) for the parent y of x, by Bayes' rule.
                    back = (singles[y][:, None] * self.tables[x]).T / np.maximum(singles[x], 1e-300)[:, None]
                    found[y] = found[x] @ back
        return found


def _conditional(
    single: FloatArray, joints: Mapping[tuple[int, int], tuple[Groups, Groups, FloatArray]], parent: int, child: int
) -> FloatArray:
    """Return p(child | parent): the child's own distribution times the ratio of the groups, normalised."""
    if (parent, child) in joints:
        of_parent, of_child, ratio = joints[parent, child]
    else:
        of_child, of_parent, turned = joints[child, parent]
        ratio = turned.T
    table = single * ratio[of_parent][:, of_child]
    return np.asarray(table / table.sum(axis=1, keepdims=True))
