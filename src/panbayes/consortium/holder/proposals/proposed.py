"""What an answer proposes for a schema: a function of the question and the noisy answer, so it reveals nothing more.

**Counts of cells.** Discrete Laplace noise of scale b has the standard deviation √(2α)/(1 − α), α = e^(−1/b). A cell
*stands out* if its noisy count reaches the least t with J·P(Z ≥ t) ≤ 1/1000, J the number of cells: then, 999 times of
1000, no empty cell does. On a grid, bounds are the outer edges of the first and the last cell that stand out, and bins
are cut where the records of such cells divide into about equal parts, at the lower edges of such cells: round numbers
of the grid, and never within a stretch in which nothing was seen. Of a public list those values are kept that stand
out; the others go to ``other``.

**Edges** are the chosen ones between the ends of the grid, each once and in order.

**Frequent values** are kept as they come, the most frequent first, as many as a schema may hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.holder.proposals.wish import Answer, Cells, Edges, Protected, Values, Wish, counts_event
from panbayes.dp.quantiles import edge_error
from panbayes.exact.tails import least_rare
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.statement import show_pair
from panbayes.schema.attribute import MAX_SIZE, Attribute
from panbayes.schema.code_map import CodeMap
from panbayes.schema.grids import MISSING, OTHER, free_label
from panbayes.schema.periods import Periods

__all__ = ["Proposed", "cost_text", "propose"]

SELDOM: Final = Fraction(1, 1000)
"""How often an empty cell stands out, at most."""

_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class Proposed:
    """An ``attribute`` for a schema, None where the answer does not say enough for one.

    ``figures`` are labels with their noisy counts, whose noise has the standard ``deviation``; ``error`` is by how
    many records an edge errs more than the best, 19 times of 20; ``threshold`` is the count that a cell or a value had
    to reach.
    """

    attribute: Attribute | None
    figures: tuple[tuple[str, int], ...] = ()
    deviation: float | None = None
    error: float | None = None
    threshold: int | None = None


def cost_text(wish: Wish, protected: Protected) -> str:
    """Say what a wish costs whom, in the words that a schema carries.

    >>> from panbayes.schema.schema import Unit
    >>> cost_text(Values("job", Fraction(1, 10), Fraction(1, 10**9)), Protected("add-remove", Unit("id", 2)))
    '(ε, δ) = (0.1, 1e-09), add-remove, for each id with at most 2 records'
    """
    loss = show_pair(wish.epsilon, wish.delta) if wish.delta else str(Pure(wish.epsilon))
    if protected.unit is None:
        return f"{loss}, {protected.adjacency}, for each record"
    records = f"{protected.max_records} record{'s' if protected.max_records > 1 else ''}"
    return f"{loss}, {protected.adjacency}, for each {protected.unit.column} with at most {records}"


def propose(wish: Wish, answer: Answer, protected: Protected, *, bins: int) -> Proposed:
    """Return what the ``answer`` to a wish proposes; counts on a grid are put together into ``bins`` at most."""
    match wish:
        case Cells():
            found = _of_cells(wish, np.array(answer, dtype=np.int64), protected, bins)
        case Edges():
            found = _of_edges(wish, [place for place in answer if isinstance(place, int)], protected)
        case Values():
            found = _of_values(wish, [pair for pair in answer if not isinstance(pair, int)], protected)
        case _:
            raise TypeError(f"nothing is proposed from a {type(wish).__name__}")
    if found.attribute is None:
        return found
    return replace(found, attribute=replace(found.attribute, proposed=cost_text(wish, protected)))


def _deviation(scale: Fraction) -> float:
    alpha = math.exp(-1 / float(scale))
    return math.sqrt(2 * alpha) / (1 - alpha)


def _of_cells(wish: Cells, counts: NDArray[np.int64], protected: Protected, bins: int) -> Proposed:
    attribute = wish.attribute
    scale = counts_event(wish.epsilon, protected).scale
    deviation = _deviation(scale)
    threshold = least_rare(scale, SELDOM / counts.size)
    missing = attribute.missing if counts[-1] >= threshold else None
    regular = counts[: attribute.regular]
    if not attribute.bins and not isinstance(attribute.domain, Periods):
        figures = tuple(zip(attribute.labels, counts.tolist(), strict=True))
        kept = np.flatnonzero(regular >= threshold).tolist()
        return Proposed(_kept(attribute, kept, missing), figures, deviation, threshold=threshold)
    seen = np.flatnonzero(regular >= threshold)
    shown = [(attribute.labels[place], int(counts[place])) for place in seen.tolist()]
    shown += [(attribute.labels[-1], int(counts[-1]))] if missing else []
    if not seen.size:
        return Proposed(None, tuple(shown), deviation, threshold=threshold)
    first, last = int(seen[0]), int(seen[-1])
    if attribute.bins:
        cuts = _cuts(regular[seen], bins)
        edges = [*(attribute.bins[int(seen[cut])] for cut in cuts), attribute.bins[last + 1]]
        found = Attribute(attribute.name, bins=_written(edges), missing=missing)
    else:
        between = (attribute.labels[first], attribute.labels[last])
        found = replace(attribute, between=between, missing=missing)
    return Proposed(found, tuple(shown), deviation, threshold=threshold)


def _cuts(counts: NDArray[np.int64], bins: int) -> list[int]:
    """Return at which of some cells a bin begins, so that at most ``bins`` are about equally full.

    >>> _cuts(np.array([10, 10, 10, 10]), 2), _cuts(np.array([100, 1, 1]), 3), _cuts(np.array([5]), 4)
    ([0, 2], [0, 1], [0])
    """
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    wanted = [counts.sum() * place / bins for place in range(1, bins)]
    return sorted({0, *(int(np.abs(before - share).argmin()) for share in wanted)})


def _written(edges: list[int | float]) -> tuple[int | float, ...]:
    """Write edges as whole numbers if all of them are."""
    whole = all(float(edge).is_integer() and abs(edge) < _EXACT for edge in edges)
    return tuple(int(edge) if whole else edge for edge in edges)


def _kept(attribute: Attribute, places: list[int], missing: str | None) -> Attribute | None:
    """Return some of the values of a public list as an attribute, None if there are none."""
    if not places:
        return None
    if isinstance(attribute.mapping, CodeMap):
        labels = {attribute.labels[place] for place in places}
        rows = tuple(row for row in attribute.mapping.rows if row.group in labels)
        return Attribute(attribute.name, mapping=CodeMap(rows), other=attribute.other, missing=missing)
    values = tuple(attribute.categories[place] for place in places)
    return Attribute(attribute.name, categories=values, other=attribute.other, missing=missing)


def _of_edges(wish: Edges, places: list[int], protected: Protected) -> Proposed:
    grid = wish.attribute.bins
    edges = sorted({grid[0], *(grid[place + 1] for place in places), grid[-1]})
    error = max(
        edge_error(
            share,
            edges=len(grid) - 2,
            adjacency=protected.adjacency,
            max_records=protected.max_records,
            event=wish.part,
        )
        for share in wish.shares
    )
    found = Attribute(wish.column, bins=tuple(edges), missing=MISSING)
    return Proposed(found, error=error)


def _of_values(wish: Values, pairs: list[tuple[str, int]], protected: Protected) -> Proposed:
    deviation = _deviation(counts_event(wish.epsilon, protected).scale)
    threshold = wish.threshold(protected)
    if not pairs:
        return Proposed(None, (), deviation, threshold=threshold)
    values = tuple(value for value, _ in pairs[: MAX_SIZE - 2])
    other, missing = (free_label(label, values) for label in (OTHER, MISSING))
    found = Attribute(wish.column, categories=values, other=other, missing=missing)
    return Proposed(found, tuple(pairs), deviation, threshold=threshold)
