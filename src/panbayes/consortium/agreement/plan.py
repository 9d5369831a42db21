"""The plan of a study: what it asks of each holder, how often, at which loss, and what its statement says.

A strategy makes the plan from the study alone (:mod:`panbayes.consortium.agreement.strategies`), so everybody has the
same one. The analyst builds its queries with :meth:`Stage.ask`, a holder checks each query with
:meth:`Plan.complaint`, the statement and the documentation are printed from it: the shares of ε are written nowhere
else. A plan says what is allowed, never that it *is*: the holder reads the loss off the query itself and charges it.

Everything here is a pure function of public values, so a refusal reveals nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic

from panbayes.consortium.protocol.queries import Query, QueryType, kind_of
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Together
from panbayes.privacy.loss import Loss, total

__all__ = ["ENVELOPE_BYTES", "NUMBER_BYTES", "Fixed", "Plan", "Stage"]

NUMBER_BYTES: Final = 8
ENVELOPE_BYTES: Final = 512
"""What a number of an answer takes at most, and what stands around all of them."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The value that a field of a query must have, and the ``words`` for it: "the study says ``words`` ``value``"."""

    words: str
    value: Any
    shown: object = None

    @property
    def complaint(self) -> str:
        """What is said of a query with another value."""
        return f"the study says {self.words} {self.value if self.shown is None else self.shown}"


@dataclass(frozen=True, slots=True)
class Stage(Generic[QueryType]):
    """One kind of question: at most ``times`` of them to each holder.

    ``loss`` is what each costs; None where the asker divides what the study grants as it goes. ``fixed`` fields must
    have these values; ``rule`` says what is wrong with the others, if anything. ``steps`` tell people what all of them
    together spend, ``words`` name what is asked for, ``most`` how large a question may be. All holders are
    asked at the same time, but for so many of the questions as are put to one after another, in ``turns``. An answer
    holds at most so many ``numbers``: counts, or places of what was chosen.

    A question is judged before anything else is done with it, so fixed fields and rule take a time that follows the
    length of the question, whatever it says; and what they let pass costs a holder no more than ``most`` says.
    """

    query: type[QueryType]
    times: int
    words: str
    most: str
    loss: Loss | None = None
    fixed: Mapping[str, Fixed] = field(default_factory=dict)
    rule: Callable[[QueryType], str | None] | None = None
    steps: tuple[Step, ...] = ()
    turns: int = 0
    numbers: int = 0

    @property
    def kind(self) -> str:
        """The tag of the query."""
        return str(self.query.__struct_config__.tag)

    def ask(self, **free: Any) -> QueryType:
        """Build a query: the fixed fields as the study says, the others as given."""
        return self.query(**{name: wanted.value for name, wanted in self.fixed.items()}, **free)

    def steps_after(self, asked: int) -> tuple[Step, ...]:
        """Describe what so many of its questions spend: fewer than all where a holder dropped out.

        Where the steps do not say what one question spends, all of them are meant, which is not less.
        """
        if asked >= self.times:
            return self.steps
        return tuple(self._part(step, asked) for step in self.steps) if asked else ()

    def _part(self, step: Step, asked: int) -> Step:
        """Take so many of the events of a step that has one for each question."""
        if self.loss is None or len(self.steps) > 1 or not isinstance(step.event, Together):
            return step
        if step.event.times != self.times:
            return step
        return Step.of(f"{asked} of {step.what}", replace(step.event, times=asked), loss=self.loss.times(asked))

    def complaint(self, query: Query) -> str | None:
        """Return what is wrong with a query of this kind, None if the study may ask it."""
        if not isinstance(query, self.query):
            raise TypeError(f"a stage of {self.kind} cannot judge a query of {kind_of(query)}")
        for name, wanted in self.fixed.items():
            if getattr(query, name) != wanted.value:
                return wanted.complaint
        return None if self.rule is None else self.rule(query)


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a study, at most one of a kind, which together cost no more than ``grant``.

    ``otherwise`` is the refusal of a query of any other kind.
    """

    stages: tuple[Stage[Any], ...]
    grant: Loss
    otherwise: str

    def __post_init__(self) -> None:
        """Refuse a plan that would overspend."""
        kinds = [stage.kind for stage in self.stages]
        if len(set(kinds)) != len(kinds):
            raise ValueError("a plan has at most one stage of a kind")
        fixed = [stage.loss.times(stage.times) for stage in self.stages if stage.loss is not None]
        if fixed and not total(fixed).implies(self.grant):
            raise ValueError(f"a plan of {total(fixed)} does not fit into {self.grant}")

    def complaint(self, query: Query) -> str | None:
        """Return why a query is not the study's, in public terms; None if it is."""
        for stage in self.stages:
            if stage.kind == kind_of(query):
                return stage.complaint(query)
        return self.otherwise

    def times(self, kind: str) -> int:
        """Return how many different questions of a kind the study may ask one holder."""
        return sum(stage.times for stage in self.stages if stage.kind == kind)

    def round_trips(self, holders: int) -> int:
        """Return how often so many holders have to be waited for at most."""
        return sum(stage.times + stage.turns * (holders - 1) for stage in self.stages)

    def steps_after(self, asked: Iterable[Query]) -> tuple[Step, ...]:
        """Describe what these questions spend together, step by step, where the plan fixes it."""
        times = Counter(kind_of(query) for query in asked)
        return tuple(step for stage in self.stages for step in stage.steps_after(times[stage.kind]))

    @property
    def answers(self) -> int:
        """How many answers one holder gives at most."""
        return sum(stage.times for stage in self.stages)

    @property
    def answer_bytes(self) -> int:
        """How many bytes all answers of one holder have together at most."""
        return sum(stage.times * (ENVELOPE_BYTES + NUMBER_BYTES * stage.numbers) for stage in self.stages)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What each holder spends, step by step, where the plan fixes it."""
        return tuple(step for stage in self.stages for step in stage.steps)
