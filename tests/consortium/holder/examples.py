"""A small public world: a schema, tables, studies, and the queries that some of them ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.handler import handler_of
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.answers import Answer
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.envelope import Release, Reply, question
from panbayes.consortium.protocol.queries import ModelQuery, ParentChoiceQuery, Query, TablesQuery, ratio
from panbayes.dp.noise import Noise
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.loss import Loss
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

SCHEMA = Schema(
    "small",
    (
        Attribute("a", categories=("x", "y")),
        Attribute("b", categories=("x", "y", "z")),
        Attribute("c", categories=("x", "y")),
        Attribute("d", categories=("p", "q")),
    ),
)


def pure(loss: Loss | None) -> Fraction:
    """The ε of a loss that must be pure."""
    assert isinstance(loss, Pure), loss
    return loss.epsilon


def table(seed: int = 0, records: int = 50, schema: Schema = SCHEMA) -> Table:
    generator = np.random.default_rng(seed)
    return Table(schema, np.stack([generator.integers(0, s, records) for s in schema.sizes]).astype(np.uint8))


def study(
    strategy: str = "noisy-majority-voting",
    epsilon: str = "1",
    *,
    name: str = "test",
    schema: Schema = SCHEMA,
    degree: int = 1,
    split: str = "1/2",
) -> Study:
    return Study(
        name,
        schema,
        strategy,
        epsilon=Fraction(epsilon),
        degree=degree,
        split=Fraction(split),
        score="R",
        clip="analyst",
    )


def votes(agreed: Study) -> list[ParentChoiceQuery]:
    """The votes of a study, as they would be if attributes were placed in order."""
    count = len(agreed.schema)
    return [
        ParentChoiceQuery(
            placed=tuple(range(placed)),
            degree=agreed.degree if agreed.degree != "auto" else 1,
            score=agreed.score,
            mechanism=agreed.mechanism,
            epsilon=ratio(agreed.split * agreed.grant.amount / (count - 1)),
        )
        for placed in range(1, count)
    ]


def tables_of_votes(agreed: Study) -> TablesQuery:
    return TablesQuery(((0,), (0, 1), (1, 2), (2, 3)), ratio((1 - agreed.split) * agreed.grant.amount), clip=False)


def singles(agreed: Study) -> TablesQuery:
    return TablesQuery(tuple((i,) for i in range(len(agreed.schema))), ratio(agreed.grant.amount), clip=False)


def statistics(agreed: Study, size: int = 2) -> TablesQuery:
    return TablesQuery(tuple(combinations(range(len(agreed.schema)), size)), ratio(agreed.grant.amount), clip=False)


def model(agreed: Study) -> ModelQuery:
    return ModelQuery(
        first=0,
        degree=1,
        theta=None,
        score=agreed.score,
        mechanism=agreed.mechanism,
        structure_epsilon=ratio(agreed.split * agreed.grant.amount),
        tables_epsilon=ratio((1 - agreed.split) * agreed.grant.amount),
        clip=False,
    )


SCRIPTS: Mapping[str, Callable[[Study], list[Query]]] = {
    "noisy-majority-voting": lambda agreed: [*votes(agreed), tables_of_votes(agreed)],
    "noisy-sufficient-statistics": lambda agreed: [statistics(agreed)],
    "independent": lambda agreed: [singles(agreed)],
    "privbayes": lambda agreed: [model(agreed)],
    "noisy-model": lambda agreed: [model(agreed)],
}
"""What some strategies ask one holder, written by hand: the expectation beside which their plans are held."""


def script(agreed: Study) -> list[Query]:
    """Everything a study of such a strategy asks one holder."""
    return SCRIPTS[agreed.strategy](agreed)


def asked(query: Query, agreed: Study, round_number: int = 0) -> bytes:
    return encode(question(query, study=agreed.hash, round_number=round_number))


def read(reply: bytes) -> Reply:
    return decode_reply(reply)


def released(reply: bytes) -> Release:
    found = decode_reply(reply)
    assert isinstance(found, Release), found
    return found


def refused(reply: bytes) -> tuple[str, str]:
    found = decode_reply(reply)
    assert not isinstance(found, Release)
    return found.code, found.text


def loss_of(query: Query) -> Loss:
    """What a holder charges for a query."""
    loss: Loss = handler_of(query).loss(query)
    return loss


def check(query: Query, schema: Schema, size: int) -> None:
    """Check a query as a holder of ``size`` people does."""
    handler_of(query).check(query, schema, size)


def answer(query: Query, records: Table | PrivateCounts, *, noise: Noise) -> Answer:
    """Answer a query as a holder does; one with a table was never asked before."""
    counts = PrivateCounts(records) if isinstance(records, Table) else records
    return handler_of(query).answer(query, counts, noise=noise)
