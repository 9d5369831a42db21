"""What earlier versions asked in place of a choice of tables: read in ledgers, priced, and never answered again.

The reply that is stored goes out again when the same question comes; anything new is refused by the gate, because the
study's plan names this kind among the former ones.
"""

from __future__ import annotations

from typing import Final

from panbayes.consortium.holder.grouped_tables import loss_of_query
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.answers import Answer
from panbayes.consortium.protocol.queries import FormerChoiceQuery
from panbayes.dp.noise import Noise
from panbayes.errors import InternalError
from panbayes.schema.schema import Schema

__all__ = ["FORMER_CHOICE"]


def _check(_query: FormerChoiceQuery, _schema: Schema, _size: int) -> None:
    """Let it pass: either the answer is there, or there is none."""


def _answer(query: FormerChoiceQuery, counts: PrivateCounts, *, noise: Noise) -> Answer:
    del query, counts, noise
    raise InternalError("a question of an earlier version was to be answered anew")


FORMER_CHOICE: Final = Handler(FormerChoiceQuery, loss_of_query, _check, _answer)
