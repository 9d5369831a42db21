"""The messages' bytes: stable, strict, and garbage is never anything but malformed."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.consortium.protocol.answers import Answer
from panbayes.consortium.protocol.cells import Cells, pack_cells, unpack_cells
from panbayes.consortium.protocol.codec import (
    MAX_QUESTION_BYTES,
    MalformedError,
    WrongIdError,
    decode_question,
    decode_reply,
    encode,
)
from panbayes.consortium.protocol.envelope import Question, Reply, question
from panbayes.consortium.protocol.queries import Query, kind_of, ratio
from tests.consortium.protocol import examples
from tests.consortium.protocol.mutation import mutations

GOLDEN = Path(__file__).parent / "golden"
ALL: dict[str, Question | Reply] = {**examples.QUESTIONS, **examples.REPLIES}


@pytest.mark.parametrize("name", ALL)
def test_golden_bytes(name: str) -> None:
    """If this fails, the wire format has changed: give it a new tag instead. PANBAYES_GOLDEN=1 writes missing files."""
    path = GOLDEN / f"{name}.hex"
    written = encode(ALL[name]).hex()
    if os.environ.get("PANBAYES_GOLDEN") and not path.exists():
        path.write_text("\n".join(written[i : i + 100] for i in range(0, len(written), 100)) + "\n")
    golden = bytes.fromhex(path.read_text())
    assert written == golden.hex()
    decoder: Callable[[bytes], Question | Reply] = decode_question if name in examples.QUESTIONS else decode_reply
    assert decoder(golden) == ALL[name]


def test_no_golden_file_without_its_message() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(ALL)


# As the first version that was released wrote them; attributes may be renamed, these may not.
QUERIES_ON_THE_WIRE = {
    "linear": ("placed", "degree", "sides", "means", "mechanism", "epsilon"),
    "counts": ("sets", "epsilon", "clip"),
    "vote": ("placed", "degree", "score", "mechanism", "epsilon"),
    "model": ("first", "degree", "theta", "score", "mechanism", "structure_epsilon", "tables_epsilon", "clip"),
    "tables": ("privacy", "adjacency", "groupings", "views", "weights", "loss", "centred", "radii"),
    "choices": (
        "privacy",
        "adjacency",
        "groupings",
        "candidates",
        "expected",
        "rule",
        "taken",
        "counts",
        "least",
        "look",
        "loss",
        "target",
    ),
}
ANSWERS_ON_THE_WIRE = {
    "counts": ("cells",),
    "vote": ("pair",),
    "model": ("pairs", "cells"),
    "tables": ("cells",),
    "choices": ("count", "taken"),
}
MESSAGES_ON_THE_WIRE = {
    "release": ("id", "size", "ledger", "private", "answer"),
    "refusal": ("id", "code", "text"),
}


@pytest.mark.parametrize(
    ("union", "names"),
    [(Query, QUERIES_ON_THE_WIRE), (Answer, ANSWERS_ON_THE_WIRE), (Reply, MESSAGES_ON_THE_WIRE)],
    ids=["queries", "answers", "replies"],
)
def test_tags_and_names_of_fields(union: object, names: dict[str, tuple[str, ...]]) -> None:
    """A kind may be added, with a tag of its own; none of these goes away or changes its fields."""
    kinds = get_args(union)
    found = {
        kind.__struct_config__.tag: tuple(field.encode_name for field in msgspec.structs.fields(kind)) for kind in kinds
    }
    assert len(found) == len(kinds), "two kinds share a tag"
    assert {tag: found.get(tag) for tag in names} == names


@pytest.mark.parametrize("name", examples.QUERIES)
def test_golden_questions_say_the_same_without_our_types(name: str) -> None:
    """Read as plain MessagePack: what another program, or an older version, finds in the bytes."""
    plain = msgspec.msgpack.decode(bytes.fromhex((GOLDEN / f"question-{name}.hex").read_text()))
    assert sorted(plain) == ["id", "query", "round", "study"]
    tag = plain["query"].pop("type")
    assert tag == name.partition("-")[0] == kind_of(examples.QUERIES[name])
    without = {"choices": {"target"}, "tables": {"centred", "radii"}, "tables-radii": {"centred"}}.get(name, set())
    assert set(plain["query"]) == set(QUERIES_ON_THE_WIRE[tag]) - without, "no target, nothing centred: no word of it"


def test_the_golden_tables_and_candidates_are_where_they_were() -> None:
    """The tables of a query are "views" in the bytes; a candidate is its axes, its penalty and, lately, its price."""
    tables, choices = (
        msgspec.msgpack.decode(bytes.fromhex((GOLDEN / f"question-{name}.hex").read_text()))["query"]
        for name in ("tables", "choices")
    )
    assert choices["candidates"] == [[[0, 1], 12, 6], [[3, 0, 2], 0, 16], [[3, 0, 2, 1], 70_000, 0]]
    assert choices["counts"] == [[1, 4], [300, 70_000]]
    assert tables["views"] == [list(axes) for axes in examples.TABLES.tables] == [[], [0], [1, 0]]


@given(examples.questions)
def test_questions_round_trip(message: Question) -> None:
    assert decode_question(encode(message)) == message


@given(examples.replies)
def test_replies_round_trip(message: Reply) -> None:
    assert decode_reply(encode(message)) == message


@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 1), max_size=20))
def test_cells_round_trip_in_the_fewest_bytes(values: list[int]) -> None:
    cells = pack_cells(np.array(values, dtype=np.int64))
    assert unpack_cells(cells).tolist() == values
    narrower = {4: 15, 8: 31}.get(cells.width)
    assert narrower is None or max(map(abs, values)) >= 2**narrower


def test_cells_that_are_not_whole() -> None:
    with pytest.raises(ValueError, match="whole"):
        unpack_cells(Cells(4, b"12345"))


@given(examples.queries, examples.digests, st.integers(0, 100))
def test_the_id_says_study_round_and_query(query: Query, study: str, number: int) -> None:
    made = question(query, study=study, round_number=number)
    assert made == question(query, study=study, round_number=number)
    assert made.id != question(query, study=study, round_number=number + 1).id
    assert made.id != question(query, study="0" * 64, round_number=number).id or study == "0" * 64


def test_an_id_of_another_content() -> None:
    message = msgspec.structs.replace(examples.QUESTIONS["question-vote"], round=7)
    with pytest.raises(WrongIdError) as caught:
        decode_question(encode(message))
    assert caught.value.id == message.id


def rewritten(**changes: object) -> bytes:
    """A question with fields of our choice, right id or not."""
    content = msgspec.to_builtins(examples.QUESTIONS["question-counts"])
    query = {**content["query"], **{k[6:]: v for k, v in changes.items() if k.startswith("query_")}}
    top = {k: v for k, v in changes.items() if not k.startswith("query_")}
    return msgspec.msgpack.encode({**content, "query": query, **top})


@pytest.mark.parametrize(
    "changes",
    [
        {"more": 1},
        {"query_more": 1},
        {"round": -1},
        {"round": 2**31},
        {"round": 1.0},
        {"round": "1"},
        {"id": "A" * 64},
        {"id": "a" * 63},
        {"query_type": "code"},
        {"query_type": "model"},
        {"query_sets": []},
        {"query_sets": [[]]},
        {"query_sets": [list(range(10))]},
        {"query_sets": [[-1]]},
        {"query_sets": [[10_000]]},
        {"query_sets": [[True]]},
        {"query_clip": 1},
        {"query_epsilon": 1},
        {"query_epsilon": 0.5},
        {"query_epsilon": "0"},
        {"query_epsilon": "-1"},
        {"query_epsilon": "1/0"},
        {"query_epsilon": "1.5"},
        {"query_epsilon": "1e9"},
        {"query_epsilon": "1/3\n"},
        {"query_epsilon": "9" * 31},
    ],
    ids=str,
)
def test_strictness(changes: dict[str, object]) -> None:
    assert decode_question(rewritten()) == examples.QUESTIONS["question-counts"]
    with pytest.raises(MalformedError) as caught:
        decode_question(rewritten(**changes))
    assert not isinstance(caught.value, WrongIdError), "it decoded, and only its id was wrong"


@pytest.mark.parametrize("name", ALL)
def test_one_message_has_one_encoding(name: str) -> None:
    """Other bytes that say the same (keys in another order, a key twice, wide numbers, a tail) are refused."""
    data = encode(ALL[name])
    decode: Callable[[bytes], Question | Reply] = decode_question if name in examples.QUESTIONS else decode_reply
    plain = msgspec.msgpack.decode(data)
    turned = msgspec.msgpack.encode(dict(reversed(plain.items())))
    first = next(iter(plain))
    pair = msgspec.msgpack.encode(first) + msgspec.msgpack.encode(plain[first])
    twice = bytes([data[0] + 1]) + pair + data[1:]
    wide = b"\xde" + (data[0] & 0x0F).to_bytes(2, "big") + data[1:]
    for other in (turned, twice, wide, data + b"\0", data[:-1], b"", b"\x00" + data):
        with pytest.raises(MalformedError):
            decode(other)


def changed_choices(name: str, value: object) -> bytes:
    content = msgspec.msgpack.decode(encode(examples.QUESTIONS["question-choices"]))
    return msgspec.msgpack.encode({**content, "query": {**content["query"], name: value}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("counts", []),
        ("counts", [[1, 0]] * 33),
        ("counts", [[0, 0]]),
        ("counts", [[100_001, 0]]),
        ("counts", [[1, -1]]),
        ("counts", [[1, 2**31]]),
        ("counts", [[1]]),
        ("counts", [[1, 0, 0]]),
        ("candidates", []),
        ("candidates", [[[0, 1], 0]]),
        ("candidates", [[[0, 1], 0, -1]]),
        ("candidates", [[[0, 1], 0, 2**31]]),
        ("candidates", [[[0, 1], -1, 0]]),
        ("candidates", [[[0, 1], 2**31, 0]]),
        ("candidates", [[[0, 1, 2, 3, 4], 0, 0]]),
        ("rule", "once"),
        ("least", -1),
        ("least", 2**31),
        ("least", 0.5),
        ("look", "0"),
        ("look", "0/5"),
        ("look", "1/0"),
        ("look", "-1/2"),
        ("look", 0.5),
        ("picks", 3),
    ],
)
def test_a_choice_out_of_range_is_malformed(name: str, value: object) -> None:
    decode_question(encode(examples.QUESTIONS["question-choices"]))
    with pytest.raises(MalformedError) as caught:
        decode_question(changed_choices(name, value))
    assert not isinstance(caught.value, WrongIdError), "it decoded, and only its id was wrong"


@pytest.mark.parametrize(
    ("name", "value"),
    [("counts", [[1, 0]] * 32), ("counts", [[100_000, 2**31 - 1]]), ("least", 2**31 - 1), ("look", "9" * 30)],
)
def test_a_choice_within_range_decodes(name: str, value: object) -> None:
    """Only its id is that of another question."""
    with pytest.raises(WrongIdError):
        decode_question(changed_choices(name, value))


def test_too_many_bytes() -> None:
    with pytest.raises(MalformedError, match="more than"):
        decode_question(bytes(MAX_QUESTION_BYTES + 1))


@pytest.mark.parametrize(
    "data", [b"\x91" * 100_000, b"\x81\xa1a" * 50_000, b"\xa4\xff\xfe\xfd\xfc"], ids=["[", "{", "utf"]
)
def test_depth_and_bad_text(data: bytes) -> None:
    for decode in (decode_question, decode_reply):
        with pytest.raises(MalformedError):
            decode(data)


def test_a_hundred_thousand_mutations_are_malformed_or_messages() -> None:
    fuzz(100_000, seed=1)


def fuzz(count: int, *, seed: int) -> None:
    """Whatever decodes is a message whose bytes these are; whatever does not is MalformedError and nothing else."""
    questions = [encode(message) for message in examples.QUESTIONS.values()]
    replies = [encode(message) for message in examples.REPLIES.values()]
    for seeds, decode in ((questions, decode_question), (replies, decode_reply)):
        decoded = longest = 0
        for data in mutations(seeds, count // 2, seed=seed):
            try:
                message = decode(data)
            except MalformedError as error:
                longest = max(longest, len(str(error)))
            else:
                assert encode(message) == data
                decoded += 1
        assert decoded < count // 10
        assert longest < 500


def test_ratios_are_in_lowest_terms() -> None:
    assert ratio(Fraction(2, 1806)) == "1/903"
    assert ratio(Fraction(3)) == "3"
