"""A forest of attributes with conditional tables: a network in which no attribute has more than one parent.

Nodes are numbered by attribute. ``tables[x]`` has the axes (parent, x), or (x,) for a root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panbayes.bayesnet.inference.engine import Engine
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.analyst.adaptive.grouping import Groups
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["Forest"]


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def engine(self) -> Engine:
        """Exact inference under the forest: what it expects of one attribute, or of two."""
        parents = ((x, () if parent is None else (parent,)) for x, parent in enumerate(self.parents))
        return Engine(Structure.of(parents), tuple(table.shape[-1] for table in self.tables), self.tables)


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
