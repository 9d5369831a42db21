"""What the analyst believes: the laws of single attributes, the tables measured so far, and the one law that fits them.

A table that comes in whole corrects the single attributes by its sums; a centred one does not know them. Then it is
brought to them, which takes the noise of its margins away (:mod:`panbayes.consortium.analyst.adaptive.margins`), and
estimated by itself, from what the law so far expects of it
(:func:`~panbayes.consortium.analyst.adaptive.estimation.estimate_given_model`). All tables have the same single
attributes then, for tables that disagree on a margin would pull the fit apart, and the field is fitted to them
(:mod:`panbayes.bayesnet.markov.maxent`) with the slack

    r = cells·(v + ½)/n² + 5·m/n of a cell with probability m, v the variance of its estimated count, n the records:

the first part is the noise, weighed by what a table of so many cells may explain, the second the chance in the records,
weighed so that where noise is small a law of many tables does not follow their chance.

Everything is computed from releases: it is post-processing and free (Theorem thm_post_proc).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.chordal import network_of
from panbayes.bayesnet.markov.field import Axes, Field
from panbayes.bayesnet.markov.maxent import Effort, fit_field
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.analyst.adaptive.estimation import (
    Estimate,
    estimate_given_model,
    estimate_marginals,
    update_by_groups,
)
from panbayes.consortium.analyst.adaptive.margins import brought_to, law_of_sums, law_without_margins, raked
from panbayes.consortium.analyst.adaptive.measurement import Measurement, averaged
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

__all__ = ["Belief", "Known", "end_to_end", "slack_of"]

_CHANCE: Final = 5.0
"""How often the variance of chance goes into the slack."""


@dataclass(frozen=True, eq=False)
class Known:
    """A table that was measured: ``noisy`` counts under the ``law`` of their noise, where ``expected`` were expected.

    ``mean`` and ``variance`` are those of the estimated counts, ``parameters`` those of the fitted law. Tables of one
    ``batch`` were chosen against the same law.
    """

    axes: Axes
    noisy: FloatArray
    law: NoiseLaw
    expected: FloatArray
    mean: FloatArray
    variance: FloatArray
    parameters: FloatArray
    batch: int = 0

    def again(self, noisy: FloatArray, law: NoiseLaw) -> Known:
        """Return it with a second measurement averaged in."""
        together, its_law = averaged(self.noisy, self.law, noisy, law)
        return replace(self, noisy=together, law=its_law)

    def rescaled(self, factor: float) -> Known:
        """Return it with ``factor`` times its counts, and their noise."""
        return replace(
            self,
            noisy=self.noisy * factor,
            law=self.law.scaled(factor),
            expected=self.expected * factor,
            mean=self.mean * factor,
            variance=self.variance * factor**2,
        )


@dataclass(frozen=True, eq=False)
class Belief:
    """The number of ``records``, estimates of ``singles``, how their values are grouped, and the ``known`` tables.

    ``counted`` are the tables of single attributes that the estimates began with, each with the law of its noise;
    ``idle`` are tables that were measured and said nothing that the law had not known.
    """

    records: float
    singles: tuple[Estimate, ...]
    nested: tuple[Nested, ...]
    known: tuple[Known, ...] = ()
    counted: tuple[tuple[FloatArray, NoiseLaw], ...] = ()
    idle: tuple[Axes, ...] = ()

    @classmethod
    def begun(cls, records: float, measured: Sequence[Measurement], *, ordered: Sequence[int]) -> Belief:
        """Estimate every attribute by itself, and group its values; so many of the first of each are ``ordered``."""
        counted = tuple((single.pooled, single.pooled_law) for single in measured)
        singles = _estimated_alone(counted, records, ordered)
        nested = tuple(
            Nested.of(single.distribution, ordered=number > 0) for single, number in zip(singles, ordered, strict=True)
        )
        return cls(records, singles, nested, counted=counted)

    def counted_again(self, measured: Sequence[Measurement], *, ordered: Sequence[int]) -> Belief:
        """Return the belief after a second measurement of single attributes, before there are other tables."""
        counted = tuple(
            averaged(*before, single.pooled, single.pooled_law)
            for before, single in zip(self.counted, measured, strict=True)
        )
        return replace(self, counted=counted, singles=_estimated_alone(counted, self.records, ordered))

    def rescaled(self, records: float) -> Belief:
        """Return the belief as if so many ``records`` had told it: what fewer holders measure can be set against it.

        Counts and the laws of their noise shrink alike, so what is believed stays, and how certain it is of its noise.
        The chance in the records becomes that of fewer, which for earlier tables is rather too much than too little.
        """
        if records == self.records:
            return self
        factor = records / self.records
        return replace(
            self,
            records=records,
            singles=tuple(Estimate(one.distribution, one.variance * factor**2) for one in self.singles),
            known=tuple(table.rescaled(factor) for table in self.known),
            counted=tuple((table * factor, law.scaled(factor)) for table, law in self.counted),
        )

    @cached_property
    def noise_of_singles(self) -> float:
        """The bits that the noise of single attributes costs: v/(2·n·c) nats for c of n records, at most c/n."""
        costs = [
            np.minimum(single.variance / (2 * self.records**2 * single.distribution), single.distribution).sum()
            for single in self.singles
        ]
        return float(sum(costs)) / math.log(2)

    @cached_property
    def field(self) -> Field:
        """The family of laws that the known tables span."""
        return self.spanned([table.axes for table in self.known])

    @cached_property
    def parameters(self) -> FloatArray:
        """The parameters of the law."""
        return end_to_end([table.parameters for table in self.known])

    def spanned(self, tables: Sequence[Axes]) -> Field:
        """Return the family of laws that these tables span."""
        return Field(tuple(single.distribution for single in self.singles), self.nested, tuple(tables))

    def network(self, smoothing: float) -> tuple[Structure, list[FloatArray]]:
        """Return the law as a network, with at most so many records of ``smoothing`` in every row."""
        return network_of(self.field, self.parameters, records=self.records, smoothing=smoothing)

    def learned(
        self,
        new: Sequence[Measurement],
        again: Sequence[Measurement],
        *,
        effort: Effort,
        batch: int = 0,
        correcting: bool = True,
    ) -> Belief:
        """Return the belief after ``new`` tables, all known ones ``again`` if any, and a fit of some effort.

        The new ones are of a ``batch``, which others may be of that came in before. Their sums are ``correcting`` the
        single attributes, unless these were estimated from the same counts.
        """
        fresh = [replace(table, batch=batch) for table in self.expecting(new)]
        old = self.known
        if again:
            old = tuple(known.again(found.pooled, found.pooled_law) for known, found in zip(old, again, strict=True))
        changed = [*(old if again else ()), *fresh]
        kept = () if again else old
        belief = replace(self, singles=self._corrected([*again, *new])) if correcting else self
        return replace(belief, known=(*kept, *belief.estimated(changed))).fitted(effort)

    def fitted(self, effort: Effort) -> Belief:
        """Fit the law to the known tables, from where it stands."""
        targets = [_target(self, table) for table in self.known]
        slack = [slack_of(table, target, self.records) for table, target in zip(self.known, targets, strict=True)]
        found = fit_field(
            self.field,
            end_to_end(targets),
            end_to_end(slack),
            self.parameters,
            effort=effort,
            variance=end_to_end([(table.variance + 0.5) / self.records**2 for table in self.known]),
        )
        known = tuple(
            replace(table, parameters=parameters)
            for table, parameters in zip(self.known, self.field.split(found), strict=True)
        )
        return replace(self, known=known)

    def idling(self, tables: Sequence[Axes]) -> Belief:
        """Return the belief with those of the ``tables`` as idle ones that it does not hold."""
        held = {table.axes for table in self.known}
        return replace(self, idle=(*self.idle, *(axes for axes in tables if axes not in held)))

    def expecting(self, measured: Sequence[Measurement]) -> list[Known]:
        """Return measured tables with what the law expects of them, not estimated yet."""
        expected = self._expected([found.axes for found in measured])
        return [
            Known(found.axes, found.pooled, found.pooled_law, table, table, table, np.zeros_like(table))
            for found, table in zip(measured, expected, strict=True)
        ]

    def estimated(self, tables: Sequence[Known]) -> list[Known]:
        """Estimate the counts of tables.

        Those of a batch are estimated together, for they tell each other how strong dependencies are: what the first
        batch finds against independence is strong, what a later one finds against the law is weak.
        """
        found = list(tables)
        for batch in dict.fromkeys(table.batch for table in tables):
            places = [place for place, table in enumerate(tables) if table.batch == batch]
            noisy, expected, laws = zip(*(self._brought(tables[place]) for place in places), strict=True)
            for place, (mean, variance) in zip(places, estimate_given_model(noisy, expected, laws), strict=True):
                found[place] = replace(tables[place], mean=mean, variance=variance)
        return found

    def _brought(self, table: Known) -> tuple[FloatArray, FloatArray, NoiseLaw]:
        """Return a noisy table and the expected one with the margins that are believed, and the law of the noise."""
        expected = self.records * raked(table.expected, self.margins(table.axes))
        return brought_to(table.noisy, expected), expected, law_without_margins(table.law, table.noisy.shape)

    def margins(self, axes: Axes) -> list[FloatArray]:
        """Return the laws of the groups along the ``axes`` of a table, as single attributes have them."""
        return [
            np.bincount(self.nested[a].groups(count), self.singles[a].distribution).astype(np.float64)
            for a, count in axes
        ]

    def _expected(self, tables: Sequence[Axes]) -> list[FloatArray]:
        """Return the counts that the law expects in ``tables``: with parameters of zero they change nothing."""
        spanned = self.spanned([*(table.axes for table in self.known), *tables])
        cells = sum(math.prod(count for _, count in axes) for axes in tables)
        cliques, _ = spanned.calibrated(np.concatenate([self.parameters, np.zeros(cells)]))
        return [self.records * table for table in spanned.split(spanned.margins(cliques))[len(self.known) :]]

    def _corrected(self, measured: Sequence[Measurement]) -> tuple[Estimate, ...]:
        """Correct the single attributes by the sums of whole tables."""
        found = list(self.singles)
        for table in measured:
            if table.centred:
                continue
            for axis, (attribute, count) in enumerate(table.axes):
                sums = table.pooled.sum(axis=tuple(other for other in range(table.pooled.ndim) if other != axis))
                error = law_of_sums(table.pooled_law, table.pooled.size, count).deviation
                groups = self.nested[attribute].groups(count)
                found[attribute] = update_by_groups(found[attribute], groups, sums, error, self.records)
        return tuple(found)


def _estimated_alone(
    counted: Sequence[tuple[FloatArray, NoiseLaw]], records: float, ordered: Sequence[int]
) -> tuple[Estimate, ...]:
    return tuple(estimate_marginals([table for table, _ in counted], [law for _, law in counted], records, ordered))


def _target(belief: Belief, table: Known) -> FloatArray:
    """Scale the estimate of a table until its margins are those of the single attributes."""
    return raked(table.mean, belief.margins(table.axes))


def slack_of(table: Known, target: FloatArray, records: float) -> FloatArray:
    """Return the slack of every cell of a table that is to have the probabilities ``target``."""
    return table.mean.size * (table.variance + 0.5) / records**2 + _CHANCE * target / records


def end_to_end(tables: Sequence[FloatArray]) -> FloatArray:
    """Put tables into one vector, as a field has them."""
    return np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
