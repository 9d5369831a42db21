"""Lines of an input that comes in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.service import lines as module
from panbayes.service.lines import Lines

PIECES = st.lists(
    st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\n\n", b"", b"\r\n", b"x" * 9]), max_size=6), max_size=8
)


def taken(pieces: list[bytes], *, ended: bool = True) -> list[bytes]:
    lines, found = Lines(), b""
    for piece in pieces:
        whole = bytes(lines.add(piece))
        assert whole == b"" or whole.endswith(b"\n")
        found += whole
    return (found + (bytes(lines.end()) if ended else b"")).split(b"\n")


@given(PIECES)
def test_pieces_make_the_lines_of_the_whole(parts: list[list[bytes]]) -> None:
    pieces = [b"".join(part) for part in parts]
    assert taken(pieces) == b"".join(pieces).split(b"\n")


@given(PIECES)
def test_lines_that_are_too_long_are_dropped_and_no_others(parts: list[list[bytes]]) -> None:
    pieces = [b"".join(part) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONGEST", 4)
        found = taken(pieces)
    kept = [line for line in found if line]
    every = [line for line in b"".join(pieces).split(b"\n") if line]
    # Whether a long line is dropped depends on how it was cut; a short one never is, and nothing new appears.
    assert all(line in every for line in kept)
    assert [line for line in kept if len(line) <= 4] == [line for line in every if len(line) <= 4]


def test_what_is_kept_of_a_line_is_bounded() -> None:
    lines = Lines()
    for _ in range(100):
        assert not lines.add(b"x" * 10_000)
        assert len(lines.begun) <= module.LONGEST
    assert bytes(lines.add(b"x\nann\nbo")) == b"ann\n"
    assert bytes(lines.end()) == b"bo"


def test_what_was_begun_is_overwritten() -> None:
    lines = Lines()
    lines.add(b"somebody")
    held = lines.begun
    lines.add(b"\n")
    assert not any(held)
