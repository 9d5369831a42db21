"""Whole lines out of pieces that end anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.formats.lines import LineBuffer

PIECES = st.lists(st.lists(st.sampled_from([b"ann", b"\n", b"bo", b"x" * 9, b"\r"]), max_size=5), max_size=8)


def put(buffer: LineBuffer, piece: bytes, taken: list[bytes]) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[buffer.put(rest) :]
        with buffer.whole() as lines:
            taken.append(bytes(lines))


def taken(pieces: list[bytes], size: int) -> list[bytes]:
    """The lines that come out, as one would lend them to a feed."""
    buffer, found = LineBuffer(size), list[bytes]()
    for piece in pieces:
        put(buffer, piece, found)
    assert all(lines == b"" or lines.endswith(b"\n") for lines in found)
    with buffer.whole(ended=True) as lines:
        found.append(bytes(lines))
    return b"".join(found).split(b"\n")


@given(PIECES)
def test_pieces_make_the_lines_of_the_whole(parts: list[list[bytes]]) -> None:
    pieces = [b"".join(part) for part in parts]
    assert taken(pieces, 1 << 10) == b"".join(pieces).split(b"\n")


@given(PIECES)
def test_lines_that_are_too_long_are_dropped_and_no_others(parts: list[list[bytes]]) -> None:
    pieces = [b"".join(part) for part in parts]
    every = [line for line in b"".join(pieces).split(b"\n") if line]
    kept = [line for line in taken(pieces, 8) if line]
    assert kept == [line for line in every if len(line) < 8]


def test_what_was_begun_is_overwritten_and_a_new_input_begins() -> None:
    buffer, found = LineBuffer(64), list[bytes]()
    room = buffer.room()
    put(buffer, b"somebody", found)
    assert bytes(room[:8]) == b"somebody"
    put(buffer, b"\nels", found)
    assert (found[-1], bytes(room[:12])) == (b"somebody\n", b"els" + bytes(9))
    put(buffer, b"x" * 200, found)
    buffer.wipe()
    assert not any(room)
    put(buffer, b"ann\n", found)
    assert found[-1] == b"ann\n"


def test_lines_after_one_that_was_too_long_are_read_as_spans_too() -> None:
    buffer, arena, read = LineBuffer(16), Arena(), list[bytes]()
    for piece in (b"x" * 16, b"yy\nann\n"):
        buffer.put(memoryview(piece))
        read += [
            bytes(batch.data[start : start + length])
            for batch in buffer.lines(arena)
            for start, length in zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True)
        ]
    assert read == [b"ann"]
