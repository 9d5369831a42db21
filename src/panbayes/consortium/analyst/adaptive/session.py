"""A run of the adaptive strategy with its holders: what is asked, what it cost, what came back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.division import Grant
from panbayes.consortium.analyst.adaptive.measurement import Axes, Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.consortium.analyst.adaptive.offers import Offer, price, turns
from panbayes.consortium.analyst.holders import Holders, answer_of
from panbayes.consortium.protocol.answers import GroupedTablesAnswer, TableChoiceAnswer
from panbayes.consortium.protocol.cells import pack_cells, split_cells
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Grouping, TableCandidate, ratio
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Together

__all__ = ["Session"]


@dataclass(slots=True)
class Session:
    """What is fixed for a run, and what has been spent in it, by holder."""

    holders: Holders
    grant: Grant
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
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
            tuple(attribute.numeric for attribute in schema.attributes),
        )

    def measure(
        self,
        axes: Sequence[Axes],
        fraction: Fraction,
        what: str,
        *,
        weights: Sequence[int] | None = None,
        round_number: int,
    ) -> list[Measurement]:
        """Measure tables at a ``fraction`` of the grant, divided by ``weights``, else evenly."""
        weighed = list(weights or [1] * len(axes))
        whole = sum(weighed)
        groupings, tables = _numbered(axes, self.sizes)
        query = adaptive.tables(self.holders.study).ask(
            groupings=groupings,
            tables=tables,
            weights=tuple(weighed),
            loss=ratio(self.grant.loss.part(fraction).amount),
        )
        releases = self.holders.ask(query, round_number=round_number)
        events = [self.grant.event(fraction * w / whole, tables=n) for w, n in sorted(Counter(weighed).items())]
        self._record(releases, Step.of(what, Together(tuple(events)), loss=self.grant.loss.part(fraction)))
        shapes = [tuple(self.sizes[a] if g is None else int(g.max()) + 1 for a, g in table) for table in axes]
        counted = {
            name: [
                table.astype(np.float64) for table in split_cells(answer_of(release, GroupedTablesAnswer).cells, shapes)
            ]
            for name, release in releases.items()
        }
        return [
            Measurement(
                table,
                {name: found[place] for name, found in counted.items()},
                self.grant.law(fraction * weight / whole),
            )
            for place, (table, weight) in enumerate(zip(axes, weighed, strict=True))
        ]

    def choose(
        self,
        offers: Sequence[Offer],
        expected: Mapping[str, Sequence[FloatArray]],
        records: Mapping[str, float],
        picks: int,
        fraction: Fraction,
        rule: Literal["forest", "once"],
        *,
        round_number: int,
    ) -> list[Offer]:
        """Let the holders choose in turns, each with the whole ``fraction`` of its people's; return what they took."""
        taken: list[Offer] = []
        total = sum(records.values())
        loss = self.grant.loss.part(fraction)
        for name, times in turns(records, picks):
            free = [place for place, offer in enumerate(offers) if offer not in taken]
            if not free:
                break
            groupings, tables = _numbered([offers[place].axes for place in free], self.sizes)
            cells = np.concatenate([expected[name][place].ravel() for place in free])
            query = adaptive.choices(self.holders.study).ask(
                groupings=groupings,
                candidates=tuple(
                    TableCandidate(axes, price(offers[place], expected[name][place], records[name] / total))
                    for axes, place in zip(tables, free, strict=True)
                ),
                expected=pack_cells(np.rint(cells).clip(0, 2**31 - 1).astype(np.int64)),
                rule=rule,
                taken=tuple((offer.axes[0][0], offer.axes[1][0]) for offer in taken),
                picks=times,
                loss=ratio(loss.amount),
            )
            releases = self.holders.ask(query, round_number=round_number, only=(name,))
            what = f"{times} choices of a table of {len(offers[0].axes)} attributes"
            pick = loss.part(Fraction(1, times)).selection_event()
            self._record(releases, Step.of(what, Together((pick,), times), loss=loss))
            (release,) = releases.values()
            taken += [offers[free[place]] for place in answer_of(release, TableChoiceAnswer).taken]
        return taken

    def _record(self, releases: Mapping[str, Release], step: Step) -> None:
        for name, release in releases.items():
            self.spent.setdefault(name, []).append(step)
            self.private = self.private and release.private
            self.people[name] = release.size


def _numbered(axes: Sequence[Axes], sizes: Sequence[int]) -> tuple[tuple[Grouping, ...], tuple[tuple[int, ...], ...]]:
    """Write axes as groupings, each once, and as numbers among them."""
    places: dict[Grouping, int] = {}
    tables = []
    for table in axes:
        numbers = []
        for attribute, groups in table:
            plain = groups is None or int(groups.max()) + 1 == sizes[attribute]
            grouping = Grouping(attribute, () if plain or groups is None else tuple(groups.tolist()))
            numbers.append(places.setdefault(grouping, len(places)))
        tables.append(tuple(numbers))
    return tuple(places), tuple(tables)
