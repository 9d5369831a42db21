from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import (
    HolderFailedError,
    HolderRefusedError,
    HolderWaitingError,
    InputError,
    InternalError,
    can_be_seen,
    nearest,
    visible,
)

anything = st.text(max_size=30)


@given(anything, anything, anything)
def test_a_message_is_one_visible_line_whatever_it_quotes(one: str, two: str, three: str) -> None:
    for error in (
        InputError(one, found=two, remedy=three),
        HolderFailedError(one, two),
        HolderRefusedError(one, code=two, text=three),
        HolderWaitingError(one, two, three),
        InternalError(one),
    ):
        assert can_be_seen(str(error))


HIDDEN = {
    "a soft hyphen": 0x00AD,
    "a joiner of graphemes": 0x034F,
    "an Arabic mark": 0x061C,
    "a Hangul filler": 0x3164,
    "a Hangul filler of half width": 0xFFA0,
    "a Hangul filler for what comes first": 0x115F,
    "a Hangul filler for a vowel": 0x1160,
    "a Khmer vowel": 0x17B4,
    "a Mongolian selector": 0x180B,
    "a blank of no width": 0x200B,
    "right to left": 0x202E,
    "an isolate": 0x2066,
    "an empty Braille cell": 0x2800,
    "a selector": 0xFE0F,
    "a mark of byte order": 0xFEFF,
    "a note without a head": 0x1D159,
    "a tag": 0xE0041,
    "a further selector": 0xE0100,
    "a blank that does not break": 0x00A0,
    "a wide blank": 0x3000,
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_shows_nothing_is_written_out(name: str) -> None:
    hidden = chr(HIDDEN[name])
    assert not can_be_seen(f"nor{hidden}th")
    told = visible(f"nor{hidden}th")
    assert told == f"nor{hidden.encode('unicode_escape').decode()}th"
    assert can_be_seen(told)


def test_what_shows_something_stays_as_it_is() -> None:
    for text in ("north", "Größe ≤ 5 µg", "北", "שלום", "a b", "한글", "⠿", "é", "ε = 1/3"):
        assert can_be_seen(text)
        assert visible(text) == text


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("insuline", ["age", "insulin"], 'did you mean "insulin"?'),
        ("AGE", ["wage", "age"], 'did you mean "age"?'),
        ("dose", ["age", "insulin"], "known: age, insulin"),
        ("dose", [f"x{i}" for i in range(8)], "known: x0, x1, x2, x3, x4, x5, x6, x7"),
        ("dose", [f"x{i}" for i in range(9)], "known: x0, x1, x2, x3, x4, x5, x6, x7, …"),
    ],
)
def test_the_nearest_name_or_what_is_known(name: str, known: list[str], said: str) -> None:
    assert nearest(name, iter(known)) == said
