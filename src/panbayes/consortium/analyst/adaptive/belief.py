"""What the analyst believes: the laws of single attributes, the tables measured so far, and the one law that fits them.

A table that comes in is first estimated by itself, from what the law so far expects of it
(:func:`~panbayes.consortium.analyst.adaptive.estimation.estimate_given_model`), and its sums correct the single
attributes. Then all tables are brought to the same single attributes, for tables that disagree on a margin would pull
the fit apart, and the field is fitted to them (:mod:`panbayes.bayesnet.markov.maxent`) with the slack

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
from panbayes.consortium.analyst.adaptive.measurement import Measurement, averaged
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

__all__ = ["Belief", "Known", "end_to_end", "estimated", "raked", "slack_of"]

_RAKING: Final = 10
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
    def begun(cls, records: float, measured: Sequence[Measurement], *, ordered: Sequence[bool]) -> Belief:
        """Estimate every attribute by itself, and group its values."""
        counted = tuple((single.pooled, single.pooled_law) for single in measured)
        singles = _estimated_alone(counted, records, ordered)
        nested = tuple(
            Nested.of(single.distribution, ordered=numeric) for single, numeric in zip(singles, ordered, strict=True)
        )
        return cls(records, singles, nested, counted=counted)

    def counted_again(self, measured: Sequence[Measurement], *, ordered: Sequence[bool]) -> Belief:
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
        """Return the law as a network, with so many records of ``smoothing`` in every row."""
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
        singles = self._corrected([*again, *new]) if correcting else self.singles
        return replace(self, singles=singles, known=(*kept, *estimated(changed))).fitted(effort)

    def fitted(self, effort: Effort) -> Belief:
        """Fit the law to the known tables, from where it stands."""
        targets = [_target(self, table) for table in self.known]
        slack = [slack_of(table, target, self.records) for table, target in zip(self.known, targets, strict=True)]
        found = fit_field(self.field, end_to_end(targets), end_to_end(slack), self.parameters, effort=effort)
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

    def _expected(self, tables: Sequence[Axes]) -> list[FloatArray]:
        """Return the counts that the law expects in ``tables``: with parameters of zero they change nothing."""
        spanned = self.spanned([*(table.axes for table in self.known), *tables])
        cells = sum(math.prod(count for _, count in axes) for axes in tables)
        cliques, _ = spanned.calibrated(np.concatenate([self.parameters, np.zeros(cells)]))
        return [self.records * table for table in spanned.split(spanned.margins(cliques))[len(self.known) :]]

    def _corrected(self, measured: Sequence[Measurement]) -> tuple[Estimate, ...]:
        """Correct the single attributes by the sums of tables."""
        found = list(self.singles)
        for table in measured:
            for axis, (attribute, count) in enumerate(table.axes):
                sums = table.pooled.sum(axis=tuple(other for other in range(table.pooled.ndim) if other != axis))
                error = table.pooled_law.deviation * math.sqrt(table.pooled.size / count)
                groups = self.nested[attribute].groups(count)
                found[attribute] = update_by_groups(found[attribute], groups, sums, error, self.records)
        return tuple(found)


def _estimated_alone(
    counted: Sequence[tuple[FloatArray, NoiseLaw]], records: float, ordered: Sequence[bool]
) -> tuple[Estimate, ...]:
    return tuple(estimate_marginals([table for table, _ in counted], [law for _, law in counted], records, ordered))


def _target(belief: Belief, table: Known) -> FloatArray:
    """Scale the estimate of a table until its margins are those of the single attributes."""
    margins = [np.bincount(belief.nested[a].groups(count), belief.singles[a].distribution) for a, count in table.axes]
    return raked(table.mean, [margin.astype(np.float64) for margin in margins])


def slack_of(table: Known, target: FloatArray, records: float) -> FloatArray:
    """Return the slack of every cell of a table that is to have the probabilities ``target``."""
    return table.mean.size * (table.variance + 0.5) / records**2 + _CHANCE * target / records


def raked(counts: FloatArray, margins: Sequence[FloatArray]) -> FloatArray:
    """Scale counts to a joint law until it has these margins, one for each axis."""
    joint: FloatArray = counts / counts.sum()
    for _ in range(_RAKING):
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(joint.ndim) if other != axis)
            factor = margin / np.maximum(joint.sum(axis=others), 1e-300)
            joint = joint * factor.reshape([-1 if place == axis else 1 for place in range(joint.ndim)])
    return np.asarray(joint / joint.sum())


def estimated(tables: Sequence[Known]) -> list[Known]:
    """Estimate the counts of tables; those of a batch together, for they tell each other how strong dependencies are.

    What the first batch finds against independence is strong, what a later one finds against the law is weak.
    """
    found = list(tables)
    for batch in dict.fromkeys(table.batch for table in tables):
        places = [place for place, table in enumerate(tables) if table.batch == batch]
        estimates = estimate_given_model(
            [tables[place].noisy for place in places],
            [tables[place].expected for place in places],
            [tables[place].law for place in places],
        )
        for place, (mean, variance) in zip(places, estimates, strict=True):
            found[place] = replace(tables[place], mean=mean, variance=variance)
    return found


def end_to_end(tables: Sequence[FloatArray]) -> FloatArray:
    """Put tables into one vector, as a field has them."""
    return np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
