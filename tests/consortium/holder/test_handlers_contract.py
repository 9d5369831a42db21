"""What every handler keeps: one for each kind of query, public facts before the charge, answers that can be checked.

The queries are those that the studies of every strategy ask (:mod:`tests.consortium.studies`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.reply_checks import check_release
from panbayes.consortium.holder import private_counts
from panbayes.consortium.holder.handler import Handler, handler_of, handlers
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.private_selection import private_score
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Grouping, ParentChoiceQuery, Query, kind_of
from panbayes.discovery import discover
from panbayes.dp.noise import Noise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer
from tests.consortium.studies import SCHEMA, STUDIES, TABLES, Wire, learn_over, tables_for

RECORDS = TABLES["large"]


each_study = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)


@cache
def asked_by(study: Study) -> tuple[Query, ...]:
    """What a study asks of the large holder, with simulated noise."""
    wire = Wire()
    learn_over(wire, study, tables_for(study), simulate=3)
    return tuple(question.query for name, question in wire.asked if name == "large")


def queries() -> list[Query]:
    """What all studies ask, each query once."""
    return list(dict.fromkeys(query for study in STUDIES for query in asked_by(study)))


def answered(query: Query, counts: PrivateCounts, noise: Noise) -> bytes:
    return msgspec.msgpack.encode(handler_of(query).answer(query, counts, noise=noise))


def test_every_kind_of_query_has_one_handler_and_is_tried_here() -> None:
    kinds = set(get_args(Query))
    found: tuple[Handler[Any], ...] = discover("panbayes.consortium.holder.handlers", Handler)
    assert len(found) == len(handlers()) == len(kinds)
    assert {handler.query for handler in found} == kinds
    assert {type(query) for query in queries()} == kinds


@each_study
def test_loss_and_check_need_no_records(study: Study) -> None:
    for query in asked_by(study):
        handler = handler_of(query)
        handler.check(query, SCHEMA, RECORDS.size)
        loss = handler.loss(query)
        assert loss.implies(study.grant)
        assert loss.amount > 0
        (stage,) = (stage for stage in study.plan.stages if stage.kind == handler.kind)
        assert stage.loss in (None, loss)


@each_study
def test_an_answer_follows_from_records_and_noise_and_passes_the_analysts_check(study: Study) -> None:
    for query in asked_by(study):
        first, second = (answered(query, PrivateCounts(RECORDS), SimulatedNoise(9)) for _ in range(2))
        assert first == second
        given = answer(query, RECORDS, noise=SimulatedNoise(9))
        check_release(Release("0" * 64, RECORDS.size, "0" * 64, False, given), query, SCHEMA.sizes)


@pytest.mark.parametrize("kind", sorted(set(handlers()) - {"choice"}))
def test_answers_are_drawn(kind: str) -> None:
    """With other noise some answer of every kind is another."""
    assert any(
        len({answered(query, PrivateCounts(RECORDS), SimulatedNoise(seed)) for seed in range(5)}) > 1
        for query in queries()
        if kind_of(query) == kind
    )


@pytest.mark.parametrize("kept", [0, 1, 12, 40, private_counts.MOST_KEPT])
def test_counts_that_are_kept_give_the_answers_of_fresh_ones(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every query of every study to the same counts, forth and back, however little they may keep."""
    monkeypatch.setattr(private_counts, "MOST_KEPT", kept)
    shared = PrivateCounts(RECORDS)
    for query in (*queries(), *reversed(queries())):
        assert answered(query, shared, SimulatedNoise(4)) == answered(query, PrivateCounts(RECORDS), SimulatedNoise(4))
        assert shared.kept == sum(row.size for row in vars(shared)["_kept"].values()) <= kept


def test_counts_show_no_count() -> None:
    """Of no record, not even their number: a holder's session may be recorded."""
    counts = PrivateCounts(RECORDS)
    grouped = RECORDS.count([(0,)], [Grouping(0, ())])
    for shown in (counts, counts.exact, counts.exact.count([(0, 1)]), grouped):
        assert repr(shown) == object.__repr__(shown)


@pytest.mark.parametrize("kept", [0, 12, private_counts.MOST_KEPT])
def test_scores_in_any_order_are_those_of_fresh_counts(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """First few children are scored, then more, then by another score: what was kept must not stand in for the rest."""
    monkeypatch.setattr(private_counts, "MOST_KEPT", kept)
    shared = PrivateCounts(RECORDS)
    known = {name: private_score(RECORDS.facts, name) for name, score in scores().items() if not score.binary_child}
    assert len(known) > 1
    for name, placed in product((*known, *known), ((0, 1, 2, 3), (0,), (0, 1), (0, 1, 2), (1, 0), (0,))):
        children = [child for child in range(len(SCHEMA)) if child not in placed]
        for degree in range(1, len(placed) + 1):
            sets = list(combinations(placed, degree))
            fresh = PrivateCounts(RECORDS).scores(name, known[name], sets, children)
            assert np.array_equal(shared.scores(name, known[name], sets, children), fresh)
            assert np.array_equal(fresh, known[name](ExactCounts(RECORDS), sets, children))


def test_a_score_is_computed_once() -> None:
    """In the rounds of a vote children get fewer, and only the parent sets with the newest attribute are new."""
    shared, computed = PrivateCounts(RECORDS), list[tuple[int, ...]]()
    exact = private_score(RECORDS.facts, "I")

    def score(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> NDArray[np.float64]:
        computed.extend(parent_sets)
        return exact(counts, parent_sets, children)

    for placed in ((0,), (0, 1), (0, 1, 2), (0, 1), (0,)):
        children = [child for child in range(len(SCHEMA)) if child not in placed]
        shared.scores("I", score, [(parent,) for parent in placed], children)
    assert computed == [(0,), (1,), (2,)]


@each_study
def test_a_gate_prepares_its_counts_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Table] = []

    def prepared(table: Table) -> ExactCounts:
        made.append(table)
        return ExactCounts(table)

    monkeypatch.setattr(private_counts, "ExactCounts", prepared)
    tables = tables_for(study)
    learn_over(Wire(), study, tables, simulate=3)
    scored = any(issubclass(stage.query, ParentChoiceQuery) for stage in study.plan.stages)
    assert len(made) == len({id(table) for table in made})
    assert len(made) == len(tables) or not scored
