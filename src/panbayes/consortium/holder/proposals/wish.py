"""What a holder who has no public knowledge of a column may ask about it, and to whom the answer protects.

A :class:`Wish` is public in all its parts. It is answered in two steps, which lie on the two sides of the charge:
:meth:`~Wish.read` counts the records, exactly, for nobody's eyes, and :meth:`~Wish.draw` makes of these counts the
answer, which is noisy and all that anybody sees. What is proposed is computed from the answer alone
(:mod:`panbayes.consortium.holder.proposals.proposed`), so that it costs nothing more.

=================== ================================================ ===============================================
wish                the answer                                       what one person moves
=================== ================================================ ===============================================
:class:`Cells`      noisy counts of all cells of a public domain     m under add-remove, 2m under replace, in L1
:class:`Edges`      edges of a public grid, one for each share       :func:`panbayes.dp.quantiles.edge_sensitivity`
:class:`Values`     frequent values of an unknown domain, at (ε, δ)  m values by 1 each, twice that under replace
=================== ================================================ ===============================================

m is the number of records that are kept of one person, 1 where every record is a person's. A wish may have a name of
its own (``edition``), to be asked anew, and be about the people of some ``blocks`` of the dataset alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.frequent import frequency_threshold, frequent_values
from panbayes.dp.mechanisms import check_noise, noisy_counts
from panbayes.dp.noise import Noise
from panbayes.dp.quantiles import choose_edge
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency, TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import DiscreteLaplace, Event, Selection, Together
from panbayes.schema.attribute import Attribute
from panbayes.schema.declaration import content, hashed_text
from panbayes.schema.grids import decade_edges
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Schema, Unit
from panbayes.tables.distinct_values import ValueCounts, count_values
from panbayes.tables.reading import Admit, read_records
from panbayes.tables.remote import remote_table

__all__ = ["MAX_DENOMINATOR", "MAX_SHARES", "Answer", "Cells", "Edges", "Protected", "Values", "Wish", "counts_event"]

Answer: TypeAlias = tuple[int, ...] | tuple[tuple[str, int], ...]
"""Noisy counts, numbers of edges, or values with their noisy counts."""

MAX_SHARES: Final = 100
"""So many edges are chosen at most."""

MAX_DENOMINATOR: Final = 10_000
"""Shares are parts of at most so many, which keeps scores exact."""


@dataclass(frozen=True, slots=True)
class Protected:
    """Whom an answer protects: which tables are neighbours, and whose records change together."""

    adjacency: Adjacency
    unit: Unit | None

    @property
    def max_records(self) -> int:
        """The most records that one person has."""
        return 1 if self.unit is None else self.unit.max_records


class Wish(Protocol):
    """A question about one column."""

    @property
    def column(self) -> str:
        """The column."""

    @property
    def epsilon(self) -> Fraction:
        """What the answer costs, beside its δ."""

    @property
    def delta(self) -> Fraction:
        """The chance that a value of one person alone is named; 0 where the domain is public."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks whose people are asked about; none for everybody."""

    def question(self) -> Mapping[str, str]:
        """Return everything that is asked, in texts; two wishes with the same texts are the same."""

    def event(self, protected: Protected, /) -> Event:
        """Return the noise of the answer; refuse a wish that cannot be answered by anybody."""

    def read(
        self, source: object, protected: Protected, *, argument: str, admit: Admit | None = None
    ) -> NDArray[np.int64] | ValueCounts:
        """Count the records exactly, of those people whom ``admit`` lets in."""

    def draw(self, counts: NDArray[np.int64] | ValueCounts, protected: Protected, *, noise: Noise) -> Answer:
        """Make the private answer of exact counts."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Asks how many records lie in every cell of a public domain, ``other`` and ``missing`` included.

    One attribute's table moves by m under add-remove and by 2m under replace in L1
    (:mod:`panbayes.privacy.adjacency`); every cell gets discrete Laplace noise of that scale over ε.
    """

    attribute: Attribute
    epsilon: Fraction
    missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES
    edition: str = ""
    blocks: tuple[str, ...] = ()

    @property
    def column(self) -> str:
        """The column."""
        return self.attribute.name

    @property
    def delta(self) -> Fraction:
        """Nothing: the domain is public."""
        return Fraction(0)

    def question(self) -> Mapping[str, str]:
        """Return everything that is asked, in texts."""
        return _asked("counts of cells", self, domain=_domain_text(self.attribute))

    def event(self, protected: Protected, /) -> DiscreteLaplace:
        """Return the noise of every cell."""
        return counts_event(self.epsilon, protected)

    def read(
        self, source: object, protected: Protected, *, argument: str, admit: Admit | None = None
    ) -> NDArray[np.int64]:
        """Count the records in every cell."""
        return _cells(self.attribute, self.missing_values, source, protected, argument=argument, admit=admit)

    def draw(self, counts: NDArray[np.int64] | ValueCounts, protected: Protected, *, noise: Noise) -> tuple[int, ...]:
        """Return the noisy count of every cell."""
        if isinstance(counts, ValueCounts):
            raise TypeError("cells are counted by the codes of their attribute")
        return tuple(noisy_counts(counts, event=self.event(protected), noise=noise).tolist())


@dataclass(frozen=True, slots=True)
class Edges:
    """Asks below which inner edges of a grid of bins the ``shares`` of the records lie.

    Every share is chosen at the same part of ε, from the same counts; their losses add up to ε.
    """

    attribute: Attribute
    shares: tuple[Fraction, ...]
    epsilon: Fraction
    missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES
    edition: str = ""
    blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that there is something to choose, and from what."""
        if len(self.attribute.bins) < 3:
            raise InputError("step", found="makes a grid without inner edges", remedy="give two cells or more")
        if not 1 <= len(self.shares) <= MAX_SHARES or len(set(self.shares)) < len(self.shares):
            raise InputError(
                "quantiles", found="found none, too many or one twice", remedy=f"give 1 to {MAX_SHARES} different ones"
            )
        if not all(0 < share < 1 and share.denominator <= MAX_DENOMINATOR for share in self.shares):
            raise InputError(
                "quantiles",
                found="found one that is not between 0 and 1, or has too many digits",
                remedy="give numbers such as 0.25, of at most four digits",
            )

    @property
    def column(self) -> str:
        """The column."""
        return self.attribute.name

    @property
    def delta(self) -> Fraction:
        """Nothing: the grid is public."""
        return Fraction(0)

    @property
    def part(self) -> Selection:
        """The choice of one edge."""
        return Pure(self.epsilon / len(self.shares)).selection_event()

    def question(self) -> Mapping[str, str]:
        """Return everything that is asked, in texts."""
        shares = " ".join(map(str, self.shares))
        return _asked("edges below shares", self, domain=_domain_text(self.attribute), shares=shares)

    def event(self, _protected: Protected, /) -> Together:
        """Return the choices of all edges."""
        return Together((self.part,), len(self.shares))

    def read(
        self, source: object, protected: Protected, *, argument: str, admit: Admit | None = None
    ) -> NDArray[np.int64]:
        """Count the records in every cell of the grid; what is no number is in none."""
        counts = _cells(self.attribute, self.missing_values, source, protected, argument=argument, admit=admit)
        return counts[: self.attribute.regular]

    def draw(self, counts: NDArray[np.int64] | ValueCounts, protected: Protected, *, noise: Noise) -> tuple[int, ...]:
        """Return the number of the chosen inner edge for every share, from 0."""
        if isinstance(counts, ValueCounts):
            raise TypeError("edges are chosen by counts of cells")
        return tuple(
            choose_edge(
                counts,
                share,
                adjacency=protected.adjacency,
                max_records=protected.max_records,
                event=self.part,
                noise=noise,
            )
            for share in self.shares
        )


@dataclass(frozen=True, slots=True)
class Values:
    """Asks which values of a column that nobody has a list of many people have; see :mod:`panbayes.dp.frequent`."""

    column: str
    epsilon: Fraction
    delta: Fraction
    missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES
    edition: str = ""
    blocks: tuple[str, ...] = ()

    def question(self) -> Mapping[str, str]:
        """Return everything that is asked, in texts."""
        return _asked("frequent values", self)

    def event(self, protected: Protected, /) -> DiscreteLaplace:
        """Return the noise of every value's count of people."""
        self.threshold(protected)
        return counts_event(self.epsilon, protected)

    def threshold(self, protected: Protected) -> int:
        """Return the noisy count from which on a value is named; refuse a δ of 0."""
        event = counts_event(self.epsilon, protected)
        return frequency_threshold(event, delta=self.delta, values=protected.max_records)

    def read(self, source: object, protected: Protected, *, argument: str, admit: Admit | None = None) -> ValueCounts:
        """Count the people who have each value."""
        if protected.unit is not None and protected.unit.column == self.column:
            raise InputError("column", found=f'"{self.column}" says whose a record is', remedy="give another column")
        return count_values(
            source, self.column, unit=protected.unit, missing_values=self.missing_values, argument=argument, admit=admit
        )

    def draw(
        self, counts: NDArray[np.int64] | ValueCounts, protected: Protected, *, noise: Noise
    ) -> tuple[tuple[str, int], ...]:
        """Return the values that reach the threshold, with their noisy counts, the most frequent first."""
        if not isinstance(counts, ValueCounts):
            raise TypeError("values are counted by their texts")
        return frequent_values(
            counts.values,
            counts.people,
            event=counts_event(self.epsilon, protected),
            threshold=self.threshold(protected),
            noise=noise,
        )


def counts_event(epsilon: Fraction, protected: Protected) -> DiscreteLaplace:
    """Return the noise of one table of counts, or of as many counts as a person has records; refuse what is not served.

    The counts move by as much as one contingency table does.
    """
    moved = TableSensitivity.of(adjacency=protected.adjacency, max_records=protected.max_records)
    event = Pure(epsilon).tables_event(moved)
    check_noise(event)
    return event


def _asked(mechanism: str, wish: Cells | Edges | Values, **further: str) -> Mapping[str, str]:
    said = {
        "mechanism": mechanism,
        "column": wish.column,
        "missing": json.dumps(sorted(set(wish.missing_values)), ensure_ascii=False, separators=(",", ":")),
        **further,
    }
    asked_apart = {"edition": wish.edition, "blocks": " ".join(sorted(set(wish.blocks)))}
    return said | {key: text for key, text in asked_apart.items() if text}


def _domain_text(attribute: Attribute) -> str:
    """Write a domain as the text that is asked and kept; the grid for those who know nothing by its name."""
    if attribute.bins == decade_edges():
        return "0 and 1, 2, 5 times every power of ten, with both signs"
    return hashed_text(content(attribute))


def _cells(
    attribute: Attribute,
    missing_values: tuple[str, ...],
    source: object,
    protected: Protected,
    *,
    argument: str,
    admit: Admit | None,
) -> NDArray[np.int64]:
    """Count the records in every cell, wherever records are counted; that there are none is nobody's business."""
    schema = Schema("proposal", (attribute,), missing_values=missing_values, unit=protected.unit)
    with ExitStack() as stack:
        if admit is None:
            remote = remote_table(source, schema, argument=argument, may_be_empty=True, stack=stack)
            if remote is not None:
                return remote.count([(0,)]).flat.copy()
        read = read_records(source, schema, argument=argument, may_be_empty=True, marked=False, admit=admit)
        return stack.enter_context(read).count([(0,)]).flat.copy()
