"""A run of the adaptive strategy with its holders: what is asked, what it cost, what came back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.markov.field import Axes, shape_of
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.choice import Choice
from panbayes.consortium.analyst.adaptive.division import Grant
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import Offer
from panbayes.consortium.analyst.holders import Holders, answer_of
from panbayes.consortium.protocol.answers import GroupedTablesAnswer, TableChoiceAnswer
from panbayes.consortium.protocol.cells import pack_cells, split_cells
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Count, Grouping, TableCandidate, TableChoiceQuery, ratio
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Event, Together
from panbayes.privacy.loss import Loss

__all__ = ["Session"]

_PAIR: Final = 2

_UNKNOWN: Final = "choices of tables, of which no answer was taken"
_LOOKED: Final = "a look and choices, how many is not known"
"""What a holder may have spent that dropped out when it was to choose: its answer alone would say by which events."""


@dataclass(slots=True)
class Session:
    """What is fixed for a run, and what has been spent in it, by holder."""

    holders: Holders
    grant: Grant
    sizes: tuple[int, ...]
    ordered: tuple[int, ...]
    spent: dict[str, list[Step]] = field(default_factory=dict)
    private: bool = True
    people: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, holders: Holders) -> Session:
        """Begin a run."""
        schema = holders.study.schema
        return cls(
            holders,
            Grant.of(holders.study),
            schema.sizes,
            tuple(attribute.regular if attribute.ordered else 0 for attribute in schema.attributes),
        )

    def measure(
        self,
        tables: Sequence[Axes],
        fraction: Fraction,
        what: str,
        *,
        nested: Sequence[Nested] = (),
        weights: Sequence[int] | None = None,
        round_number: int,
    ) -> list[Measurement]:
        """Measure tables at a ``fraction`` of the grant, divided by ``weights``, else evenly.

        Values are grouped as ``nested`` says; without, every value stands for itself.
        """
        weighed = list(weights or [1] * len(tables))
        whole = sum(weighed)
        shapes = [shape_of(axes) for axes in tables]
        centred = [self._centred(axes) for axes in tables]
        shared = self.grant.sharing(fraction, [math.prod(shape) for shape in shapes], weighed)
        groups = {place: group for group in shared for place in group.places}
        order = [*groups, *(place for place in range(len(tables)) if place not in groups)]
        groupings, places = self._numbered([tables[place] for place in order], nested)
        query = adaptive.tables(self.holders.study).ask(
            groupings=groupings,
            tables=places,
            weights=tuple(weighed[place] for place in order),
            loss=ratio(self.grant.loss.part(fraction).amount),
            centred=any(centred),
            radii=tuple(len(group.places) for group in shared),
        )
        asked = self.holders.names
        releases = self.holders.ask(query, round_number=round_number)
        kinds = Counter((weighed[place], centred[place]) for place in order if place not in groups)
        events: list[Event] = [group.event for group in shared]
        events += [
            self.grant.event(fraction * weight / whole, tables=many, shape=shape)
            for (weight, shape), many in sorted(kinds.items())
        ]
        self._record(asked, releases, Step.of(what, Together(tuple(events)), loss=self.grant.loss.part(fraction)))
        counted = {
            name: [
                table.astype(np.float64)
                for table in split_cells(
                    answer_of(release, GroupedTablesAnswer).cells, [shapes[place] for place in order]
                )
            ]
            for name, release in releases.items()
        }
        found = []
        for place, (axes, weight, shape) in enumerate(zip(tables, weighed, centred, strict=True)):
            times = math.prod(shape)  # a centred table comes times its cells, another once
            cells = math.prod(shapes[place])
            law = groups[place].law(cells) if place in groups else self._law(fraction * weight / whole, shape)
            answered = {name: of_one[order.index(place)] / times for name, of_one in counted.items()}
            found.append(Measurement(axes, answered, law, centred=bool(shape)))
        return found

    def part_of(self, axes: Axes, law: NoiseLaw) -> float:
        """Return at which part of the grant all holders' table would have noise of this ``law``, under zCDP."""
        alone = self._law(Fraction(1), self._centred(axes))
        return len(self.holders.names) * (alone.deviation / law.deviation) ** 2

    def width(self, axes: Axes) -> float:
        """Return the deviation of the noise that a holder would answer a table with, at the whole grant."""
        return NoiseLaw.of(self.grant.event(Fraction(1), shape=self._centred(axes))).deviation

    def _centred(self, axes: Axes) -> tuple[int, ...]:
        """Return the shape of a table that is measured centred, and nothing of another."""
        return shape_of(axes) if self.grant.centred and len(axes) > 1 else ()

    def _law(self, fraction: Fraction, shape: Sequence[int]) -> NoiseLaw:
        """Return the law of the noise of a cell of a holder's table; a centred one has a ``shape``."""
        return NoiseLaw.of(self.grant.event(fraction, shape=shape)).scaled(1 / math.prod(shape))

    def look(
        self,
        candidates: Mapping[str, tuple[TableCandidate, ...]],
        groupings: tuple[Grouping, ...],
        count: Count,
        noise: Event,
        loss: Loss,
        *,
        least: int,
        round_number: int,
    ) -> dict[str, int]:
        """Let all holders look whether so many of the ``candidates`` are worth more than the least; choose none.

        They are pairs, whose own margins say what is to be expected. Return what each holder found: the count, or 0.
        """
        queries = {
            name: adaptive.choices(self.holders.study).ask(
                groupings=groupings,
                candidates=offered,
                expected=None,
                rule="forest",
                taken=(),
                counts=(count,),
                least=least,
                look=ratio(Fraction(1)),
                loss=ratio(loss.amount),
            )
            for name, offered in candidates.items()
        }
        releases = self.holders.ask_each(queries, round_number=round_number)
        self._record(queries, releases, Step.of("a look whether attributes hang together", noise, loss=loss))
        return {name: answer_of(release, TableChoiceAnswer).count for name, release in releases.items()}

    def choose(self, choice: Choice, fraction: Fraction, *, round_number: int) -> list[Axes]:
        """Let the holders choose, each at the whole ``fraction`` of its people's; return what they took."""
        loss = self.grant.loss.part(fraction)
        taken: dict[str, list[Axes]] = {}
        for turn in choice.turns:
            left = choice.among(self.holders.names)
            before = [axes for found in taken.values() for axes in found]
            offered = left.offered(turn, before)
            queries = {name: self._query(left, name, offers, before, loss) for name, offers in offered.items()}
            releases = self.holders.ask_each(queries, round_number=round_number)
            for name, query in queries.items():
                if name not in releases:
                    self._record((name,), {}, Step(_UNKNOWN, _LOOKED, loss))
                    continue
                answer = answer_of(releases[name], TableChoiceAnswer)
                self._record((name,), releases, *self._steps(answer.count, query, loss))
                taken[name] = [offered[name][place].axes for place in answer.taken]
        return choice.merged(taken.values())

    def left(self, records: Mapping[str, float]) -> dict[str, float]:
        """Return the ``records`` of those holders that still take part."""
        names = self.holders.names
        return {name: number for name, number in records.items() if name in names}

    def _query(
        self, choice: Choice, name: str, offers: Sequence[Offer], before: Sequence[Axes], loss: Loss
    ) -> TableChoiceQuery:
        """Ask a holder to choose among ``offers``, where others have taken some ``before``."""
        groupings, places = self._numbered([offer.axes for offer in offers], choice.nested, [o.splits for o in offers])
        expected = [choice.expected(name, offer) for offer in offers]
        look = choice.look(name)
        joined = [(axes[0][0], axes[1][0]) for axes in before if len(axes) == _PAIR and choice.rule == "forest"]
        return adaptive.choices(self.holders.study).ask(
            groupings=groupings,
            candidates=tuple(
                TableCandidate(axes, choice.penalty(name, offer, cells), choice.cells(name, offer, cells))
                for axes, offer, cells in zip(places, offers, expected, strict=True)
            ),
            expected=pack_cells(_whole(np.concatenate([cells.ravel() for cells in expected]))),
            rule=choice.rule,
            taken=tuple(joined),
            counts=tuple(Count(tables, unit) for tables, unit in choice.counts(name)),
            least=choice.least(name),
            look=ratio(look) if look else None,
            loss=ratio(loss.amount),
        )

    def _numbered(
        self, tables: Sequence[Axes], nested: Sequence[Nested], splits: Sequence[tuple[tuple[int, ...], ...]] = ()
    ) -> tuple[tuple[Grouping, ...], tuple[tuple[int, ...], ...]]:
        """Write axes as groupings, each once, and as numbers; nested ones where a table has no ``splits``."""
        groups: dict[tuple[int, int], tuple[int, ...]] = {}
        for a, count in {axis for axes in tables for axis in axes}:
            groups[a, count] = () if count == self.sizes[a] else tuple(nested[a].groups(count).tolist())
        places: dict[tuple[int, tuple[int, ...]], int] = {}
        numbers = []
        for place, axes in enumerate(tables):
            found = splits[place] if splits and splits[place] else [groups[axis] for axis in axes]
            keys = [(a, () if count == self.sizes[a] else own) for (a, count), own in zip(axes, found, strict=True)]
            numbers.append(tuple(places.setdefault(key, len(places)) for key in keys))
        return tuple(Grouping(a, own) for a, own in places), tuple(numbers)

    def _steps(self, count: int, query: TableChoiceQuery, loss: Loss) -> tuple[Step, ...]:
        """Describe what a query that led to so many choices has cost."""
        moved, values, look = self.grant.moved.l1, len(query.counts), Fraction(query.look or 0)
        found = []
        if look:
            seen = loss.part(look).tables_event(TableSensitivity(values * moved, values * moved**2))
            if not count:
                return (Step.of("a look whether tables are worth measuring", seen, loss=loss),)
            found.append(Step.of("a look how many tables are worth measuring", seen, loss=loss.part(look)))
        target = self.holders.study.target
        pick = loss.part((1 - look) / count).selection_event()
        what = ("one choice" if count == 1 else f"{count} choices") + " of a table"
        what += f", for predicting {target}" if target is not None else ""
        found.append(Step.of(what, Together((pick,), count), loss=loss.part(1 - look)))
        return tuple(found)

    def _record(self, asked: Iterable[str], releases: Mapping[str, Release], *steps: Step) -> None:
        """Write down what those that were ``asked`` have spent; who did not answer may have spent it too."""
        for name in asked:
            self.spent.setdefault(name, []).extend(steps)
            if name in releases:
                self.private = self.private and releases[name].private
                self.people[name] = releases[name].size


def _whole(cells: FloatArray) -> NDArray[np.int64]:
    return np.rint(cells).clip(-(2**31) + 1, 2**31 - 1).astype(np.int64)
