"""A small public world: a schema, tables, studies of every strategy and the queries they ask."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from panbayes.consortium.agreement.study import Strategy, Study
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.messages import (
    ModelQuery,
    ParentChoiceQuery,
    Query,
    Release,
    Reply,
    TablesQuery,
    question,
    ratio,
)
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
    strategy: Strategy = "noisy-majority-voting",
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
            epsilon=ratio(agreed.split * agreed.budget / (count - 1)),
        )
        for placed in range(1, count)
    ]


def tables_of_votes(agreed: Study) -> TablesQuery:
    return TablesQuery(((0,), (0, 1), (1, 2), (2, 3)), ratio((1 - agreed.split) * agreed.budget), clip=False)


def singles(agreed: Study) -> TablesQuery:
    return TablesQuery(tuple((i,) for i in range(len(agreed.schema))), ratio(agreed.budget), clip=False)


def statistics(agreed: Study, size: int = 2) -> TablesQuery:
    return TablesQuery(tuple(combinations(range(len(agreed.schema)), size)), ratio(agreed.budget), clip=False)


def model(agreed: Study) -> ModelQuery:
    return ModelQuery(
        first=0,
        degree=1,
        theta=None,
        score=agreed.score,
        mechanism=agreed.mechanism,
        structure_epsilon=ratio(agreed.split * agreed.budget),
        tables_epsilon=ratio((1 - agreed.split) * agreed.budget),
        clip=False,
    )


def script(agreed: Study) -> list[Query]:
    """Everything a study of some strategy asks one holder."""
    match agreed.strategy:
        case "noisy-majority-voting":
            return [*votes(agreed), tables_of_votes(agreed)]
        case "noisy-sufficient-statistics":
            return [statistics(agreed)]
        case "independent":
            return [singles(agreed)]
        case "privbayes" | "noisy-model":
            return [model(agreed)]
        case "adaptive" | "non-private":
            return []


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
