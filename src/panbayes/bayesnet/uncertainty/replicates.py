"""Replicates: other laws that the same measurements would allow, kept with a network so that answers know their error.

The law behind a network is a Markov field (:mod:`panbayes.bayesnet.markov.field`): laws of single attributes and the
parameters of measured tables. Its replicates have the same tables, and single laws and parameters drawn as the noise of
the measurements and the chance in the records would have them. Where they agree, the answer is certain; where they do
not, nobody can know it better from these measurements.

Numbers are kept as 16-bit integers, so that a file that is read is exactly what was written: −ln q in steps of 1/2048,
parameters in steps of 1/4096. Either is far below what one record in a million would change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.markov.field import Axes, Field, reduced_sizes, shape_of
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.uncertainty.unseen import Unseen
from panbayes.errors import InputError

__all__ = ["MOST_DRAWS", "Replicates"]

MOST_DRAWS: Final = 256
MOST_TABLES: Final = 100
"""So many tables for each attribute at most: a file of a few bytes must not take hours to ask."""

_LAW_STEPS: Final = 2048
_PARAMETER_STEPS: Final = 4096


@dataclass(frozen=True, eq=False)
class Replicates:
    """Replicates of a field, of whose values the grouping is ``nested``, and whose tables are ``tables``.

    ``laws[k]`` holds the laws of single attributes in replicate k end to end, ``parameters[k]`` those of the tables.
    ``unseen`` says how much dependence may have gone unseen, None where nobody looked at dependencies.
    """

    unseen: Unseen | None
    nested: tuple[Nested, ...]
    tables: tuple[Axes, ...]
    laws: NDArray[np.uint16]
    parameters: NDArray[np.int16]

    @classmethod
    def of(
        cls,
        *,
        unseen: Unseen | None,
        nested: Sequence[Nested],
        tables: Sequence[Axes],
        laws: Sequence[Sequence[FloatArray]],
        parameters: Sequence[FloatArray],
    ) -> Replicates:
        """Keep drawn ``laws`` and ``parameters``, one of each for every replicate, and the groupings that are used."""
        logarithms = -np.log(np.maximum([np.concatenate(own) for own in laws], 1e-13))
        least = _least_groups(len(nested), tables)
        return cls(
            unseen,
            tuple(
                Nested(own.size, own.merges[: own.size - count] if count else ())
                for own, count in zip(nested, least, strict=True)
            ),
            tuple(tables),
            np.rint(logarithms * _LAW_STEPS).astype(np.uint16),
            np.rint(np.reshape(parameters, (len(laws), -1)) * _PARAMETER_STEPS).astype(np.int16),
        )

    def __post_init__(self) -> None:
        """Check that everything fits together; files come from anywhere."""
        sizes = [own.size for own in self.nested]
        if len(self.tables) > MOST_TABLES * len(sizes):
            raise _bad(f"found {len(self.tables):,} tables")
        if len(set(self.tables)) != len(self.tables):
            raise _bad("found a table twice")
        if not all(map(_is_nested, self.nested)) or not all(_is_table(axes, self.nested) for axes in self.tables):
            raise _bad("found a grouping or a table that is none")
        if not 2 <= len(self.laws) <= MOST_DRAWS:
            raise _bad(f"found {len(self.laws)} replicates")
        cells = sum(math.prod(shape_of(axes)) for axes in self.tables)
        if self.laws.shape[1:] != (sum(sizes),) or self.parameters.shape != (len(self.laws), cells):
            raise _bad("found laws or parameters of the wrong length")

    def __eq__(self, other: object) -> bool:
        """Compare everything exactly."""
        if not isinstance(other, Replicates):
            return NotImplemented
        return (
            (self.unseen, self.tables) == (other.unseen, other.tables)
            and [(own.size, own.merges) for own in self.nested] == [(own.size, own.merges) for own in other.nested]
            and np.array_equal(self.laws, other.laws)
            and np.array_equal(self.parameters, other.parameters)
        )

    def __hash__(self) -> int:
        """Hash what is cheap to hash."""
        return hash((self.unseen, self.tables))

    def __len__(self) -> int:
        """Return the number of replicates."""
        return len(self.laws)

    @property
    def sizes(self) -> list[int]:
        """The domain sizes."""
        return [own.size for own in self.nested]

    @cached_property
    def groups(self) -> list[NDArray[np.int64]]:
        """The group of every value of every attribute, in the finest grouping that a table uses."""
        return [
            own.groups(count) if count > 1 else np.zeros(own.size, dtype=np.int64)
            for own, count in zip(self.nested, reduced_sizes(len(self.nested), self.tables), strict=True)
        ]

    @cached_property
    def grouped(self) -> list[NDArray[np.bool_]]:
        """Whether every value of every attribute shares its group with another."""
        return [np.bincount(groups)[groups] > 1 for groups in self.groups]

    @cached_property
    def together(self) -> frozenset[tuple[int, int]]:
        """The pairs of attributes, ascending, that some table holds."""
        return frozenset(pair for axes in self.tables for pair in combinations([a for a, _ in axes], 2))

    @cached_property
    def single_laws(self) -> list[FloatArray]:
        """The law of every attribute in every replicate: one array [replicate, value] for each."""
        laws = np.exp(self.laws.astype(np.float64) / -_LAW_STEPS)
        parts = np.split(laws, np.cumsum(self.sizes)[:-1], axis=1)
        return [part / part.sum(axis=1, keepdims=True) for part in parts]

    @cached_property
    def group_laws(self) -> list[FloatArray]:
        """The same of every attribute's groups."""
        return [
            np.stack([np.bincount(groups, law) for law in laws])
            for groups, laws in zip(self.groups, self.single_laws, strict=True)
        ]

    @cached_property
    def table_parameters(self) -> FloatArray:
        """The parameters of all tables end to end: one row for every replicate."""
        return self.parameters.astype(np.float64) / _PARAMETER_STEPS

    @cached_property
    def field(self) -> Field:
        """The field in which every replicate is a vector of parameters: :attr:`field_parameters`.

        Single attributes are tables of it like the others, after them, so that one tree serves all replicates.
        """
        sizes = reduced_sizes(len(self.nested), self.tables)
        alone: list[Axes] = [((attribute, count),) for attribute, count in enumerate(sizes) if count > 1]
        even = tuple(np.full(own.size, 1 / own.size) for own in self.nested)
        return Field(even, self.nested, (*self.tables, *alone))

    @cached_property
    def margins(self) -> list[FloatArray]:
        """The laws of every attribute's groups that the fields of the replicates imply: [replicate, group] for each."""
        sizes = self.field.sizes
        found = [np.ones((len(self), size)) for size in sizes]
        for number, parameters in enumerate(self.field_parameters):
            cliques = self.field.conditioned(parameters, {}) if self.field.tables else None
            if cliques is not None:
                for v, size in enumerate(sizes):
                    if size > 1:
                        found[v][number] = self.field.tree.joint(cliques, (v,))
        return found

    @cached_property
    def field_parameters(self) -> FloatArray:
        """The parameters of :attr:`field`: one row for every replicate."""
        alone = [
            np.log(np.maximum(laws, 1e-300)) - np.log(base)
            for laws, base in zip(self.group_laws, self.field.reduced, strict=True)
            if base.size > 1
        ]
        return np.concatenate([self.table_parameters, *alone], axis=1)


def _least_groups(attributes: int, tables: Sequence[Axes]) -> list[int]:
    """Return the fewest groups of each attribute that a table uses, 0 where no table speaks of it."""
    found = [0] * attributes
    for axes in tables:
        for attribute, count in axes:
            found[attribute] = min(found[attribute] or count, count)
    return found


def _is_nested(nested: Nested) -> bool:
    """Tell whether every merge joins two groups that are still there."""
    gone: set[int] = set()
    for kept, lost in nested.merges:
        if not 0 <= kept < lost < nested.size or kept in gone or lost in gone:
            return False
        gone.add(lost)
    return True


def _is_table(axes: Axes, nested: Sequence[Nested]) -> bool:
    """Tell whether a table has ascending attributes, each in a grouping that there is."""
    members = [attribute for attribute, _ in axes]
    return (
        bool(members)
        and members == sorted(set(members))
        and members[0] >= 0
        and members[-1] < len(nested)
        and all(1 <= count <= nested[a].size <= count + len(nested[a].merges) for a, count in axes)
    )


def _bad(found: str) -> InputError:
    return InputError("error", found=found, remedy="use the file as panbayes wrote it, or learn the model again")
