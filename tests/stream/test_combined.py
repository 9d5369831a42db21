"""Access logs: fields beside a reader by regular expression, and what becomes of lines that are none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes import DistinctCounter, Records
from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.formats.combined import COMBINED
from tests.stream.test_line_formats import texts_of

LINE = '{address} - {user} [16/Nov/2026:10:00:00 +0000] "{request}" {status} 512 "https://example.org/" "{agent}"\n'
FIELD = re.compile(rb'"((?:[^"\\]|\\.)*)"(?= |$)|\[([^\]]*)\](?= |$)|(?!["\[])([^ ]*)(?= |$)', re.DOTALL)


def line(address: str = "203.0.113.7", user: str = "-", request: str = "GET /a?b=1 HTTP/1.1", status: int = 200) -> str:
    return LINE.format(address=address, user=user, request=request, status=status, agent="Mozilla/5.0 (X11)")


def by_hand(text: bytes, place: int) -> bytes:
    """Return a field by a regular expression, empty where there is none."""
    at, text = 0, text.rstrip(b"\r\n")
    for number in range(place + 1):
        if at > len(text) or (at == len(text) and number > 0 and not text.endswith(b" ")) or at == len(text):
            return b""
        found = FIELD.match(text, at)
        if found is None:
            return b""
        if number == place:
            return next(group for group in found.groups() if group is not None)
        at = found.end() + 1
    return b""


def column(text: bytes, name: str) -> list[bytes]:
    assert COMBINED.of_lines is not None
    whole = np.frombuffer(text, dtype=np.uint8).copy()
    lines = text.split(b"\n")[:-1]
    lengths = np.array([len(one) for one in lines], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    found: list[bytes] = []
    for batch in COMBINED.of_lines(iter([Texts(whole, starts, lengths)]), name, (), Arena()):
        assert isinstance(batch, Texts)
        found += texts_of(batch)
    return found


def test_every_column_of_a_line() -> None:
    text = line(user="ann").encode()
    names = ("address", "user", "time", "method", "path", "status", "bytes", "referer", "agent", "address+agent")
    assert [column(text, name)[0].decode() for name in names] == [
        "203.0.113.7",
        "ann",
        "16/Nov/2026:10:00:00 +0000",
        "GET",
        "/a",
        "200",
        "512",
        "https://example.org/",
        "Mozilla/5.0 (X11)",
        "203.0.113.7\x1fMozilla/5.0 (X11)",
    ]


@given(
    st.lists(
        st.lists(st.sampled_from([b"a", b'"', b"\\", b"[", b"]", b" ", b"-", b"bc", b"\r"]), max_size=14), max_size=4
    )
)
def test_fields_are_those_that_an_expression_finds(parts: list[list[bytes]]) -> None:
    text = b"".join(b"".join(part) + b"\n" for part in parts)
    for name, place in (("address", 0), ("user", 2), ("time", 3), ("status", 5)):
        expected = [by_hand(one, place) for one in text.split(b"\n")[:-1]]
        assert column(text, name) == [b"" if one == b"-" else one for one in expected]


def test_what_lacks_one_of_two_columns_has_no_id() -> None:
    text = '1.2.3.4 - - [t] "GET / HTTP/1.1" 200 5 "-" "-"\n' + line() + "no line\n"
    assert column(text.encode(), "address+agent") == [b"", b"203.0.113.7\x1fMozilla/5.0 (X11)", b""]


def test_visitors_of_a_log_are_counted_with_a_filter(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    lines = [line(f"10.0.{i // 250}.{i % 250}", status=200 if i % 2 else 404) for i in range(2_000)]
    log.write_text("".join([*lines, *lines[:500]]), encoding="utf-8")
    with DistinctCounter(epsilon=60, expect=2_000, where=["status=200"]) as counter:
        for batch in batches(str(log), form="combined", column="address+agent", fields=["status"]):
            assert isinstance(batch, Records)
            counter.update(batch)
        assert counter.estimate().users == pytest.approx(1_000, rel=0.1)


@pytest.mark.parametrize("name", [None, "", "adress", "address+", "address+agent+path"])
def test_columns_that_no_log_has_are_refused(tmp_path: Path, name: str | None) -> None:
    (tmp_path / "a.log").write_text(line(), encoding="utf-8")
    with pytest.raises(InputError, match="--column"):
        list(batches(str(tmp_path / "a.log"), form="combined", column=name))
