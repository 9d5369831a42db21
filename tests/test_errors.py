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
    nearest,
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
        assert str(error).isprintable()


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
