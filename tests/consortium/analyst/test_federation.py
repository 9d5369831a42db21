"""A federation takes answers and nothing else: whatever a holder does wrong has its name on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.answers import Answer, ModelAnswer, ParentChoiceAnswer, TablesAnswer
from panbayes.consortium.protocol.cells import Cells, pack_cells
from panbayes.consortium.protocol.codec import decode_question, decode_reply, encode
from panbayes.consortium.protocol.envelope import Question, Refusal, Release, question
from panbayes.consortium.protocol.queries import Pair, Query
from panbayes.consortium.protocol.transport import Ask
from panbayes.dp.secure import SecureNoise
from panbayes.errors import HolderFailedError, HolderRefusedError, InputError, InternalError
from tests.consortium.holder.examples import model, pure, script, singles, study, table, votes
from tests.consortium.protocol.mutation import mutations

INDEPENDENT = study("independent")
VOTING = study("noisy-majority-voting")
MODEL = study("noisy-model")


@pytest.fixture
def honest(tmp_path: Path) -> Iterator[Callable[[Study], dict[str, Ask]]]:
    """Three honest holders for a study, with real ledgers."""
    opened: list[Ledger] = []

    def make(agreed: Study) -> dict[str, Ask]:
        doors: dict[str, Ask] = {}
        for number, name in enumerate("ABC"):
            ledger = Ledger.open(tmp_path / f"{name}.ledger", create=True)
            opened.append(ledger)
            doors[name] = Gate(table(number, 50 + number), agreed, ledger, SecureNoise()).ask
        return doors

    yield make
    for ledger in opened:
        ledger.close()


Honest = Callable[[Study], dict[str, Ask]]


@pytest.mark.parametrize("agreed", [INDEPENDENT, VOTING, MODEL], ids=lambda agreed: agreed.strategy)
def test_everybody_answers(agreed: Study, honest: Honest) -> None:
    federation = Federation(agreed, honest(agreed))
    for number, query in enumerate(script(agreed)):
        releases = federation.ask(query, round_number=number)
        assert {name: release.size for name, release in releases.items()} == {"A": 50, "B": 51, "C": 52}
        assert federation.ask(query, round_number=number) == releases
    rounds = len(script(agreed))
    for name, traffic in federation.traffic.items():
        assert traffic.messages == 2 * rounds
        assert traffic.bytes_received > 100 * rounds
        assert len(federation.heads[name]) == rounds
    assert len({head for heads in federation.heads.values() for head in heads.values()}) == 3 * rounds


def test_holders_are_asked_at_the_same_time(honest: Honest) -> None:
    """Each waits for the others to have been asked; one after the other would never end."""
    barrier = threading.Barrier(3, timeout=300)

    def wait(door: Ask) -> Ask:
        def ask(data: bytes) -> bytes:
            barrier.wait()
            return door(data)

        return ask

    doors = {name: wait(door) for name, door in honest(INDEPENDENT).items()}
    assert len(Federation(INDEPENDENT, doors).ask(singles(INDEPENDENT), round_number=0)) == 3


def test_each_holder_gets_its_own_query_at_the_same_time(honest: Honest) -> None:
    """Two of three are asked, for different things; each waits for the other to have been asked."""
    barrier = threading.Barrier(2, timeout=300)
    heard: dict[str, Query] = {}

    def listen(name: str, door: Ask) -> Ask:
        def ask(data: bytes) -> bytes:
            heard[name] = decode_question(data).query
            barrier.wait()
            return door(data)

        return ask

    first, second, *_ = votes(VOTING)
    doors = {name: listen(name, door) for name, door in honest(VOTING).items()}
    federation = Federation(VOTING, doors)
    releases = federation.ask_each({"C": second, "A": first}, round_number=3)
    assert heard == {"A": first, "C": second}
    assert {name: release.size for name, release in releases.items()} == {"A": 50, "C": 52}
    assert releases["A"].id == question(first, study=VOTING.hash, round_number=3).id
    assert releases["C"].id == question(second, study=VOTING.hash, round_number=3).id
    assert federation.traffic["B"].messages == 0
    assert federation.ask_each({}, round_number=4) == {}


def test_what_others_answered_is_kept_when_one_fails(honest: Honest, tmp_path: Path) -> None:
    """The others are charged once, and give the same answer again when all are asked anew."""
    first, second, *_ = votes(VOTING)
    doors = honest(VOTING)
    queries = {"A": first, "B": second, "C": second}
    answered: dict[str, bytes] = {}

    def kept(data: bytes) -> bytes:
        answered["C"] = doors["C"](data)
        return answered["C"]

    def dead(_data: bytes) -> bytes:
        raise TimeoutError

    with pytest.raises(HolderFailedError, match="holder B"):
        Federation(VOTING, {"A": doors["A"], "B": dead, "C": kept}).ask_each(queries, round_number=0)
    releases = Federation(VOTING, doors).ask_each(queries, round_number=0)
    assert encode(releases["C"]) == answered["C"]
    for name in "ABC":
        with Ledger.open(tmp_path / f"{name}.ledger") as ledger:
            assert (
                len([entry for entry in ledger.entries() if entry.kind == votes(VOTING)[0].__struct_config__.tag]) == 1
            )


def test_nobody_is_asked_if_a_query_is_for_a_stranger(honest: Honest) -> None:
    federation = Federation(VOTING, honest(VOTING))
    with pytest.raises(InternalError, match="a query is for D"):
        federation.ask_each({"A": votes(VOTING)[0], "D": votes(VOTING)[0]}, round_number=0)
    assert federation.traffic["A"].messages == 0


def test_a_holder_dies(honest: Honest) -> None:
    def dead(_data: bytes) -> bytes:
        raise ConnectionResetError("Jane Doe's machine")

    with pytest.raises(HolderFailedError, match=r"^holder B: did not answer \(ConnectionResetError\)$") as caught:
        Federation(INDEPENDENT, {**honest(INDEPENDENT), "B": dead}).ask(singles(INDEPENDENT), round_number=0)
    assert caught.value.exit_code == 4
    assert caught.value.holder == "B"


def test_a_holder_comes_back_and_the_run_is_resumed_free_of_charge(honest: Honest, tmp_path: Path) -> None:
    doors = honest(VOTING)
    asked = 0

    def dies_in_the_second_round(data: bytes) -> bytes:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise TimeoutError
        return doors["B"](data)

    federation = Federation(VOTING, {**doors, "B": dies_in_the_second_round})
    federation.ask(votes(VOTING)[0], round_number=0)
    with pytest.raises(HolderFailedError, match="holder B"):
        federation.ask(votes(VOTING)[1], round_number=1)
    again = Federation(VOTING, doors)
    for number, query in enumerate(script(VOTING)):
        again.ask(query, round_number=number)
    assert again.heads["A"].items() >= federation.heads["A"].items()
    for name in "ABC":
        with Ledger.open(tmp_path / f"{name}.ledger") as ledger:
            assert pure(ledger.summary().spent) == 1


@pytest.mark.parametrize("agreed", [INDEPENDENT, MODEL], ids=lambda agreed: agreed.strategy)
@pytest.mark.parametrize(("size", "believed"), [(2**31 - 1, True), (2**31, False), (2**53 - 1, False)])
def test_a_holder_with_more_people_than_a_table_has_is_named(
    agreed: Study, size: int, believed: bool, honest: Honest
) -> None:
    doors = honest(agreed)

    def boasts(data: bytes) -> bytes:
        found = decode_reply(doors["B"](data))
        assert isinstance(found, Release)
        return encode(msgspec.structs.replace(found, size=size))

    federation = Federation(agreed, {**doors, "B": boasts})
    (query,) = script(agreed)
    if believed:
        assert federation.ask(query, round_number=0)["B"].size == size
        return
    with pytest.raises(HolderFailedError, match=f"^holder B: answered garbage: it says it has {size:,} people"):
        federation.ask(query, round_number=0)


def test_a_holder_refuses(honest: Honest) -> None:
    other = study(name="other")
    doors = {**honest(INDEPENDENT), "C": honest(other)["C"]}
    with pytest.raises(HolderRefusedError) as caught:
        Federation(INDEPENDENT, doors).ask(singles(INDEPENDENT), round_number=0)
    assert (
        str(caught.value) == "holder C: refused (unknown-study): this holder has not agreed to a study with this hash"
    )
    assert (caught.value.exit_code, caught.value.code) == (3, "unknown-study")


def test_the_first_by_name_is_named(honest: Honest) -> None:
    def dead(_data: bytes) -> bytes:
        raise OSError

    doors = {"C": dead, **honest(INDEPENDENT), "B": dead}
    with pytest.raises(HolderFailedError, match="holder B"):
        Federation(INDEPENDENT, doors).ask(singles(INDEPENDENT), round_number=0)


def test_a_refusal_cannot_play_tricks_on_a_terminal() -> None:
    def rude(_data: bytes) -> bytes:
        return encode(Refusal("", "unavailable", "\x1b[2J\nerror: all is well"))

    with pytest.raises(HolderRefusedError) as caught:
        Federation(INDEPENDENT, {"A": rude}).ask(singles(INDEPENDENT), round_number=0)
    assert str(caught.value) == r"holder A: refused (unavailable): \x1b[2J error: all is well"


def test_the_stamp(honest: Honest) -> None:
    with open_gates(INDEPENDENT, {"A": table()}, simulate=1) as gates:
        with pytest.raises(HolderFailedError, match="holder A: answered with simulated noise"):
            Federation(INDEPENDENT, gates).ask(singles(INDEPENDENT), round_number=0)
        release = Federation(INDEPENDENT, gates, simulated=True).ask(singles(INDEPENDENT), round_number=0)["A"]
        assert not release.private
    with pytest.raises(HolderFailedError, match="secure noise"):
        Federation(INDEPENDENT, honest(INDEPENDENT), simulated=True).ask(singles(INDEPENDENT), round_number=0)


def test_nobody_to_ask() -> None:
    with pytest.raises(InputError, match="found none"):
        Federation(INDEPENDENT, {})


def lying(make: Callable[[Question], bytes]) -> dict[str, Ask]:
    return {"L": lambda data: make(decode_question(data))}


def always(data: bytes) -> dict[str, Ask]:
    return {"L": lambda _question: data}


def saying(answer: Answer) -> dict[str, Ask]:
    return lying(lambda asked: encode(Release(asked.id, 5, "0" * 64, private=True, answer=answer)))


def counts(*values: int) -> TablesAnswer:
    return TablesAnswer(pack_cells(np.array(values, dtype=np.int64)))


CLIPPED = msgspec.structs.replace(singles(INDEPENDENT), clip=True)
CHAIN = (Pair(0, ()), Pair(1, (0,)), Pair(2, (1,)), Pair(3, (2,)))
NINETEEN = pack_cells(np.zeros(2 + 6 + 6 + 4, dtype=np.int64))


@pytest.mark.parametrize(
    ("query", "answer", "reason"),
    [
        (singles(INDEPENDENT), counts(*range(8)), "8 counts came where 9"),
        (singles(INDEPENDENT), counts(*range(10)), "10 counts came where 9"),
        (singles(INDEPENDENT), counts(), "0 counts came where 9"),
        (singles(INDEPENDENT), TablesAnswer(Cells(2, bytes(17))), "8.5 counts came where 9"),
        (singles(INDEPENDENT), counts(*[2**53] * 9), "or more"),
        (singles(INDEPENDENT), counts(*[-(2**53)] * 9), "or more"),
        (singles(INDEPENDENT), ParentChoiceAnswer(Pair(1, (0,))), "another kind"),
        (CLIPPED, counts(*[-1] * 9), "negative"),
        (votes(VOTING)[1], counts(1), "another kind"),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(1, (0,))), "placed twice"),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(4, (0,))), "not in the schema"),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(2, (3,))), "not placed before"),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(2, (0, 0))), "comes twice"),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(2, (0, 1))), "2 parents where 1"),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(2, ())), "0 parents where 1"),
        (model(MODEL), ModelAnswer(CHAIN[:3], NINETEEN), "3 attributes came where 4"),
        (model(MODEL), ModelAnswer((CHAIN[1], *CHAIN[1:]), NINETEEN), "does not begin"),
        (model(MODEL), ModelAnswer((*CHAIN[:3], Pair(2, (1,))), NINETEEN), "placed twice"),
        (model(MODEL), ModelAnswer((*CHAIN[:3], Pair(3, (3,))), NINETEEN), "not placed before"),
        (model(MODEL), ModelAnswer((*CHAIN[:3], Pair(3, (0, 1))), NINETEEN), "2 parents where 1"),
        (model(MODEL), ModelAnswer(CHAIN, pack_cells(np.zeros(17, dtype=np.int64))), "17 counts came where 18"),
    ],
)
def test_answers_that_cannot_be(query: Query, answer: Answer, reason: str) -> None:
    with pytest.raises(HolderFailedError, match=r"^holder L: answered garbage: ") as caught:
        Federation(INDEPENDENT, saying(answer)).ask(query, round_number=0)
    assert reason in str(caught.value)


def test_answers_that_can_be() -> None:
    for query, answer in (
        (singles(INDEPENDENT), counts(*range(-4, 5))),
        (votes(VOTING)[1], ParentChoiceAnswer(Pair(2, (0,)))),
        (model(MODEL), ModelAnswer(CHAIN, NINETEEN)),
        (
            model(MODEL),
            ModelAnswer((*CHAIN[:3], Pair(3, ())), pack_cells(np.zeros(16, dtype=np.int64))),
        ),
    ):
        assert Federation(INDEPENDENT, saying(answer)).ask(query, round_number=0)["L"].answer == answer


def test_replies_to_another_question_and_bytes_that_are_none() -> None:
    elsewhere = lying(lambda _: encode(Release("0" * 64, 5, "0" * 64, private=True, answer=counts(*range(9)))))
    with pytest.raises(HolderFailedError, match="to another question"):
        Federation(INDEPENDENT, elsewhere).ask(singles(INDEPENDENT), round_number=0)
    foreign = lying(lambda _: encode(Refusal("0" * 64, "unavailable", "no")))
    with pytest.raises(HolderFailedError, match="to another question"):
        Federation(INDEPENDENT, foreign).ask(singles(INDEPENDENT), round_number=0)
    for garbage in (b"", b"\xff", b"Internal Server Error", encode(Refusal("", "malformed", "x")) + b"\0"):
        with pytest.raises(HolderFailedError, match="holder L: answered garbage"):
            Federation(INDEPENDENT, always(garbage)).ask(singles(INDEPENDENT), round_number=0)


def test_a_holder_contradicts_itself() -> None:
    """Another answer to the same question means fresh noise; another size, another table."""
    told = 0

    def fickle(asked: Question) -> bytes:
        nonlocal told
        told += 1
        return encode(Release(asked.id, 5, "0" * 64, private=True, answer=counts(*range(told, told + 9))))

    federation = Federation(INDEPENDENT, lying(fickle))
    federation.ask(singles(INDEPENDENT), round_number=0)
    with pytest.raises(HolderFailedError, match="answered differently before"):
        federation.ask(singles(INDEPENDENT), round_number=0)

    def growing(asked: Question) -> bytes:
        return encode(Release(asked.id, asked.round, "0" * 64, private=True, answer=counts(*range(9))))

    federation = Federation(INDEPENDENT, lying(growing))
    federation.ask(singles(INDEPENDENT), round_number=0)
    with pytest.raises(HolderFailedError, match="number of people changed"):
        federation.ask(singles(INDEPENDENT), round_number=1)


def test_mutated_replies_are_answers_or_errors_of_the_holder(honest: Honest) -> None:
    right: list[bytes] = []
    door = honest(MODEL)["A"]

    def overhear(data: bytes) -> bytes:
        right.append(door(data))
        return right[-1]

    Federation(MODEL, {"A": overhear}).ask(model(MODEL), round_number=0)
    outcomes = {"answer": 0, "garbage": 0}
    for data in mutations(right, 3_000, seed=4):
        try:
            Federation(MODEL, always(data)).ask(model(MODEL), round_number=0)
            outcomes["answer"] += 1
            decode_reply(data)
        except (HolderFailedError, HolderRefusedError):
            outcomes["garbage"] += 1
    assert outcomes["garbage"] > 2_000
