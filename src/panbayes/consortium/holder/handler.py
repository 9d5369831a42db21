"""How a holder answers one kind of query: what it costs, whether it makes sense, and the answer.

Each module of :mod:`panbayes.consortium.holder.handlers` defines one :class:`Handler`; the gate looks it up by the
query's kind. ``loss`` and ``check`` look at public facts only, so that a query can be refused and charged before a
record is touched; ``answer`` computes and draws, and is called by the gate alone, after the charge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.answers import Answer
from panbayes.consortium.protocol.queries import (
    Query,
    QueryType,
    kind_of,
)
from panbayes.discovery import registry
from panbayes.dp.noise import Noise
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Schema

__all__ = ["Handler", "handler_of", "handlers"]

Asked_contra = TypeVar("Asked_contra", contravariant=True)


class _AnswerWith(Protocol[Asked_contra]):
    """Computes an answer and draws its noise; the query has been checked and charged."""

    def __call__(self, query: Asked_contra, counts: PrivateCounts, *, noise: Noise) -> Answer:
        """Answer."""


@dataclass(frozen=True, slots=True)
class Handler(Generic[QueryType]):
    """What a holder knows of one kind of ``query``.

    ``loss`` is what answering spends. ``check`` takes the query, the schema and the public number of people, and raises
    an ``InputError`` for what makes no sense or is too large.
    """

    query: type[QueryType]
    loss: Callable[[QueryType], Loss]
    check: Callable[[QueryType, Schema, int], None]
    answer: _AnswerWith[QueryType]

    @property
    def kind(self) -> str:
        """The tag of the query."""
        return str(self.query.__struct_config__.tag)


@cache
def handlers() -> dict[str, Handler[Any]]:
    """Return every handler by the kind of its query."""
    return registry("panbayes.consortium.holder.handlers", Handler, lambda handler: handler.kind)


def handler_of(query: Query) -> Handler[Any]:
    """Return the handler of a query."""
    return handlers()[kind_of(query)]
