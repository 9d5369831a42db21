"""The one door: checked, charged, stored, then released; the same question costs once; everything else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder import gate as gate_module
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.protocol.answers import TablesAnswer
from panbayes.consortium.protocol.codec import decode_question, decode_reply, encode
from panbayes.consortium.protocol.envelope import Refusal, question
from panbayes.dp.noise import Noise
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import Rule
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import (
    SCHEMA,
    SCRIPTS,
    asked,
    model,
    pure,
    read,
    refused,
    released,
    script,
    singles,
    study,
    table,
    tables_of_votes,
    votes,
)
from tests.consortium.protocol import examples
from tests.consortium.protocol.mutation import mutations
from tests.effort import often


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "a.ledger", create=True) as opened:
        yield opened


def gate(ledger: Ledger, agreed: Study | None = None, records: Table | None = None) -> Gate:
    return Gate(records or table(), agreed or study(), ledger, SecureNoise())


def spent(ledger: Ledger) -> Fraction:
    return pure(ledger.summary().spent)


@pytest.mark.parametrize("strategy", SCRIPTS)
def test_a_whole_study_is_answered_and_spends_exactly_its_epsilon(strategy: str, ledger: Ledger) -> None:
    agreed = study(strategy, "1/10", split="3/10")
    door = gate(ledger, agreed)
    heads = []
    for number, query in enumerate(script(agreed)):
        release = released(door.ask(asked(query, agreed, number)))
        assert release.size == 50
        assert release.private
        heads.append(release.ledger)
    assert spent(ledger) == Fraction(1, 10)
    assert ledger.summary().head == heads[-1]
    assert [entry.head for entry in ledger.entries()] == heads
    assert verify(ledger, heads=heads) == []


def test_the_same_question_gets_the_same_bytes_and_costs_nothing(ledger: Ledger, tmp_path: Path) -> None:
    agreed = study("independent")
    data = asked(singles(agreed), agreed)
    first = gate(ledger, agreed).ask(data)
    assert gate(ledger, agreed).ask(data) == first
    ledger.close()
    with Ledger.open(tmp_path / "a.ledger") as again:
        assert gate(again, agreed).ask(data) == first
        assert spent(again) == 1
        again.set_cap(Pure(Fraction(1, 2)))
        assert gate(again, agreed).ask(data) == first, "a lower cap takes nothing back"


def test_noise_is_fresh_for_another_ledger_and_another_study(tmp_path: Path) -> None:
    """Sixteen noisy cells of scale 8 agree by chance with probability below 1e-15."""
    replies = []
    for name in ("a", "b"):
        with Ledger.open(tmp_path / f"{name}.ledger", create=True) as opened:
            for title in ("one", "two"):
                agreed = study("independent", name=title)
                answer = released(gate(opened, agreed).ask(asked(singles(agreed), agreed))).answer
                assert isinstance(answer, TablesAnswer)
                replies.append(answer.cells.data)
    assert len(set(replies)) == 4


def test_the_same_id_with_other_content(ledger: Ledger) -> None:
    agreed = study("independent")
    door = gate(ledger, agreed)
    right = question(singles(agreed), study=agreed.hash, round_number=0)
    released(door.ask(encode(right)))
    forged = msgspec.structs.replace(right, round=1)
    assert refused(door.ask(encode(forged))) == ("wrong-id", "the question's id is not the hash of its content")
    reply = read(door.ask(encode(forged)))
    assert isinstance(reply, Refusal)
    assert reply.id == right.id
    assert spent(ledger) == 1


def test_another_round_is_another_question_and_the_budget_is_gone(ledger: Ledger) -> None:
    agreed = study("independent")
    door = gate(ledger, agreed)
    released(door.ask(asked(singles(agreed), agreed)))
    assert refused(door.ask(asked(singles(agreed), agreed, 1))) == (
        "not-in-study",
        "the study asks for counts 1 times, and has",
    )
    assert spent(ledger) == 1


def test_votes_cannot_eat_the_tables_share(ledger: Ledger) -> None:
    """Six votes would be affordable, three are in the study."""
    agreed = study("noisy-majority-voting")
    door = gate(ledger, agreed)
    for number in range(3):
        released(door.ask(asked(votes(agreed)[0], agreed, number)))
    assert refused(door.ask(asked(votes(agreed)[0], agreed, 3)))[0] == "not-in-study"
    released(door.ask(asked(tables_of_votes(agreed), agreed, 4)))
    assert spent(ledger) == 1


@pytest.mark.parametrize(
    ("cap", "answered"),
    [("2", True), ("1.999999", False), ("1.999999999999999999999999999", False), ("2.000001", True)],
)
def test_the_cap_is_compared_exactly(cap: str, answered: bool, ledger: Ledger) -> None:
    """Two studies of ε = 1 fit under 2, and under nothing less."""
    ledger.set_cap(Pure(Fraction(cap)))
    first, second = study(name="one"), study(name="two", epsilon="1")
    door = gate(ledger, first)
    for number, query in enumerate(script(first)):
        released(door.ask(asked(query, first, number)))
    reply = gate(ledger, second).ask(asked(votes(second)[0], second))
    if answered:
        released(reply)
    else:
        assert refused(reply) == ("over-budget", "this holder's cap leaves no room for a study of ε = 1")
        assert spent(ledger) == 1


def test_thirds_add_up(ledger: Ledger) -> None:
    """Three times 1/3 is one: in floating point a tenth study of 1/10 would not fit."""
    ledger.set_cap(Pure(Fraction(1)))
    for number in range(10):
        agreed = study("independent", "1/10", name=f"study {number}")
        released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
    assert spent(ledger) == 1
    agreed = study("independent", "1/1000000", name="one more")
    assert refused(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))[0] == "over-budget"


def test_a_study_that_cannot_be_finished_is_refused_before_it_starts(ledger: Ledger) -> None:
    ledger.set_cap(Pure(Fraction(3, 4)))
    agreed = study("noisy-majority-voting")
    assert refused(gate(ledger, agreed).ask(asked(votes(agreed)[0], agreed)))[0] == "over-budget"
    assert spent(ledger) == 0


def test_other_studies_and_garbage(ledger: Ledger) -> None:
    agreed, other = study(), study(name="other")
    door = gate(ledger, agreed)
    assert refused(door.ask(asked(votes(other)[0], other)))[0] == "unknown-study"
    assert refused(door.ask(asked(model(agreed), agreed)))[0] == "not-in-study"
    assert refused(door.ask(b"")) == ("malformed", "the message is not MessagePack")
    assert refused(door.ask(b"\xff" * 100))[0] == "malformed"
    assert refused(door.ask(asked(votes(agreed)[0], agreed) + b"\0"))[0] == "malformed"
    wrong = replace(agreed, strategy="noisy-majority-voting", degree=2)
    impossible = msgspec.structs.replace(tables_of_votes(wrong), sets=((0,), (0,), (0,), (0,)))
    assert refused(gate(ledger, wrong).ask(asked(impossible, wrong)))[0] == "too-large"
    assert ledger.entries() == ()


def test_a_study_without_privacy_is_answered_by_no_gate(ledger: Ledger) -> None:
    agreed = Study("look", SCHEMA, "non-private")
    assert refused(gate(ledger, agreed).ask(asked(singles(study("independent")), agreed))) == (
        "not-in-study",
        'a study of strategy "non-private" is not answered here',
    )
    assert spent(ledger) == 0


def test_a_refusal_names_the_question_it_refuses(ledger: Ledger) -> None:
    agreed = study("independent")
    data = asked(model(agreed), agreed)
    reply = decode_reply(gate(ledger, agreed).ask(data))
    assert isinstance(reply, Refusal)
    assert reply.id == decode_question(data).id


def test_a_table_with_a_unit_must_know_its_number_of_persons(ledger: Ledger) -> None:
    schema = replace(SCHEMA, unit=Unit("patient", max_records=2))
    with pytest.raises(ValueError, match="knows its number of persons"):
        gate(ledger, study("independent", schema=schema), table(schema=schema))


def test_schemas(ledger: Ledger) -> None:
    draft = replace(SCHEMA, status="draft")
    assert draft.hash == SCHEMA.hash
    agreed = study("independent")
    drafted = replace(agreed, schema=draft)
    assert drafted.hash == agreed.hash
    for door in (gate(ledger, agreed, table(schema=draft)), gate(ledger, drafted)):
        assert refused(door.ask(asked(singles(agreed), agreed))) == (
            "wrong-schema",
            "this holder has not approved the schema: it is a draft",
        )
    other = replace(SCHEMA, name="other")
    code, text = refused(gate(ledger, agreed, table(schema=other)).ask(asked(singles(agreed), agreed)))
    assert code == "wrong-schema"
    assert other.hash in text
    assert ledger.entries() == ()


def test_the_size_released_is_the_number_of_persons(ledger: Ledger) -> None:
    schema = replace(SCHEMA, unit=Unit("who", 3))
    agreed = study("independent", schema=schema)
    records = Table(schema, table().codes, persons=20)
    assert released(gate(ledger, agreed, records).ask(asked(singles(agreed), agreed))).size == 20


def test_simulated_noise_is_stamped_repeatable_and_kept_out_of_kept_ledgers(ledger: Ledger) -> None:
    agreed = study("independent")
    data = asked(singles(agreed), agreed)
    replies = []
    for seed in (1, 1, 2):
        with Ledger.in_memory() as throwaway:
            replies.append(released(Gate(table(), agreed, throwaway, SimulatedNoise(seed)).ask(data)))
    assert not replies[0].private
    assert replies[0].answer == replies[1].answer != replies[2].answer
    with pytest.raises(ValueError, match="go together"):
        Gate(table(), agreed, ledger, SimulatedNoise(1))
    with Ledger.in_memory() as throwaway, pytest.raises(ValueError, match="go together"):
        Gate(table(), agreed, throwaway, SecureNoise())


class BrokenNoise(SecureNoise):
    """A source that fails after some draws, as hardware may."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def _use(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError("Jane Doe has no entropy")

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        self._use()
        return super().discrete_laplace(size, scale=scale)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        self._use()
        return super().select(scores, scale=scale, mechanism=mechanism)

    def spawn(self, _key: bytes, /) -> SecureNoise:
        return self


def test_a_failure_while_drawing_charges_nothing_and_tells_nothing(ledger: Ledger) -> None:
    agreed = study("noisy-majority-voting")
    told: list[BaseException] = []
    broken: Noise = BrokenNoise(2)
    door = Gate(table(), agreed, ledger, broken, report=told.append)
    queries = script(agreed)
    for number in range(2):
        released(door.ask(asked(queries[number], agreed, number)))
    for _ in range(2):
        assert refused(door.ask(asked(queries[2], agreed, 2))) == (
            "unavailable",
            "this holder cannot answer now; ask again later",
        )
    assert spent(ledger) == Fraction(1, 3)
    assert [str(error) for error in told] == ["Jane Doe has no entropy"] * 2
    released(gate(ledger, agreed).ask(asked(queries[2], agreed, 2)))
    assert spent(ledger) == Fraction(1, 2)
    assert verify(ledger) == []


def test_a_full_disk_charges_nothing(ledger: Ledger) -> None:
    agreed = study("independent")
    told: list[BaseException] = []
    door = Gate(table(), agreed, ledger, SecureNoise(), report=told.append)
    with ledger.transaction() as transaction:
        pages = transaction.connection.execute("PRAGMA page_count").fetchone()[0]
        transaction.connection.execute(f"PRAGMA max_page_count={pages}")
        # Fill what is free in the last page, so that the next row needs another one.
    replies = []
    for number in range(40):
        other = replace(agreed, name=f"study {number}")
        reply = Gate(table(), other, ledger, SecureNoise(), report=told.append).ask(asked(singles(other), other))
        replies.append(read(reply))
    failed = [reply for reply in replies if isinstance(reply, Refusal)]
    assert failed
    assert {reply.code for reply in failed} == {"unavailable"}
    assert all(isinstance(error, LedgerError) and "full" in str(error) for error in told)
    assert spent(ledger) == len(replies) - len(failed)
    with ledger.transaction() as transaction:
        transaction.connection.execute("PRAGMA max_page_count=1000000")
    released(door.ask(asked(singles(agreed), agreed)))
    assert verify(ledger) == []


def test_changed_records_are_refused_to_the_holder_only(ledger: Ledger) -> None:
    agreed, later = study("independent"), study("independent", name="later")
    door = gate(ledger, agreed)
    records = table()
    released(door.ask(asked(singles(agreed), agreed)))
    gate(ledger, later)
    shuffled = records.select(np.random.default_rng(0).permutation(records.records))
    gate(ledger, later, shuffled)
    changed = records.codes.copy()
    changed[0, 7] = 1 - changed[0, 7]
    for other in (Table(SCHEMA, changed), records.select(slice(1, None)), table(1)):
        with pytest.raises(LedgerError, match="belongs to other records"):
            gate(ledger, later, other)


def test_a_gate_notices_records_bound_after_it_was_built(ledger: Ledger) -> None:
    """Nothing is charged yet, so the second gate may bind; then the first one is too late."""
    agreed = study("independent")
    told: list[BaseException] = []
    early = Gate(table(1), agreed, ledger, SecureNoise(), report=told.append)
    released(gate(ledger, agreed, table(2)).ask(asked(singles(agreed), agreed)))
    other = study("independent", name="other")
    late = Gate(table(2), other, ledger, SecureNoise())
    assert early is not late
    early_other = early.ask(asked(singles(agreed), agreed, 5))
    assert refused(early_other)[0] == "unavailable"
    assert isinstance(told[0], LedgerError)
    assert "other" not in refused(early_other)[1]


def test_spending_adds_up_across_schemas_of_one_ledger(ledger: Ledger) -> None:
    ledger.set_cap(Pure(Fraction(3, 2)))
    first = study("independent")
    released(gate(ledger, first).ask(asked(singles(first), first)))
    coarser = Schema("coarser", SCHEMA.attributes[:3])
    second = study("independent", schema=coarser)
    reply = gate(ledger, second, table(schema=coarser)).ask(asked(singles(second), second))
    assert refused(reply)[0] == "over-budget"


@given(records=st.integers(0, 2**31), other=st.integers(0, 2**31))
@settings(max_examples=often(3, 15))
def test_refusals_do_not_depend_on_the_records(records: int, other: int) -> None:
    """Every refusal of a list of bad questions is the same for any two tables of one size."""
    agreed, foreign = study("noisy-majority-voting"), study(name="foreign")
    questions = [
        b"",
        b"\x81",
        asked(votes(foreign)[0], foreign),
        asked(model(agreed), agreed),
        asked(msgspec.structs.replace(votes(agreed)[0], epsilon="1"), agreed),
        asked(msgspec.structs.replace(tables_of_votes(agreed), sets=((0,), (0,), (1, 1), (2,))), agreed),
        encode(msgspec.structs.replace(question(votes(agreed)[0], study=agreed.hash, round_number=0), round=1)),
    ]
    replies = []
    for seed in (records, other):
        with Ledger.in_memory() as throwaway:
            door = Gate(table(seed), agreed, throwaway, SimulatedNoise(0))
            replies.append([door.ask(data) for data in questions])
    assert replies[0] == replies[1]
    assert all(isinstance(read(reply), Refusal) for reply in replies[0])


def test_any_bytes_get_a_reply(ledger: Ledger) -> None:
    agreed = study("noisy-majority-voting")
    door = gate(ledger, agreed)
    seeds = [*(encode(m) for m in examples.QUESTIONS.values()), *(asked(q, agreed) for q in script(agreed))]
    for data in mutations(seeds, 5_000, seed=3):
        reply = read(door.ask(data))
        assert not isinstance(reply, Refusal) or len(reply.text) <= gate_module.MAX_TEXT
    assert spent(ledger) <= 1
    assert verify(ledger) == []


def test_a_ledger_in_memory_belongs_to_anybody() -> None:
    """Nothing is private there, so records may change from one simulation to the next."""
    with Ledger.in_memory() as ledger:
        for seed, agreed in enumerate((study("independent"), study("independent", name="other"))):
            released(Gate(table(seed), agreed, ledger, SimulatedNoise(1)).ask(asked(singles(agreed), agreed)))
