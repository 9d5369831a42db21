"""The queries an analyst may put to a holder: typed, six of them, never code.

Queries speak of attributes by their position in the schema and carry losses as exact ratios; sensitivities and noise
are the holder's business.

=========================== ========================================= =============================
query                       the holder answers with                   mechanism
=========================== ========================================= =============================
:class:`TablesQuery`        noisy contingency tables                  discrete Laplace
:class:`ParentChoiceQuery`  one (attribute, parents) pair             permute-and-flip, exponential
:class:`LinearChoiceQuery`  the same, by a score that adds up         permute-and-flip, exponential
:class:`ModelQuery`         a structure and its noisy tables          PrivBayes inside the holder
:class:`GroupedTablesQuery` noisy tables of grouped values            discrete Laplace or Gaussian,
                                                                      noise of one radius
:class:`TableChoiceQuery`   how many tables are worth measuring,      noisy scores, then
                            and which                                 permute-and-flip, exponential
=========================== ========================================= =============================

Messages are strict: unknown fields, other types, tags or numbers out of range do not decode. A new kind of query is a
new tag; a holder that does not know it refuses.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from panbayes.consortium.protocol.cells import Cells
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.events import Rule

__all__ = [
    "MEAN_PARTS",
    "AxisNumbers",
    "Count",
    "GroupedTablesQuery",
    "Grouping",
    "LinearChoiceQuery",
    "ModelQuery",
    "Pair",
    "ParentChoiceQuery",
    "Position",
    "Query",
    "QueryType",
    "TableCandidate",
    "TableChoiceQuery",
    "TablesQuery",
    "kind_of",
    "ratio",
]

Position: TypeAlias = Annotated[int, Meta(ge=0, lt=10_000)]
"""An attribute, by its position in the schema."""

# \Z, not $: the latter lets a newline follow.
Ratio: TypeAlias = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,29}(/[1-9][0-9]{0,29})?\Z")]
"""A positive exact number, such as 1/903."""

AttributeSet: TypeAlias = Annotated[tuple[Position, ...], Meta(min_length=1, max_length=9)]
Parents: TypeAlias = Annotated[tuple[Position, ...], Meta(max_length=8)]
Degree: TypeAlias = Annotated[int, Meta(ge=0, le=8)]

Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,29}\Z")]
"""The name of a score or of a class of privacy; whether there is one of that name is for the holder to say."""

AxisNumbers: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=0, lt=100_000)], ...], Meta(max_length=4)]
"""A table to count: its axes, by their positions among the query's groupings. Without axes, the total."""

MEAN_PARTS: Final = 4096
"""Parts of 1 in which the mean side of an attribute is given."""

Sides: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=0, le=1)], ...], Meta(min_length=1, max_length=2**16)]
"""The side of every value of an attribute."""

Weight: TypeAlias = Annotated[int, Meta(ge=1, lt=2**31)]


class _Message(Struct, frozen=True, forbid_unknown_fields=True):
    """What all messages have in common."""


class Pair(_Message, frozen=True, array_like=True):
    """An attribute and the parents it gets."""

    child: Position
    parents: Parents


class TablesQuery(_Message, frozen=True, tag="counts"):
    """Noisy contingency tables of ``sets``, at ``epsilon`` for all of them together, in equal parts.

    With ``clip`` the holder sets negative counts to zero before it answers.
    """

    sets: Annotated[tuple[AttributeSet, ...], Meta(min_length=1, max_length=1_000_000)]
    epsilon: Ratio
    clip: bool


class ParentChoiceQuery(_Message, frozen=True, tag="vote"):
    """Which (attribute, parents) next, given the attributes already ``placed``, at ``epsilon``.

    Candidates are all pairs of an attribute not placed and min(``degree``, placed) parents among those placed.
    """

    placed: Annotated[tuple[Position, ...], Meta(min_length=1, max_length=10_000)]
    degree: Degree
    score: Name
    mechanism: Rule
    epsilon: Ratio


class LinearChoiceQuery(_Message, frozen=True, tag="linear"):
    """Which (attribute, parents) next, as in :class:`ParentChoiceQuery`, by a score that adds up over holders.

    ``sides`` puts every value of every attribute on one of two sides, 0 or 1, and ``means`` is what is expected of each
    attribute: the records on side 0 less those on side 1, in 4096ths of all records. The score of a pair is the sum
    over its parents of |s − e|, s the records on the same side of child and parent less those on different sides, e
    what the means of the two would make of that if they had nothing to do with each other; rounded down.
    """

    placed: Annotated[tuple[Position, ...], Meta(min_length=1, max_length=10_000)]
    degree: Degree
    sides: Annotated[tuple[Sides, ...], Meta(min_length=1, max_length=10_000)]
    means: Annotated[
        tuple[Annotated[int, Meta(ge=-MEAN_PARTS, le=MEAN_PARTS)], ...], Meta(min_length=1, max_length=10_000)
    ]
    mechanism: Rule
    epsilon: Ratio


class ModelQuery(_Message, frozen=True, tag="model"):
    """A whole model, learned inside the holder: one ε for its votes, one for its tables.

    Without ``theta`` every attribute gets min(``degree``, placed) parents. With it, an attribute gets up to ``degree``
    parents, as long as the average cell of its table holds ``theta`` times the average noise.
    """

    first: Position
    degree: Degree
    theta: Ratio | None
    score: Name
    mechanism: Rule
    structure_epsilon: Ratio
    tables_epsilon: Ratio
    clip: bool


class Grouping(_Message, frozen=True, array_like=True):
    """An attribute with its values put together in groups: value ``v`` belongs to group ``groups[v]``, from 0 on.

    Without ``groups`` every value stands for itself.
    """

    attribute: Position
    groups: Annotated[tuple[Annotated[int, Meta(ge=0, lt=2**16)], ...], Meta(max_length=2**16)]


class GroupedTablesQuery(_Message, frozen=True, tag="tables", omit_defaults=True):
    """Noisy tables of grouped values, at ``loss`` for all together; table t gets the fraction weight_t/Σ weight.

    ``tables`` name the axes of each table among ``groupings``; ``privacy`` is the class of the loss. ``centred`` ones
    of two or more axes are without what their margins say, and times the number of their cells, so that they are whole
    numbers: K·c − Σᵢ kᵢ·mᵢ + (d − 1)·n for K cells, d axes of kᵢ groups with margins mᵢ, and n records.

    ``radii`` are how many tables, one after another from the first, share a radius of noise, with the fractions of all
    of them; under pure privacy and not centred. The tables after those are noisy cell by cell.
    """

    privacy: Name
    adjacency: Adjacency
    groupings: Annotated[tuple[Grouping, ...], Meta(max_length=100_000)]
    tables: Annotated[tuple[AxisNumbers, ...], Meta(min_length=1, max_length=100_000)] = msgspec.field(name="views")
    weights: Annotated[tuple[Weight, ...], Meta(min_length=1, max_length=100_000)]
    loss: Ratio
    centred: bool = False
    radii: Annotated[tuple[Annotated[int, Meta(ge=1, le=100_000)], ...], Meta(max_length=100_000)] = ()


class TableCandidate(_Message, frozen=True, array_like=True):
    """A table that may be worth measuring: its axes, and what measuring it costs in accuracy.

    ``penalty`` is in half records, and ``price`` is multiplied by the ``unit`` of a :class:`Count`.
    """

    axes: AxisNumbers
    penalty: Annotated[int, Meta(ge=0, lt=2**31)]
    price: Annotated[int, Meta(ge=0, lt=2**31)]


class Count(_Message, frozen=True, array_like=True):
    """So many ``tables`` that may be taken; one more unit of price costs ``unit`` half records then."""

    tables: Annotated[int, Meta(ge=1, le=100_000)]
    unit: Annotated[int, Meta(ge=0, lt=2**31)]


class TableChoiceQuery(_Message, frozen=True, tag="choices", omit_defaults=True):
    """How many tables are worth measuring, and which: at ``loss`` altogether, ``look`` of it for how many.

    The score of a candidate with two axes is ‖c − e‖₁, c its table and e what is ``expected`` in its cells. One with
    three or four axes, of two groups each, is an interaction; its score is |s − e|, s the number of records with an
    even number of second groups less those with an odd number. What is expected lies end to end, an interaction's as
    one number. Where nothing is, all candidates are pairs, and their own margins say what to expect: c_a·c_b/n in a
    cell of a table of n records; such a score is rounded down. At a count, a candidate is worth its score − penalty −
    price·unit; where an attribute is the ``target`` of what is learned, one without that attribute is worth a quarter
    of it, rounded down.

    Tables of the same attributes exclude each other; with ``rule`` "forest", pairs that close a cycle do, also with the
    pairs ``taken`` before. Of the tables that make up the largest worth the least is looked at, for every count, with
    noise: the largest count at which it is above ``least`` is taken, and so many tables are chosen one after the other,
    where none is also a choice, worth 0. A single count may go without a ``look``; with a look of 1 nothing is chosen.
    """

    privacy: Name
    adjacency: Adjacency
    groupings: Annotated[tuple[Grouping, ...], Meta(max_length=100_000)]
    candidates: Annotated[tuple[TableCandidate, ...], Meta(min_length=1, max_length=1_000_000)]
    expected: Cells | None
    rule: Literal["forest", "any"]
    taken: Annotated[tuple[tuple[Position, Position], ...], Meta(max_length=10_000)]
    counts: Annotated[tuple[Count, ...], Meta(min_length=1, max_length=32)]
    least: Annotated[int, Meta(ge=0, lt=2**31)]
    look: Ratio | None
    loss: Ratio
    target: Position | None = None


Query: TypeAlias = (
    TablesQuery | ParentChoiceQuery | LinearChoiceQuery | ModelQuery | GroupedTablesQuery | TableChoiceQuery
)

QueryType = TypeVar("QueryType", bound=Query)
"""One kind of query, in what speaks of that kind only."""


def kind_of(query: Query) -> str:
    """Name the kind of a query, as its tag does."""
    return str(type(query).__struct_config__.tag)


def ratio(value: Fraction) -> str:
    """Write a positive exact number for a query."""
    return str(value)
