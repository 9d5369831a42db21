"""How the losses of several releases combine, as small checked values.

A result is described by a tree of what was done; :func:`loss_of` reads the total off it. The description is
kept (it goes into the privacy statement), so a reader can check the sum instead of trusting it, and account for the
same events under another class of privacy.

======================= ============================== =====================================
node                    loss                           thesis
======================= ============================== =====================================
:class:`Step`           what its event spends          Definition defn_dp
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
from typing import TypeAlias

from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.events import Event
from panbayes.privacy.loss import Loss, largest, total

__all__ = [
    "Composition",
    "Group",
    "Parallel",
    "PostProcessed",
    "Sequential",
    "Step",
    "loss_of",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One use of a mechanism: ``what`` was asked, by which ``mechanism``, at which ``loss``.

    The ``event`` says the same with its parameters; it is None in files that were written before events were kept.
    """

    what: str
    mechanism: str
    loss: Loss
    event: Event | None = None

    def __post_init__(self) -> None:
        """Refuse an event that loses more than is said."""
        if self.event is None:
            return
        own = self.loss.of_event(self.event)
        if own is None or own.amount > self.loss.amount or self.mechanism != self.event.mechanism:
            raise ValueError(f"a step of {self.loss} by {self.mechanism} does not describe its event")

    @classmethod
    def of(cls, what: str, event: Event, *, loss: Loss) -> Step:
        """Describe one event whose loss is at most ``loss``."""
        return cls(what, event.mechanism, loss, event)


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


Composition: TypeAlias = Step | Sequential | Parallel | Group | PostProcessed


def loss_of(composition: Composition, *, measure: Loss | None = None) -> Loss:
    """Return the total loss of what was done, or its loss in the class of ``measure``, any loss of that class.

    Under another class every event is accounted for anew; a step without an event is expressed in it.

    >>> from fractions import Fraction
    >>> from panbayes.privacy.classes.pure import Pure
    >>> from panbayes.privacy.classes.zcdp import ZeroConcentrated
    >>> table = Step("counts of age", "discrete Laplace", Pure(Fraction(1, 4)))
    >>> loss_of(Sequential((table, Group(table, 3))))
    Pure(epsilon=Fraction(1, 1))
    >>> loss_of(table, measure=ZeroConcentrated(Fraction(0)))
    ZeroConcentrated(rho=Fraction(1, 32))
    """
    match composition:
        case Step():
            return composition.loss if measure is None else _accounted(composition, measure)
        case Sequential():
            return total((NOTHING, *(loss_of(part, measure=measure) for part in composition.parts)))
        case Parallel():
            return largest(loss_of(part, measure=measure) for part in composition.parts)
        case Group():
            return loss_of(composition.part, measure=measure).for_group(composition.size)
        case PostProcessed():
            return loss_of(composition.part, measure=measure)


def _accounted(step: Step, measure: Loss) -> Loss:
    known = measure.express(step.loss) if step.event is None else measure.of_event(step.event)
    if known is None:
        raise InputError(
            "measure",
            found=f"{step.mechanism} has no {measure.title} differential privacy",
            remedy=f"ask for the {step.loss.title} loss",
        )
    return known
