"""What crosses the boundary: questions from the analyst, releases and refusals from a holder.

A question names its study by hash, its round, and one of five queries. Its ``id`` is the hash of exactly that, never
of data, so the same question always has the same id and a holder can answer it again from its ledger. Queries speak of
attributes by their position in the schema and carry ε as an exact ratio; sensitivities and noise are the holder's
business. A holder answers with a release or a refusal; the text of a refusal depends on public facts only.

===================== ========================================= =============================
query                 the holder answers with                   mechanism
===================== ========================================= =============================
:class:`TablesQuery`  noisy contingency tables                  discrete Laplace
:class:`ParentChoiceQuery`    one (attribute, parents) pair             permute-and-flip, exponential
:class:`ModelQuery`   a structure and its noisy tables          PrivBayes inside the holder
:class:`GroupedTablesQuery`  noisy tables of grouped values            discrete Laplace or Gaussian
:class:`TableChoiceQuery`  the tables furthest from what is expected permute-and-flip, exponential
===================== ========================================= =============================

Messages are strict: unknown fields, other types, tags or numbers out of range do not decode. A new kind of query is a
new tag; a holder that does not know it refuses. Bytes are made and read in :mod:`panbayes.consortium.protocol.codec`.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

__all__ = [
    "Answer",
    "Candidate",
    "Cells",
    "GroupedTablesAnswer",
    "GroupedTablesQuery",
    "Grouping",
    "ModelAnswer",
    "ModelQuery",
    "Pair",
    "ParentChoiceAnswer",
    "ParentChoiceQuery",
    "Query",
    "Question",
    "Refusal",
    "RefusalCode",
    "Release",
    "Reply",
    "TableChoiceAnswer",
    "TableChoiceQuery",
    "TablesAnswer",
    "TablesQuery",
    "pack_cells",
    "question",
    "ratio",
    "unpack_cells",
]

Position: TypeAlias = Annotated[int, Meta(ge=0, lt=10_000)]
"""An attribute, by its position in the schema."""

# \Z, not $: the latter lets a newline follow.
Ratio: TypeAlias = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,29}(/[1-9][0-9]{0,29})?\Z")]
"""A positive exact number, such as 1/903."""

Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
AttributeSet: TypeAlias = Annotated[tuple[Position, ...], Meta(min_length=1, max_length=9)]
Parents: TypeAlias = Annotated[tuple[Position, ...], Meta(max_length=8)]
Degree: TypeAlias = Annotated[int, Meta(ge=0, le=8)]

Score: TypeAlias = Literal["I", "R", "F"]
Mechanism: TypeAlias = Literal["permute-and-flip", "exponential"]

PrivacyClass: TypeAlias = Literal["pure", "zcdp"]
"""What the ``loss`` of a query is: ε of pure differential privacy, or ρ of zero-concentrated."""

Adjacency: TypeAlias = Literal["replace", "add-remove"]
View: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=0, lt=100_000)], ...], Meta(max_length=3)]
"""A table to count: its axes, by their positions among the query's groupings. Without axes, the total."""

Weight: TypeAlias = Annotated[int, Meta(ge=1, lt=2**31)]


class _Message(Struct, frozen=True, forbid_unknown_fields=True):
    """What all messages have in common."""


class Pair(_Message, frozen=True, array_like=True):
    """An attribute and the parents it gets."""

    child: Position
    parents: Parents


class TablesQuery(_Message, frozen=True, tag="counts"):
    """Noisy contingency tables of ``sets``, at ``epsilon`` for all of them together, in equal shares.

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
    score: Score
    mechanism: Mechanism
    epsilon: Ratio


class ModelQuery(_Message, frozen=True, tag="model"):
    """A whole model, learned inside the holder: one ε for its votes, one for its tables.

    Without ``theta`` every attribute gets min(``degree``, placed) parents. With it, an attribute gets up to ``degree``
    parents, as long as the average cell of its table holds ``theta`` times the average noise.
    """

    first: Position
    degree: Degree
    theta: Ratio | None
    score: Score
    mechanism: Mechanism
    structure_epsilon: Ratio
    tables_epsilon: Ratio
    clip: bool


class Cells(_Message, frozen=True):
    """Integer counts, packed: little-endian two's complement of ``width`` bytes each."""

    width: Literal[2, 4, 8]
    data: bytes


class Grouping(_Message, frozen=True, array_like=True):
    """An attribute with its values put together in groups: value ``v`` belongs to group ``groups[v]``, from 0 on.

    Without ``groups`` every value stands for itself.
    """

    attribute: Position
    groups: Annotated[tuple[Annotated[int, Meta(ge=0, lt=2**16)], ...], Meta(max_length=2**16)]


class GroupedTablesQuery(_Message, frozen=True, tag="tables"):
    """Noisy tables of grouped values, at ``loss`` for all of them together; table t gets the share weight_t/Σ weight.

    ``views`` name the axes of each table among ``groupings``.
    """

    privacy: PrivacyClass
    adjacency: Adjacency
    groupings: Annotated[tuple[Grouping, ...], Meta(max_length=100_000)]
    views: Annotated[tuple[View, ...], Meta(min_length=1, max_length=100_000)]
    weights: Annotated[tuple[Weight, ...], Meta(min_length=1, max_length=100_000)]
    loss: Ratio


class Candidate(_Message, frozen=True, array_like=True):
    """A table that may be worth measuring, and what measuring it costs in accuracy, in records."""

    view: View
    penalty: Annotated[int, Meta(ge=0, lt=2**31)]


class TableChoiceQuery(_Message, frozen=True, tag="choice"):
    """Which tables are furthest from what a public model expects: at most ``picks`` of them, at ``loss`` altogether.

    A candidate's score is ½‖c − e‖₁ − penalty, c its table and e what is ``expected`` in its cells (all candidates'
    end to end); taking none scores 0 and is possible each time. With ``rule`` "forest" the first two attributes of the
    tables taken, as edges, may not close a cycle, also not with the edges ``taken`` before; with "once" no table is
    taken whose first attribute began one taken before.
    """

    privacy: PrivacyClass
    adjacency: Adjacency
    groupings: Annotated[tuple[Grouping, ...], Meta(max_length=100_000)]
    candidates: Annotated[tuple[Candidate, ...], Meta(min_length=1, max_length=1_000_000)]
    expected: Cells
    rule: Literal["forest", "once"]
    taken: Annotated[tuple[tuple[Position, Position], ...], Meta(max_length=10_000)]
    picks: Annotated[int, Meta(ge=1, le=10_000)]
    loss: Ratio


Query: TypeAlias = TablesQuery | ParentChoiceQuery | ModelQuery | GroupedTablesQuery | TableChoiceQuery


class Question(_Message, frozen=True):
    """A query in its place: which study, which round; ``id`` is the hash of the rest."""

    id: Digest
    study: Digest
    round: Annotated[int, Meta(ge=0, lt=2**31)]
    query: Query


class TablesAnswer(_Message, frozen=True, tag="counts"):
    """The tables asked for, end to end, each in C order with the axes in the order of its set."""

    cells: Cells


class ParentChoiceAnswer(_Message, frozen=True, tag="vote"):
    """The pair chosen."""

    pair: Pair


class ModelAnswer(_Message, frozen=True, tag="model"):
    """The structure, in the order of placing, and the noisy table of each (parents, child), end to end."""

    pairs: tuple[Pair, ...]
    cells: Cells


class GroupedTablesAnswer(_Message, frozen=True, tag="tables"):
    """The tables asked for, end to end, each in C order with the axes in the order of its view."""

    cells: Cells


class TableChoiceAnswer(_Message, frozen=True, tag="choice"):
    """The candidates taken, by their positions in the query, in the order of taking."""

    taken: Annotated[tuple[Annotated[int, Meta(ge=0, lt=1_000_000)], ...], Meta(max_length=10_000)]


Answer: TypeAlias = TablesAnswer | ParentChoiceAnswer | ModelAnswer | GroupedTablesAnswer | TableChoiceAnswer


class Release(_Message, frozen=True, tag="release"):
    """An answer that has been paid for.

    ``size`` is the holder's public number of persons, None under "add-remove", where it is private; ``ledger`` is the
    head of its hash chain after this charge;
    ``private`` is false if the noise was simulated, and a production analyst then rejects it.
    """

    id: Digest
    size: Annotated[int, Meta(ge=0, lt=2**53)] | None
    ledger: Digest
    private: bool
    answer: Answer


RefusalCode: TypeAlias = Literal[
    "malformed", "unknown-study", "wrong-schema", "wrong-id", "not-in-study", "over-budget", "too-large", "unavailable"
]


class Refusal(_Message, frozen=True, tag="refusal"):
    """Why there is no answer; nothing was spent. ``id`` is empty where the question could not be read."""

    id: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")]
    code: RefusalCode
    text: Annotated[str, Meta(max_length=500)]


Reply: TypeAlias = Release | Refusal


def ratio(value: Fraction) -> str:
    """Write a positive exact number for a query."""
    return str(value)


def question(query: Query, *, study: str, round_number: int) -> Question:
    """Put a query in its place and give it its id."""
    content = msgspec.msgpack.encode(("panbayes question 1", study, round_number, query), order="deterministic")
    return Question(hashlib.sha256(content).hexdigest(), study, round_number, query)


def pack_cells(values: NDArray[np.int64]) -> Cells:
    """Pack counts into the fewest bytes that hold them all."""
    largest = int(np.abs(values).max(initial=0))
    for width in (2, 4):
        if largest < 2 ** (8 * width - 1):
            return Cells(width, values.astype(f"<i{width}").tobytes())
    return Cells(8, values.astype("<i8").tobytes())


def unpack_cells(cells: Cells) -> NDArray[np.int64]:
    """Read packed counts; the caller checks that there are as many as it asked for."""
    if len(cells.data) % cells.width:
        raise ValueError("packed counts must be whole")
    return np.frombuffer(cells.data, dtype=f"<i{cells.width}").astype(np.int64)
