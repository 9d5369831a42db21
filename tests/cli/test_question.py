from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.cli.question import parse_evidence, parse_question
from panbayes.errors import InputError

words = st.text(min_size=1, max_size=12)


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(
    st.lists(words, min_size=1, max_size=4, unique=True),
    st.dictionaries(words, words, max_size=4),
    st.sampled_from(["", " "]),
)
def test_anything_can_be_quoted(targets: list[str], evidence: dict[str, str], space: str) -> None:
    evidence = {name: value for name, value in evidence.items() if name not in targets}
    text = f",{space}".join(map(quote, targets))
    if evidence:
        given_part = f"{space},".join(f"{quote(n)}{space}={space}{quote(v)}" for n, v in evidence.items())
        text += f"{space}|{space}{given_part}"
    assert parse_question(text) == (tuple(targets), evidence)


@given(st.text(max_size=30))
def test_nothing_else_than_an_input_error(text: str) -> None:
    with suppress(InputError):
        targets, _ = parse_question(text)
        assert targets


@pytest.mark.parametrize(
    "bad", ["", "|", "a|", "a|b", "a,,b", "a|b=1,b=2", "a=1", "a|a=1", '"a', "a|b=1|c=2", "a|=1", 'a "b"', "a|b==1"]
)
def test_unreadable_questions(bad: str) -> None:
    with pytest.raises(InputError, match="question: "):
        parse_question(bad)


def test_evidence_from_several_options() -> None:
    assert parse_evidence(["a=1", 'b="x, y", c=2'], argument="--given") == {"a": "1", "b": "x, y", "c": "2"}
    with pytest.raises(InputError, match='--given: "a" is given twice'):
        parse_evidence(["a=1", "a=2"], argument="--given")
