"""How wrong the answers of a network may be: the replicates beside the network that was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, TypeVar

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.elimination import Scope
from panbayes.bayesnet.inference.engine import Engine
from panbayes.bayesnet.uncertainty.bounds import Bounds, remarks
from panbayes.bayesnet.uncertainty.intervals import Limits, around, mean_limits, perhaps_never
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.bayesnet.uncertainty.residual import interactions, pair_variance, question_variance
from panbayes.bayesnet.uncertainty.spread import MOST_CELLS, Spread
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes

__all__ = ["Doubt"]

_SAME_WAY: Final = 0.4
_BLOCK: Final = 1 << 14
"""Records that are classified at a time."""

_KEPT: Final = 1 << 14
"""Cells of a pair at most whose law is kept for the next question."""

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """The ``replicates`` of a network, if any, and the ``engine`` that answers for it. All is by position and code.

    Methods take what was published and return its bounds.
    """

    schema: Schema
    replicates: Replicates | None
    engine: Engine
    _pairs: dict[tuple[int, int], FloatArray] = field(default_factory=dict)

    def joint(self, targets: Scope, evidence: Mapping[int, int], published: FloatArray) -> Bounds:
        """Bound p(targets | evidence)."""
        limits = self._known(lambda replicates: self._joint(replicates, targets, evidence, published))
        asked = tuple(dict.fromkeys((*targets, *evidence)))
        return Bounds(limits, self._remarks(asked, alone=len(asked) == 1, known=limits is not None))

    def classified(self, target: int, codes: Codes, published: FloatArray) -> Bounds:
        """Bound p(target | all others) of every record, shape (records, values of the target)."""
        limits = self._known(lambda replicates: self._classified(replicates, target, codes, published))
        return Bounds(limits, self._remarks((target,), alone=len(codes) == 1, known=limits is not None))

    def singles(self, evidence: Mapping[int, int], published: Sequence[FloatArray]) -> list[Limits] | None:
        """Return the limits of p(v | evidence) for every attribute v; None if no error is known."""
        return self._known(lambda replicates: self._singles(replicates, evidence, published))

    def mean(
        self, target: int, evidence: Mapping[int, int], numbers: FloatArray, published: FloatArray
    ) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
        """Return the limits of the mean of ``numbers``, one for each of the target's first values, and remarks."""
        limits = self._known(lambda replicates: self._mean(replicates, target, evidence, numbers, published))
        asked = tuple(dict.fromkeys((target, *evidence)))
        return limits, self._remarks(asked, alone=len(asked) == 1, known=limits is not None)

    def _known(self, find: Callable[[Replicates], _Found | None]) -> _Found | None:
        """Return what is found; None without replicates, or where finding it takes more cells than are gone through."""
        if self.replicates is None:
            return None
        try:
            return find(self.replicates)
        except InputError:  # the engine's or :meth:`_pair`'s: the answer itself is there, so nothing else is amiss
            return None

    def _remarks(self, asked: Scope, *, alone: bool, known: bool) -> tuple[str, ...]:
        return remarks(self.schema, self.replicates, asked, alone=alone, known=known)

    def _joint(
        self, replicates: Replicates, targets: Scope, evidence: Mapping[int, int], published: FloatArray
    ) -> Limits | None:
        free = tuple(v for v in targets if v not in evidence)
        if not _looked(replicates, len(free) + len(evidence)) or published.size > MOST_CELLS:
            return None
        place = tuple(evidence.get(v, slice(None)) for v in targets)
        low, high = published.copy(), published.copy()
        if free:
            answers = Spread(replicates).joint(free, evidence)
            variance = question_variance(replicates, self._pair, free, evidence)
            found = around(published[place], answers, variance)
            if found is None:
                return None
            independent = reduce(np.multiply.outer, [self._alone(v) for v in free])
            low[place], high[place] = perhaps_never(found, published[place], independent)
        return low, high

    def _singles(
        self, replicates: Replicates, evidence: Mapping[int, int], published: Sequence[FloatArray]
    ) -> list[Limits] | None:
        if not _looked(replicates, 1 + len(evidence)):
            return None
        ends = np.cumsum([law.size for law in published])[:-1]
        variance = [
            np.zeros(law.size) if v in evidence else question_variance(replicates, self._pair, (v,), evidence)
            for v, law in enumerate(published)
        ]
        answers = (
            np.concatenate([law if v in evidence else own[v] for v, law in enumerate(published)])
            for own in Spread(replicates).singles(evidence)
        )
        found = around(np.concatenate(published), answers, np.concatenate(variance))
        if found is None:
            return None
        found = perhaps_never(found, np.concatenate(published), np.concatenate(self.engine.posteriors({})))
        return list(zip(np.split(found[0], ends), np.split(found[1], ends), strict=True))

    def _classified(self, replicates: Replicates, target: int, codes: Codes, published: FloatArray) -> Limits | None:
        others = [v for v in range(len(codes)) if v != target]
        if not _looked(replicates, 1 + len(others)):
            return None
        more = interactions(len(codes))
        variances = [more * pair_variance(replicates, self._pair, target, v).T for v in others]
        low, high = published.copy(), published.copy()
        spread, alone = Spread(replicates), self._alone(target)
        for start in range(0, codes.shape[1], _BLOCK):
            block = slice(start, start + _BLOCK)
            variance = np.zeros_like(published[block])
            for v, table in zip(others, variances, strict=True):
                variance += table[codes[v, block]]
            found = around(published[block], spread.conditional(target, codes[:, block]), variance)
            if found is None:
                return None
            low[block], high[block] = perhaps_never(found, published[block], alone)
        return low, high

    def _mean(
        self,
        replicates: Replicates,
        target: int,
        evidence: Mapping[int, int],
        numbers: FloatArray,
        published: FloatArray,
    ) -> tuple[float, float] | None:
        """Bound a mean: of what is unseen, :data:`_SAME_WAY` is taken to move all numbers to the same side."""
        if target in evidence:
            return float(numbers[evidence[target]]), float(numbers[evidence[target]])
        if not _looked(replicates, 1 + len(evidence)):
            return None

        def means(laws: Iterator[FloatArray]) -> list[float]:
            return [
                float(law[: numbers.size] @ numbers / max(float(law[: numbers.size].sum()), 1e-300)) for law in laws
            ]

        answers = means(Spread(replicates).joint((target,), evidence))
        if not answers:
            return None
        (centre,) = means(iter((published,)))
        law = published[: numbers.size] / max(float(published[: numbers.size].sum()), 1e-300)
        variance = question_variance(replicates, self._pair, (target,), evidence)[: numbers.size]
        moved = float((law * np.abs(numbers - centre) * np.sqrt(variance)).sum())
        return mean_limits(centre, answers, _SAME_WAY * moved, numbers)

    def _alone(self, attribute: int) -> FloatArray:
        """Return the published law of an attribute by itself."""
        return self.engine.posterior((attribute,), {})

    def _pair(self, one: int, other: int) -> FloatArray:
        """Return the published joint law of two attributes."""
        known = self._pairs.get((one, other))
        if known is not None:
            return known
        cells = self.schema.sizes[one] * self.schema.sizes[other]
        if cells > MOST_CELLS:
            raise InputError("error", found=f"needs a pair of {cells:,} cells", remedy="ask for other attributes")
        found = self.engine.posterior((one, other), {})
        if cells <= _KEPT:
            self._pairs[one, other] = found
        return found


def _looked(replicates: Replicates, attributes: int) -> bool:
    """Tell whether anything is known about so many attributes together."""
    return attributes < 2 or replicates.unseen is not None
