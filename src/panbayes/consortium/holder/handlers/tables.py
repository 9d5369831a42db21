"""Noisy contingency tables of attribute sets.

Thesis: Algorithm "Sharing the Noisy Sufficient Statistics"; Theorem thm_noisy_ss_priv.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.noisy_tables import noisy_tables, tables_event
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.query_checks import bad, cells_of, check_attributes, check_cells
from panbayes.consortium.protocol.answers import TablesAnswer
from panbayes.consortium.protocol.queries import TablesQuery
from panbayes.dp.mechanisms import check_noise
from panbayes.dp.noise import Noise
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema

__all__ = ["TABLES"]


def _loss(query: TablesQuery) -> Pure:
    return Pure(Fraction(query.epsilon))


def _check(query: TablesQuery, schema: Schema, _size: int) -> None:
    if len(set(query.sets)) != len(query.sets):
        raise bad("sets", "the same set twice", "ask for every set once")
    for attributes in query.sets:
        check_attributes("sets", attributes, schema)
    check_cells(sum(cells_of(attributes, schema) for attributes in query.sets))
    check_noise(tables_event(schema, _loss(query), tables=len(query.sets)))


def _answer(query: TablesQuery, counts: PrivateCounts, *, noise: Noise) -> TablesAnswer:
    return TablesAnswer(noisy_tables(counts, query.sets, _loss(query), clip=query.clip, noise=noise))


TABLES: Final = Handler(TablesQuery, _loss, _check, _answer)
