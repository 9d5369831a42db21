"""What is promised: a function of the question and of public sizes, for every question that a study may ask."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from panbayes.consortium.agent import effort
from panbayes.consortium.agent.effort import MOST, Effort, Sizes, effort_of, public_sizes, seconds
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.protocol.codec import decode_question
from panbayes.consortium.protocol.queries import (
    Count,
    GroupedTablesQuery,
    Grouping,
    LinearChoiceQuery,
    ModelQuery,
    ParentChoiceQuery,
    Query,
    TableCandidate,
    TableChoiceQuery,
    TablesQuery,
)
from panbayes.dp.simulated import SimulatedNoise
from panbayes.schema.schema import Schema, Unit
from tests.consortium.studies import KILLED, SCHEMA, SIZES, tables_for

PAIRS = (Grouping(0, ()), Grouping(1, ()), Grouping(3, (0, 1, 0, 1)))

CHOICE = TableChoiceQuery(
    privacy="pure",
    adjacency="replace",
    groupings=PAIRS,
    candidates=(TableCandidate((0, 1), 0, 0), TableCandidate((1, 2), 0, 0)),
    expected=None,
    rule="any",
    taken=(),
    counts=(Count(1, 0), Count(2, 0)),
    least=0,
    look="1/2",
    loss="1",
)

COUNTED: list[tuple[Query, Effort]] = [
    (TablesQuery(sets=((0, 1), (3,)), epsilon="1", clip=True), Effort(9, 2, 10, 10)),
    # Two are placed, three are left, one set of two parents: the largest table is 4·3·2.
    (ParentChoiceQuery((0, 1), 2, "mutual-information", "permute-and-flip", "1"), Effort(9, 3, 75, 1)),
    (ParentChoiceQuery((0,), 2, "mutual-information", "permute-and-flip", "1"), Effort(9, 4, 100, 1)),
    # Two placed with each of three left are six pairs; one set of two parents for each child is added up.
    (LinearChoiceQuery((0, 1), 2, ((0, 1),), (0,), "exponential", "1"), Effort(9, 6, 3 * (2 + 1 * 3), 1)),
    (LinearChoiceQuery((0, 1), 1, ((0, 1),), (0,), "exponential", "1"), Effort(9, 6, 3 * (2 + 2 * 2), 1)),
    # Each of five attributes with each set of two of the others; each may be compared in every step.
    (
        ModelQuery(0, 2, None, "mutual-information", "permute-and-flip", "1", "1", True),
        Effort(9, 30, 30 * (5 + 24), 5 * (1 + 24)),
    ),
    (
        ModelQuery(0, 2, "4", "mutual-information", "permute-and-flip", "1", "1", True),
        Effort(9, 55, 55 * (5 + 24), 5 * (1 + 24)),
    ),
    (
        GroupedTablesQuery("pure", "replace", PAIRS, tables=((), (0, 1), (2,)), weights=(1, 1, 1), loss="1"),
        Effort(9, 3, 9, 9),
    ),
    # Of the tables that share a radius the second, of 2·2·2·4 cells, takes half as many draws again.
    (
        GroupedTablesQuery(
            "pure",
            "replace",
            tuple(Grouping(a, ()) for a in (0, 2, 3, 4)),
            tables=((0,), (0, 1, 2, 3), (1, 2)),
            weights=(1, 1, 1),
            loss="1",
            radii=(1, 1),
        ),
        Effort(9, 3, 42, 42 + 16),
    ),
    (CHOICE, Effort(9, 2, 6 + 6 + 4 + 2 * 3, 2 + 2)),
    (msgspec.structs.replace(CHOICE, look="1"), Effort(9, 2, 6 + 6 + 4, 2)),
]


@pytest.mark.parametrize(("query", "expected"), COUNTED, ids=lambda value: type(value).__name__)
def test_what_a_question_asks_for_is_counted(query: Query, expected: Effort) -> None:
    assert SIZES == (2, 3, 2, 4, 2)
    assert effort_of(query, SCHEMA, length=9) == expected


def test_what_cannot_be_read_costs_its_length() -> None:
    assert effort_of(None, SCHEMA, length=77) == Effort(77)


def test_attributes_that_there_are_not_cost_nothing_and_break_nothing() -> None:
    assert effort_of(TablesQuery(sets=((0, 9999),), epsilon="1", clip=True), SCHEMA, length=9) == Effort(9, 1, 0, 0)
    wrong = GroupedTablesQuery("pure", "replace", (Grouping(99, ()),), tables=((0,),), weights=(1,), loss="1")
    assert effort_of(wrong, SCHEMA, length=9) == Effort(9, 1, 0, 0)
    placed = ParentChoiceQuery(tuple(range(50)), 8, "mutual-information", "permute-and-flip", "1")
    assert effort_of(placed, SCHEMA, length=9) == Effort(9, 0, 0, 1)


def test_a_promise_is_the_formula_that_is_written_down() -> None:
    asked = Effort(10**6, 100, 10**4, 10**3)
    wide = Schema("wide", tuple(replace(SCHEMA.attributes[0], name=f"a{i}") for i in range(20)))
    people, sizes = replace(wide, unit=Unit("person", 3)), Sizes(rows=10**6, records=10**5)
    found = seconds(asked, sizes=sizes, schema=wide, read=True)
    parts = (
        effort.BASE,
        effort.LENGTH * 10**6,
        effort.PASS * 100 * 10**5,
        effort.CELL * 10**4,
        effort.DRAW * 10**3,
    )
    assert found == pytest.approx(sum(parts))
    read = sum(parts) + effort.OPEN + effort.READ * 10**6 * 20
    assert seconds(asked, sizes=sizes, schema=wide, read=False) == pytest.approx(read)
    ids = read + effort.ID * 10**6
    assert seconds(asked, sizes=sizes, schema=people, read=False) == pytest.approx(ids)
    blocks = ids + effort.REGISTER * 10**6
    assert seconds(asked, sizes=sizes, schema=people, read=False, blocks=True) == pytest.approx(blocks)
    assert seconds(asked, sizes=sizes, schema=people, read=True, blocks=True) == pytest.approx(sum(parts))
    elsewhere = sum(parts) + effort.AWAY + (effort.THERE - effort.PASS) * 100 * 10**5
    assert seconds(asked, sizes=sizes, schema=wide, read=True, there=True) == pytest.approx(elsewhere)
    assert min(parts) > 0


def test_constants_leave_room_above_what_was_measured() -> None:
    """Microseconds for a value, an id, a person in a register, and a record and table that a database counts."""
    measured = ((effort.READ, 1.5), (effort.ID, 4), (effort.REGISTER, 23), (effort.THERE, 1))
    assert all(promised * 1e6 >= 1.5 * took for promised, took in measured)


def test_sizes_are_the_public_ones_or_the_declared_ones() -> None:
    persons = replace(SCHEMA, unit=Unit("person", 3))
    assert public_sizes(SCHEMA, size=1000, bound=None) == Sizes(1000, 1000)
    assert public_sizes(SCHEMA, size=1000, bound=5000) == Sizes(5000, 1000)
    assert public_sizes(SCHEMA, size=1000, bound=10) == Sizes(1000, 1000), "everybody has a row"
    assert public_sizes(SCHEMA, size=None, bound=5000) == Sizes(5000, 5000)
    assert public_sizes(persons, size=1000, bound=5000) == Sizes(5000, 3000), "no more than each may have"
    assert public_sizes(persons, size=1000, bound=2000) == Sizes(2000, 2000)


@pytest.mark.parametrize("study", KILLED, ids=lambda study: study.name)
def test_every_question_of_every_strategy_has_an_effort(study: Study) -> None:
    (name, table), *_ = tables_for(study).items()
    asked: list[Effort] = []
    with Ledger.in_memory() as ledger:
        gate = Gate(table, study, ledger, SimulatedNoise(1))

        def ask(data: bytes) -> bytes:
            asked.append(effort_of(decode_question(data).query, study.schema, length=len(data)))
            return gate.ask(data)

        learn_from(Federation(study, {name: ask}, simulated=True))
    assert asked
    assert all(found.tables > 0 and found.cells > 0 and found.draws > 0 for found in asked)


def test_sizes_that_no_gate_would_compute_are_bounded() -> None:
    wide = Schema("wide", tuple(replace(SCHEMA.attributes[0], name=f"a{i}") for i in range(200)))
    model = ModelQuery(0, 8, "1", "mutual-information", "permute-and-flip", "1", "1", True)
    assert seconds(effort_of(model, wide, length=100), sizes=Sizes(10**6, 10**6), schema=wide, read=False) == MOST
