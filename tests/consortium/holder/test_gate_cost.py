"""What a question can cost a holder: bounded by study and schema, and looked at before anything is done for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, islice
from math import comb

import msgspec
import numpy as np
import pytest

from panbayes.consortium.agreement.limits import MAX_CELLS
from panbayes.consortium.agreement.strategies.adaptive import (
    COUNTS,
    GRANULARITIES,
    INTERACTIONS,
    OFFERED_CELLS,
    PICKS,
    TABLE_CELLS,
    most_picks,
)
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.handler import handlers
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.protocol.answers import TableChoiceAnswer, TablesAnswer
from panbayes.consortium.protocol.cells import Cells, pack_cells
from panbayes.consortium.protocol.codec import MAX_BYTES, MAX_QUESTION_BYTES, decode_question, encode
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import (
    Count,
    GroupedTablesQuery,
    Grouping,
    ModelQuery,
    Query,
    TableCandidate,
    TableChoiceQuery,
    TablesQuery,
)
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import NOTHING
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.diabetes import diabetes_schema
from panbayes.tables.table import Table
from tests.consortium.holder.examples import asked, check, refused
from tests.consortium.studies import Wire, learn_over
from tests.effort import soak, some

DELTA = Fraction(1, 10**9)


def schema(attributes: int, size: int) -> Schema:
    return Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i in range(attributes)))


def plain(attributes: int) -> tuple[Grouping, ...]:
    return tuple(Grouping(a, ()) for a in range(attributes))


def tables(agreed: Study, views: tuple[tuple[int, ...], ...], weights: tuple[int, ...], loss: str) -> Query:
    privacy = agreed.grant.tag
    return GroupedTablesQuery(privacy, agreed.adjacency, plain(len(agreed.schema)), views, weights, loss)


def choice(
    agreed: Study, *, picks: int = 1, loss: str = "1/2", times: int = 1, look: str = "1/5", looks: int = 1
) -> Query:
    """A choice among all pairs, each as often as ``times`` with groupings of its own; so many ``looks``."""
    attributes = len(agreed.schema)
    groupings = plain(attributes) * times
    pairs = [(a + k * attributes, b) for k in range(times) for a, b in combinations(range(attributes), 2)]
    cells = np.zeros(len(pairs) * agreed.schema.sizes[0] ** 2, dtype=np.int64)
    return TableChoiceQuery(
        agreed.grant.tag,
        agreed.adjacency,
        groupings,
        tuple(TableCandidate(pair, 0, 0) for pair in pairs),
        pack_cells(cells),
        "forest",
        (),
        (Count(picks, 0),) * looks,
        0,
        look,
        loss,
    )


def triples(attributes: int, number: int) -> tuple[tuple[int, ...], ...]:
    return tuple(islice(combinations(range(attributes), 3), number))


DEAR: dict[str, tuple[Schema, Fraction, Callable[[Study], Query], str]] = {
    "100,000 tables with weights of their own": (
        schema(90, 2),
        Fraction(0),
        lambda agreed: tables(agreed, triples(90, 100_000), tuple(range(1, 100_001)), "1"),
        "the study says tables: at most 1,440",
    ),
    "a kilobyte that asks for 800,000 cells of Gaussian noise": (
        schema(40, 20),
        DELTA,
        lambda agreed: tables(agreed, triples(40, 100), (1,) * 100, "1/1000"),
        "the study says tables: at most 656,160 cells together",
    ),
    "300 bytes that ask for 80 MB of noise": (
        schema(5, 100),
        Fraction(0),
        lambda agreed: tables(agreed, triples(5, 10), (1,) * 10, "1/1000000"),
        "the study says tables: at most 82,420 cells together",
    ),
    "one table as large as can be": (
        schema(3, 101),
        Fraction(0),
        lambda agreed: tables(agreed, ((0, 1, 2),), (1,), "1"),
        "the study says tables: at most 49,455 cells together",
    ),
    "more picks than eight for every attribute": (
        schema(40, 2),
        Fraction(0),
        lambda agreed: choice(agreed, picks=321),
        "the study says picks: at most 320",
    ),
    "more looks than there may be": (
        schema(40, 2),
        Fraction(0),
        lambda agreed: choice(agreed, looks=17),
        "the study says counts: at most 16",
    ),
    "the same pairs thirty times, in other words": (
        schema(40, 2),
        Fraction(0),
        lambda agreed: choice(agreed, times=30),
        "the study says candidates: at most 22,400",
    ),
    "choices among more cells than are offered": (
        schema(8, 800),
        Fraction(0),
        choice,
        "the study says tables: at most 12,000,000 cells together",
    ),
    "an attribute that is not there": (
        schema(4, 2),
        Fraction(0),
        lambda _: GroupedTablesQuery("pure", "replace", (Grouping(4, ()),), ((0,),), (1,), "1"),
        "the study says tables: of attributes of its schema",
    ),
    "a grouping that is not there": (
        schema(4, 2),
        Fraction(0),
        lambda _: GroupedTablesQuery("pure", "replace", plain(4), ((4,),), (1,), "1"),
        "the study says tables: of attributes of its schema",
    ),
}


@pytest.mark.parametrize("words", DEAR)
def test_a_question_that_would_be_dear_is_refused_before_anything_is_done_for_it(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the study's plan: nothing is counted, drawn or charged, and it takes a fraction of a second."""
    found, delta, ask, text = DEAR[words]
    agreed = Study(words, found, "adaptive", 1, delta=delta)
    records = Table(found, np.zeros((len(found), 10), dtype=code_type(found)))
    question = asked(ask(agreed), agreed)
    monkeypatch.setattr("panbayes.consortium.holder.gate.handler_of", lambda _query: pytest.fail("was looked at"))
    with Ledger.in_memory() as ledger:
        door = Gate(records, agreed, ledger, SimulatedNoise(1))
        before = time.process_time()
        reply = door.ask(question)
        assert time.process_time() - before < 2
        assert refused(reply) == ("not-in-study", text)
        assert ledger.summary().spent == NOTHING


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_what_can_never_be_paid_for_is_looked_at_no_further(delta: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    agreed = Study("dear", schema(4, 2), "adaptive", 1, delta=delta)
    whole = agreed.grant.amount
    with Ledger.in_memory() as ledger:
        door = Gate(Table(agreed.schema, np.zeros((4, 10), dtype=np.uint8)), agreed, ledger, SimulatedNoise(1))
        assert not isinstance(refused_or_none(door.ask(asked(choice(agreed, loss=str(whole)), agreed))), tuple)
        monkeypatch.setattr(ledger, "transaction", lambda: pytest.fail("the ledger was asked"))
        above = str(whole + Fraction(1, 10**20))
        code, text = refused(door.ask(asked(choice(agreed, loss=above), agreed, 1)))
        assert code == "over-budget"
        assert text.startswith(f"the study grants {agreed.grant}; this question costs ")


def refused_or_none(reply: bytes) -> tuple[str, str] | None:
    return None if b"refusal" not in reply else refused(reply)


RATIOS = ["1/" + "9" * 30, "9" * 30, "9" * 30 + "/" + "9" * 29 + "8", "1/" + "9" * 29, "1/1" + "0" * 29]


@pytest.mark.parametrize("loss", RATIOS)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_a_loss_of_any_digits_is_answered_or_refused_from_public_facts(loss: str, delta: Fraction) -> None:
    """Never `unavailable`: that would be a failure inside the transaction."""
    agreed = Study("digits", schema(4, 2), "adaptive", 900, delta=delta)
    told: list[BaseException] = []
    with Ledger.in_memory() as ledger:
        records = Table(agreed.schema, np.zeros((4, 10), dtype=np.uint8))
        door = Gate(records, agreed, ledger, SimulatedNoise(1), report=told.append)
        for number, query in enumerate(
            (
                tables(agreed, ((), (0, 1)), (1, 2**31 - 1), loss),
                choice(agreed, picks=3, loss=loss),
                choice(agreed, picks=3, loss=loss, look="9" * 29 + "8/" + "9" * 30),
                choice(agreed, picks=3, loss="900", look=loss),
            )
        ):
            reply = refused_or_none(door.ask(asked(query, agreed, number)))
            assert reply is None or reply[0] in ("too-large", "over-budget")
    assert told == []


def test_an_answer_of_the_most_cells_fits_into_a_message() -> None:
    """At eight bytes a cell; and one cell more is refused."""
    longest = Release("0" * 64, 2**53 - 1, "0" * 64, True, TablesAnswer(Cells(8, b"")))
    assert len(encode(longest)) + 16 + 8 * MAX_CELLS < MAX_BYTES
    wide = Schema("w", tuple(Attribute(f"a{i}", bins=tuple(range(8185))) for i in range(2)))
    assert wide.sizes[0] ** 2 > MAX_CELLS > wide.sizes[0] ** 2 - 2**17
    with pytest.raises(InputError, match="cells"):
        check(TablesQuery(((0, 1),), "1", clip=False), wide, 10)


def halves(found: Schema, groups: int) -> tuple[Grouping, ...]:
    """Groupings into so many, or as many as there are values."""
    return tuple(Grouping(a, tuple(v % groups for v in range(size))) for a, size in enumerate(found.sizes))


@pytest.mark.parametrize(
    "found", [diabetes_schema(), schema(120, 2), schema(300, 20), schema(2, 2), schema(500, 2)], ids=len
)
def test_the_adaptive_strategy_may_ask_for_the_most_it_ever_does(found: Schema) -> None:
    """All single attributes with weights of their own, eight tables for each of 64 cells, and choices among all."""
    agreed = Study("most", found, "adaptive", 1)
    attributes = len(found)
    singles = tables(agreed, tuple((a,) for a in range(attributes)), tuple(range(1, attributes + 1)), "1/2")
    assert agreed.plan.complaint(singles) is None
    pairs = tuple(islice(combinations(range(attributes), 2), PICKS * attributes))
    measured = GroupedTablesQuery("pure", "replace", halves(found, 8), pairs, (1,) * len(pairs), "1/2")
    assert agreed.plan.complaint(measured) is None
    query = largest_choice(found)
    assert agreed.plan.complaint(query) is None
    check(query, found, 10)
    number = GRANULARITIES * comb(attributes, 2)
    assert number * min(TABLE_CELLS, OFFERED_CELLS // number) + INTERACTIONS <= 2 * OFFERED_CELLS


def largest_choice(found: Schema) -> TableChoiceQuery:
    """All pairs at three granularities and 20,000 interactions, as many tables as may be, eleven looks."""
    attributes, granularities = len(found), 1 if max(found.sizes) == 2 else GRANULARITIES
    groupings = (*halves(found, 2), *halves(found, 3), *halves(found, 4))
    axes: dict[tuple[int, ...], None] = {}
    for a, b in combinations(range(attributes), 2):
        axes.update(dict.fromkeys((a + k * attributes, b + k * attributes) for k in range(granularities)))
    axes.update(dict.fromkeys(islice(combinations(range(attributes), 3), INTERACTIONS)))
    groups = [max(grouping.groups) + 1 for grouping in groupings]
    cells = sum(groups[found[0]] * groups[found[1]] if len(found) == 2 else 1 for found in axes)
    return TableChoiceQuery(
        "pure",
        "replace",
        groupings,
        tuple(TableCandidate(found, 1000, 2000) for found in axes),
        pack_cells(np.full(cells, 70_000, dtype=np.int64)),
        "forest",
        (),
        tuple(Count(1 + (most_picks(attributes) - 1) * k // 10, 10**9 if k else 0) for k in range(11)),
        100,
        "1/5",
        "1/2",
    )


@pytest.mark.parametrize("found", [diabetes_schema(), schema(120, 2), schema(300, 2)], ids=len)
def test_the_largest_choice_travels_both_ways(found: Schema) -> None:
    """With cells of four bytes; six million of them are 24 MB more, and the plan has room for twice that."""
    agreed = Study("most", found, "adaptive", 1)
    data = asked(largest_choice(found), agreed)
    assert len(data) + 4 * OFFERED_CELLS < MAX_QUESTION_BYTES
    assert decode_question(data).query == largest_choice(found)
    most = PICKS * len(found)
    release = Release("0" * 64, 2**53 - 1, "0" * 64, True, TableChoiceAnswer(most, tuple(range(most))))
    assert len(encode(release)) < MAX_BYTES


@soak
@pytest.mark.parametrize("delta", some([Fraction(0), DELTA], 1))
def test_a_run_on_the_diabetes_schema_is_never_refused(delta: Fraction) -> None:
    """With so much ε that many rounds are asked for; several holders, who choose at the same time."""
    found, rng = diabetes_schema(), np.random.default_rng(3)
    held = {}
    for name in ("a", "b", "c"):
        base = rng.integers(0, 2, 150)
        rows = [np.where(rng.random(150) < 0.8, base % size, rng.integers(0, size, 150)) for size in found.sizes]
        held[name] = Table(found, np.stack(rows).astype(np.uint8))
    wire = Wire()
    learn_over(wire, Study("run", found, "adaptive", 1000, delta=delta), held, simulate=1)
    asked_for = {(type(q.query).__name__, q.round) for _, q in wire.asked}
    assert len(asked_for) > 6
    for _, question in wire.asked:
        if isinstance(question.query, TableChoiceQuery):
            assert len(question.query.counts) <= COUNTS


def test_a_model_of_automatic_degree_considers_no_more_parents_than_the_plan_says() -> None:
    agreed = Study("auto", schema(12, 2), "privbayes", 1, degree="auto")
    (stage,) = agreed.plan.stages
    assert stage.most == f"{12 * 2**5:,} cells"
    query = ModelQuery(0, 4, "4", "I", "permute-and-flip", "1/2", "1/2", clip=True)
    assert agreed.plan.complaint(query) is None
    more = msgspec.structs.replace(query, degree=5)
    assert agreed.plan.complaint(more) == "the study says degree: at most 4"


def test_every_stage_says_how_large_a_question_may_be() -> None:
    for name, most in {
        "independent": ["8 cells"],
        "noisy-sufficient-statistics": ["24 cells"],
        "noisy-majority-voting": ["4 candidates", "16 cells"],
        "privbayes": ["16 cells"],
        "noisy-model": ["16 cells"],
        "adaptive": ["64 tables of 65,544 cells", "32 among 20,024 tables of 12,000,000 cells"],
    }.items():
        assert [stage.most for stage in Study(name, schema(4, 2), name, 1).plan.stages] == most
    linear = Study("linear", schema(4, 2), "noisy-majority-voting", 1, score="linear")
    assert [stage.most for stage in linear.plan.stages] == ["8 cells", "4 candidates", "16 cells"]
    assert set(handlers()) == {"counts", "vote", "linear", "model", "tables", "choices"}
