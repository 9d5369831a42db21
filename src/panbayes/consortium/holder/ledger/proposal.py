"""A question that a holder asks itself: a private proposal for a schema, charged like a study and kept with its answer.

Where nobody has public knowledge of a domain, bounds or categories can be proposed from the records, privately. What is
asked is a :class:`Proposal`: one question, public in all its parts, known by the hash of its text, so that the same one
gets the same bytes again and costs nothing. It costs a pure ε, and where a domain is unknown also a δ: that adds up by
itself, against the δ that was declared for the dataset. A release that is (ε, δ)-private is ε-private but for an event
of probability δ, so what is spent in all is the sum of the losses, but for an event of the sum of the δ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, get_args

from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.declaration import hashed_text
from panbayes.schema.schema import Unit

__all__ = ["KIND", "Proposal", "read_proposal"]

KIND: Final = "proposal"
"""The kind of its entry in a ledger."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question of the holder's own: ``question`` is all that it asks, in texts, and ``name`` how people know it.

    ``unit`` is whose records are protected together, None where each is by itself; ``epsilon`` and ``delta`` are what
    it costs each of them.
    """

    name: str
    question: Mapping[str, str]
    adjacency: Adjacency
    unit: Unit | None
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.name.strip() or self.adjacency not in get_args(Adjacency):
            raise ValueError("a proposal has a name and an adjacency")
        if not all(isinstance(text, str) for pair in self.question.items() for text in pair):
            raise ValueError("what a proposal asks is said in texts")
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ValueError("a proposal costs an ε above 0, and a δ from 0 to below 1")

    @property
    def grant(self) -> Pure:
        """What it costs beside its δ."""
        return Pure(self.epsilon)

    def canonical(self) -> dict[str, object]:
        """Return its content, as plain JSON values with exact ratios."""
        return {
            "proposal": 1,
            "name": self.name,
            "question": dict(self.question),
            "adjacency": self.adjacency,
            "unit": None if self.unit is None else self.unit.column,
            "max_records": None if self.unit is None else self.unit.max_records,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
        }

    @property
    def asked(self) -> bytes:
        """Its text, as it is kept."""
        return hashed_text(self.canonical()).encode()

    @property
    def hash(self) -> str:
        """What it is known by: the SHA-256 of its text."""
        return hashlib.sha256(self.asked).hexdigest()


def read_proposal(content: str) -> Proposal | None:
    """Read a proposal from its text; None if it is none.

    >>> age = Proposal("bounds of age", {"column": "age"}, "add-remove", Unit("patient"), Fraction(1, 10))
    >>> read_proposal(age.asked.decode()) == age, read_proposal("{}")
    (True, None)
    """
    try:
        said = json.loads(content)
        column = said["unit"]
        found = Proposal(
            said["name"],
            said["question"],
            said["adjacency"],
            None if column is None else Unit(column, max_records=said["max_records"]),
            Fraction(said["epsilon"]),
            Fraction(said["delta"]),
        )
        return found if found.asked == content.encode() else None
    except (AttributeError, InputError, KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError):
        return None
