"""CSV and NDJSON by compiled loops, against the parsers of Python and msgspec, line by line."""

from __future__ import annotations

import csv
import json
import os
import select
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids import arena as arena_module
from panbayes.stream.ids.arena import Arena, private_memory
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.formats import lines as lines_module
from panbayes.stream.ids.formats.lines import line_batches
from panbayes.stream.ids.kernels.csv_fields import take_csv_fields
from panbayes.stream.ids.kernels.json_fields import NESTING, take_json_fields
from panbayes.stream.ids.stopping import Stop
from tests.effort import often


def texts_of(batch: object) -> list[bytes]:
    assert isinstance(batch, Texts)
    spans = zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True)
    return [batch.data[start : start + length].tobytes() for start, length in spans]


def laid_out(lines: list[bytes]) -> Texts:
    """Lines as the reader has them: in one buffer that can be written, with a line break after each."""
    lengths = np.array([len(line) for line in lines], dtype=np.int64)
    data = np.frombuffer(b"\n".join([*lines, b""]), dtype=np.uint8).copy()
    return Texts(data, np.cumsum(lengths + 1) - lengths - 1, lengths)


def csv_field(line: bytes, place: int) -> bytes:
    try:
        row = next(csv.reader([line.decode()], strict=True), [])
    except csv.Error:
        return b""
    return row[place].encode() if len(row) > place else b""


def csv_fields(lines: Texts, place: int) -> list[bytes]:
    """One field of lines, taken beside the one before it: each is there once, and the quotes of both are undone."""
    starts, lengths = np.empty((2, lines.size), dtype=np.int64), np.empty((2, lines.size), dtype=np.int64)
    places = np.array([max(place - 1, 0), place])
    take_csv_fields(lines.data, lines.starts, lines.lengths, places, starts, lengths)
    return texts_of(Texts(lines.data, starts[1], lengths[1]))


csv_lines = st.text(st.sampled_from('a,"\r \u00e91'), max_size=14).map(str.encode)


@settings(max_examples=often(400, 2000))
@given(st.lists(csv_lines, max_size=6), st.integers(0, 3))
def test_csv_lines_are_read_as_python_reads_each_of_them(lines: list[bytes], place: int) -> None:
    spans = laid_out(lines)
    assert csv_fields(spans, place) == [csv_field(line, place) for line in lines]


def test_every_short_csv_line_is_read_as_python_reads_it() -> None:
    """All lines of up to six of the five characters that matter."""
    lines = [b""]
    for _ in range(6):
        lines += [line + c for line in lines for c in (b"a", b",", b'"', b"\r", b" ") if len(line) < 6]
    lines = sorted(set(lines))
    assert len(lines) == sum(5**n for n in range(7))
    for place in (0, 1, 2):
        spans = laid_out(lines)
        assert csv_fields(spans, place) == [csv_field(line, place) for line in lines]


def json_field(line: bytes, name: str) -> bytes:
    record = msgspec.defstruct("Line", [("field", str | int | None, None)], rename={"field": name})
    try:
        value = getattr(msgspec.json.decode(line, type=record), "field", None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return b""
    return str(value).encode("utf-8", "surrogatepass") if value is not None else b""


_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ID = msgspec.json.Decoder(str | int | None)


def json_record(line: bytes, names: Sequence[str]) -> list[bytes]:
    """An id and other fields of one line, as msgspec reads them; nothing of a line that cannot be read."""
    try:
        found = _RAW.decode(line)
        one = _ID.decode(found[names[0]]) if names[0] in found else None
        return [b"" if one is None else str(one).encode(), *(json_value(found.get(name)) for name in names[1:])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [b""] * len(names)


def json_value(written: msgspec.Raw | None) -> bytes:
    raw = b"" if written is None else bytes(written)
    if raw.startswith(b'"'):
        return msgspec.json.decode(raw, type=str).encode()
    return b"" if raw[:1] in b"n[{" else raw


def fast_json_fields(lines: list[bytes], *names: str) -> list[list[bytes]]:
    """For every name what the loop finds in the lines."""
    spans, wanted = laid_out(lines), Texts.of(names)
    starts = np.empty((len(names), len(lines)), dtype=np.int64)
    lengths = np.empty_like(starts)
    take_json_fields(
        spans.data, spans.starts, spans.lengths, wanted.data, wanted.starts, wanted.lengths,
        np.empty(len(names), dtype=np.uint8), np.empty(NESTING, dtype=np.uint64), starts, lengths,
    )  # fmt: skip
    return [texts_of(Texts(spans.data, *rows)) for rows in zip(starts, lengths, strict=True)]


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(0, 10**18),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["id", "i", "idd", "x", "\u00e9"]), values, max_size=4)
spaces = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r ")])
damage = st.one_of(
    st.none(),
    st.tuples(
        st.integers(0, 60), st.sampled_from([b"", b'"', b"}", b"]", b",", b":", b"\\", b"0", b"e", b"\xff", b" "])
    ),
)


@settings(max_examples=often(200, 1000))
@given(objects, spaces, st.booleans(), damage)
@example({"id": None}, (",", ":"), True, None)
@example({"x": [[], {}, {"a": []}], "id": 5}, (",", ":"), True, None)
def test_ndjson_lines_are_read_as_msgspec_reads_them(
    record: dict[str, object], separators: tuple[str, str], ascii_only: bool, broken: tuple[int, bytes] | None
) -> None:
    """Whole, and with one byte replaced, put in or taken out."""
    line = json.dumps(record, separators=separators, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    if broken is not None:
        place, byte = broken
        line = line[:place] + byte + line[place + 1 :]
    line = line.replace(b"\n", b" ")
    assert fast_json_fields([line], "id") == [[json_field(line, "id")]]
    names = ("id", "x", "\u00e9", "id")
    assert [found for (found,) in fast_json_fields([line], *names)] == json_record(line, names)


ODD_LINES = [
    b'{"id":"ann","x":[1,{"a":null},true,false,-1.5]}', b' { "x" : { } , "id" : 907 } ', b'{"id":1,"id":2}',
    '{"id":"Am\u00e9lie \u20ac \U0001f600"}'.encode(), b'{"id":1,"id":null}', b'{"idd":1}', b"{}",
    b'{"id":"a\\n"}', b'{"i\\u0064":"a"}', b'{"id":-1}', b'{"id":1.0}', b'{"id":1e3}', b'{"id":01}',
    b'{"id":"a"', b'{"id":"a"}}', b'{"id":"a"},', b'["id"]', b"", b'{"id":"\xff"}', b'{"id":"\xed\xa0\x80"}',
    b'{"id":"\xc0\xaf"}', b'{"id":"\xe0\x80\xaf"}', b'{"id":"\xf0\x80\x80\xaf"}', b'{"x":[1},"id":2}',
    b'{"x":{"a":1],"id":2}', b'{"id":"\xf4\x90\x80\x80"}', b'{"id":1,}', b'{"id":true}', b'{"id":[1]}', b'{"x":01}',
    b'{"x":1.}', b'{"x":-}', b'{"x":nul}', b'{"x":[1,]}', b'{"x":{"a"}}', b'{"x":{"a":1,}}', b'{"x":[1}', b'{"id"}',
    b'{"x":' + b"[" * 900 + b"]" * 900 + b',"id":5}', b'{"id":1234567890123456789}', b'{"id":"a\tb"}', b'{"x":1e400}',
    b'{"x":' + b"[" * 1100 + b"]" * 1100 + b',"id":5}', b'{"id":-0}', b'{"id":-00}', b'{"id":0}', b'{"id":null,"x":-0}',
    b'{"id":' + b"9" * 4300 + b"}", b'{"id":' + b"9" * 4301 + b"}", b'{"id":-' + b"9" * 4300 + b"}",
    b'{"x":1,"id":true,"id":1}', b'{"id":[],"id":1,"x":"\\u00e9"}', b'{"x":"\xff","id":7}', b'{"\xff":1,"id":7}',
    b'{"x":"\xff","x":1,"id":7}', b'{"id":"\xff","id":7}', b'{"id":"\\u0000"}', b'{"id":1}\x00',
    b'\xef\xbb\xbf{"id":1}',
    b'{"x":"\\\\","id":"\\"\\/\\b\\f\\n\\r\\t"}', b'{"id":"\xc3\\u00a9"}', b'{"id":NaN}', b'{"id":+1}', b'{"x":1e+}',
    *(
        form.replace(b"@", text)
        for form in (b'{"id":"@"}', b'{"x":"@","id":7}', b'{"@":1,"id":7}', b'{"y":["@"],"id":7}')
        for text in (
            b"\\ud83d\\ude00", b"\\uD83D\\uDE00x", b"\\ude00", b"\\ud800", b"\\ud800x", b"\\ud800\\u0041", b"\\u12g4",
            b"\\ud800\\ud800", b"\\q", b"\\", b"\\u00e9\\u0301", b"\\ud800\\n12345", b"\\u 123", b"a\x1fb", b"a\x7fb",
        )
    ),
]  # fmt: skip


def test_rare_ndjson_lines_are_read_as_msgspec_reads_them() -> None:
    assert fast_json_fields(ODD_LINES, "id") == [[json_field(line, "id") for line in ODD_LINES]]
    for names in (("id", "x"), ("id", "\u00e9", "id"), ("x", "id", "x")):
        found = fast_json_fields(ODD_LINES, *names)
        assert list(map(list, zip(*found, strict=True))) == [json_record(line, names) for line in ODD_LINES]


def test_lines_that_are_not_plain_are_read_beside_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "in.ndjson"
    path.write_bytes(b'{"id":"a"}\n{"id":"b\\u00e9"}\n{broken\n{"id":3}\n{"id":-4}\n')
    found = [text for batch in batches(str(path), column="id") for text in texts_of(batch)]
    assert sorted(found) == sorted([b"a", "b\u00e9".encode(), b"", b"3", b"-4"])


@pytest.mark.parametrize("size", [16, 64, 1 << 22])
def test_batches_of_any_size_have_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Lines that cross the ends of batches, with a byte-order mark before them and without a line break at the end."""
    monkeypatch.setattr(lines_module, "BATCH", size)
    rows = [b"%d,%d" % (i, i * i) for i in range(200)]
    path = tmp_path / "in.csv"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(rows))
    found = [text for batch in batches(str(path), column="2") for text in texts_of(batch)]
    assert found == [b"%d" % (i * i) for i in range(200)]
    first = [text for batch in batches(str(path), column="1") for text in texts_of(batch)]
    assert first == [b"%d" % i for i in range(200)]


def test_a_line_longer_than_the_buffer_is_dropped_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "BATCH", 64)
    path = tmp_path / "in"
    path.write_bytes(b"a\n" + b"x" * 300 + b"\nb\n")
    assert [text for batch in batches(str(path)) for text in texts_of(batch)] == [b"a", b"b"]


def test_lengths_and_places_of_past_lines_do_not_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither while the next batch is worked on, nor when whoever reads stops in the middle."""
    monkeypatch.setattr(lines_module, "BATCH", 64)
    path = tmp_path / "in"
    path.write_bytes(b"ann\nbob\n" * 8 + b"somebody.with.a.long.name.that.fills.a.batch@example.org\n" + b"eve\n")
    stop = Stop()
    reading = line_batches(str(path), stop, Arena())
    first = next(reading)
    assert first.lengths.all()
    second = next(reading)
    assert (first.lengths.size, second.lengths.size) == (16, 2)
    assert not first.lengths[2:].any()
    reading.close()
    for batch in (first, second):
        assert not any(array.any() for array in (batch.data, batch.starts, batch.lengths))
    stop.close()


def test_asked_to_stop_a_reader_hands_over_whole_lines_and_drops_the_beginning_of_one() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"12\n34\n56")
    stop, found = Stop(), []

    def ask_when_read() -> None:
        while select.select([reader], [], [], 0)[0]:
            time.sleep(0.01)
        stop.ask()

    threading.Thread(target=ask_when_read).start()
    # The writer stays open: nothing but the wish ends the reading.
    for batch in line_batches(f"/dev/fd/{reader}", stop, Arena()):
        found += texts_of(batch)
    assert found == [b"12", b"34"]
    os.close(writer)
    os.close(reader)
    stop.close()


def test_a_reader_that_waits_for_its_first_line_is_woken() -> None:
    reader, writer = os.pipe()
    stop = Stop()
    threading.Timer(0.2, stop.ask).start()
    assert list(line_batches(f"/dev/fd/{reader}", stop, Arena())) == []
    os.close(writer)
    os.close(reader)
    stop.close()


def test_a_header_may_come_after_lines_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'\n"broken\nid,x\n7,8\n')
    assert [text for batch in batches(str(path), column="id") for text in texts_of(batch)] == [b"7"]
    with pytest.raises(InputError, match="exactly once"):
        list(batches(str(path), column="y"))


@pytest.mark.parametrize("number", ["9" * 20, "9" * 5000])
def test_a_number_that_no_column_has_is_the_users_mistake(tmp_path: Path, number: str) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="does not name"):
        list(batches(str(tmp_path / "in.csv"), column=number))


def test_an_error_that_somebody_keeps_keeps_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its frames hold the reader of the lines, which would end, and overwrite them, when the error is let go."""
    path, memory = tmp_path / "in.csv", list[NDArray[np.uint8]]()
    path.write_bytes(b"id,x\nsomebody,8\n")

    def seen(size: int) -> NDArray[np.uint8]:
        memory.append(private_memory(size))
        return memory[-1]

    for module in (arena_module, lines_module):
        monkeypatch.setattr(module, "private_memory", seen)
    with pytest.raises(InputError, match="exactly once") as kept:
        list(batches(str(path), column="y"))
    assert len(memory) == 2
    assert kept.value.__traceback__ is not None
    assert not any(array.any() for array in memory)
