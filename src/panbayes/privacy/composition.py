"""How the losses of several releases combine, as small checked values.

A result is described by a tree of what was done; :func:`loss_of` reads the total off it. The description is
kept (it goes into the privacy statement), so a reader can check the sum instead of trusting it.

======================= ============================== =====================================
node                    loss                           thesis
======================= ============================== =====================================
:class:`Release`        what its mechanism spends      Definition defn_dp
:class:`Sequential`     the sum                        Theorem thm_composition
:class:`Parallel`       the largest                    Theorem thm_parallel_composition
:class:`Group`          ``size`` times; in zCDP        Theorem thm_group
                        ``size``² times
:class:`PostProcessed`  unchanged                      Theorem thm_post_proc
======================= ============================== =====================================

Parallel composition does not hold under replace-one adjacency: replacing a record can take one out of one part
and put one into another, so both releases change and the losses add. It does hold when each part keeps its own
adjacency relation, as holders do, each promising ε to its own people. The value must be told which is meant
and refuses the unsound combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from panbayes.errors import InputError
from panbayes.privacy.loss import Loss, ZeroConcentrated, total_loss

__all__ = [
    "Adjacency",
    "Composition",
    "Group",
    "Parallel",
    "PostProcessed",
    "Release",
    "Sequential",
    "loss_of",
]

Adjacency: TypeAlias = Literal["replace", "add-remove"]
"""Which tables count as neighbours: one record replaced (n public), or one record added or removed."""


@dataclass(frozen=True, slots=True)
class Release:
    """One use of a mechanism: what was asked, by which mechanism, at which loss."""

    what: str
    mechanism: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class Sequential:
    """Releases about the same records: the losses add up, also when each was chosen after seeing the last."""

    parts: tuple[Composition, ...]


@dataclass(frozen=True, slots=True)
class Parallel:
    """Releases about disjoint sets of records: the largest loss counts.

    ``separate`` says that adjacency is taken within each part alone (every holder protects its own people).
    Without it, and under ``replace``, the theorem fails and the value cannot be built.
    """

    parts: tuple[Composition, ...]
    adjacency: Adjacency
    separate: bool = False

    def __post_init__(self) -> None:
        """Refuse the combination for which the theorem is false."""
        if not self.parts:
            raise ValueError("parallel composition of nothing")
        if self.adjacency == "replace" and not self.separate:
            raise InputError(
                "parallel composition",
                found="found replace-one adjacency over the union of the parts",
                remedy="add the losses (Sequential), use add-remove adjacency, or give each part its own "
                "adjacency (separate=True)",
            )


@dataclass(frozen=True, slots=True)
class Group:
    """The same release seen as a promise to ``size`` people, or to one person with ``size`` records."""

    part: Composition
    size: int

    def __post_init__(self) -> None:
        """Refuse an empty group."""
        if self.size < 1:
            raise ValueError(f"a group has at least one member, found {self.size}")


@dataclass(frozen=True, slots=True)
class PostProcessed:
    """Something computed from a release and public facts alone: it costs nothing more."""

    part: Composition
    how: str


Composition: TypeAlias = Release | Sequential | Parallel | Group | PostProcessed


def loss_of(composition: Composition) -> Loss:
    """Return the total loss of what was done.

    >>> from fractions import Fraction
    >>> from panbayes.privacy.loss import Pure
    >>> table = Release("counts of age", "discrete Laplace", Pure(Fraction(1, 4)))
    >>> loss_of(Sequential((table, Group(table, 3))))
    Pure(epsilon=Fraction(1, 1))
    """
    match composition:
        case Release():
            return composition.loss
        case Sequential():
            return total_loss(map(loss_of, composition.parts))
        case Parallel():
            return _largest([loss_of(part) for part in composition.parts])
        case Group():
            loss = loss_of(composition.part)
            # zCDP grows with the square of the group (Bun and Steinke 2016, Proposition 1.9).
            return loss * (composition.size**2 if isinstance(loss, ZeroConcentrated) else composition.size)
        case PostProcessed():
            return loss_of(composition.part)


def _largest(losses: list[Loss]) -> Loss:
    """Return the largest loss; among losses of both classes each is taken for the zCDP that it implies."""
    in_rho = [loss for loss in losses if isinstance(loss, ZeroConcentrated)]
    pure = [loss for loss in losses if not isinstance(loss, ZeroConcentrated)]
    if not in_rho:
        return max(pure)
    return max([*in_rho, *(ZeroConcentrated(loss.epsilon**2 / 2) for loss in pure)])
