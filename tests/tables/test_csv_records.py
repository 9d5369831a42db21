"""CSV files: one record's bytes change no other record, and nothing below the header refuses the file."""

from __future__ import annotations

import csv
import io
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.sources import csv_lines
from panbayes.tables.sources.dispatch import read_columns, read_frame
from panbayes.tables.table import Table
from tests.effort import often, soak

Row = tuple[str | None, ...]
NAMES = "abcdefgh"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "t.csv"


def read(path: Path, body: bytes, fields: int) -> list[Row]:
    path.write_bytes(",".join(NAMES[:fields]).encode() + b"\n" + body)
    return read_frame(path, argument="t").rows()


def strict(text: str) -> list[str] | None:
    """The fields of a record whose quotes are sound, else None, by a machine that goes letter by letter."""
    fields, state, field = [], "start", ""
    for letter in [*text, ",end"]:
        if state == "quoted":
            if letter == ",end":
                return None
            state, field = ("closing", field) if letter == '"' else (state, field + letter)
        elif letter[0] == ",":
            fields.append(field)
            state, field = "start", ""
        elif state == "closing":
            if letter != '"':
                return None
            state, field = "quoted", field + letter
        elif letter == '"':
            if state != "start":
                return None
            state = "quoted"
        else:
            state, field = "plain", field + letter
    return fields


def by_the_rules(body: str, fields: int, most: int | None = None) -> list[Row]:
    """What the module's first lines say, one line after the other; a line that is NUL alone was too long."""
    lines = body.removesuffix("\n").split("\n") if body else []
    rows: list[Row] = []
    at = 0
    while at < len(lines):
        line, last = lines[at], at
        found = strict(line) if line != "\0" else [""] * (fields + 1)
        if line.count('"') % 2 == 1:
            odd = [i for i in range(at + 1, len(lines)) if lines[i].count('"') % 2 == 1]
            together = lines[at : odd[0] + 1] if odd else []
            joined = strict("\n".join(together))
            if "\0" in together or sum(len(one) + 1 for one in together) > (most or 10**9):
                odd = []
            alike = all(one.count(",") + 1 == fields for one in together)
            if odd and joined is not None and len(joined) == fields and not alike:
                found, last, line = joined, odd[0], "\n".join(together)
        if found is None:
            found = line.split(",")
            found = found if len(found) == fields else []
            rows.append(tuple(field or None for field in found) or (None,) * fields)
        elif len(found) > fields:
            rows.append((None,) * fields)
        else:
            rows.append(tuple(_empty(line, found)) + (None,) * (fields - len(found)))
        at = last + 1
    return rows


def _empty(line: str, fields: Sequence[str]) -> list[str | None]:
    """An empty field is missing, unless it is quoted."""
    plain, at = [], 0
    for field in fields:
        quoted = line.startswith('"', at)
        plain.append(field if field or quoted else None)
        at += len(field) + field.count('"') + 2 + 1 if quoted else len(field) + 1
    return plain


@pytest.mark.parametrize(
    ("fields", "letters", "length"),
    [(1, 'a",\n', 3), (2, 'a",\n', often(3, 7)), (2, '",\n', often(4, 8)), (3, '",\n', often(4, 8))],
)
def test_every_short_file_is_read_by_the_rules(fields: int, letters: str, length: int, place: Path) -> None:
    read_every_file(fields, letters, length, place)


def read_every_file(fields: int, letters: str, length: int, place: Path) -> None:
    """Hold every body of at most so many letters against the rules."""
    for size in range(length + 1):
        for text in itertools.product(letters, repeat=size):
            body = "".join(text)
            assert read(place, body.encode(), fields) == by_the_rules(body, fields), body


TABLES = [
    (1, ["x", "", '"y"', "z"]),
    (2, ["1,x", '2,"a,b"', '3,"say ""hi"""', ",", "5,y"]),
    (3, ["1,x,p", '"2","y","q"', "3,,", '4,"",r']),
]


@pytest.mark.parametrize(("fields", "lines"), TABLES)
def test_any_bytes_in_one_record_change_no_other(fields: int, lines: list[str], place: Path) -> None:
    """Brute force: every line replaced by every text of up to two letters, in soak of four."""
    replace_every_line(fields, lines, place, [range(len(lines))] * often(3, 5))


def replace_every_line(fields: int, lines: list[str], place: Path, places: Sequence[range]) -> None:
    """Replace the lines at ``places[size]`` by every text of ``size`` letters, and look at all the others."""
    before = read(place, "".join(f"{line}\n" for line in lines).encode(), fields)
    assert len(before) == len(lines)
    for size, at_all in enumerate(places):
        for letters in itertools.product([b"a", b",", b'"', b"\r", b"\0", b"\xff"], repeat=size):
            if size > 3 and b"\0" in letters:
                continue  # bytes that mean nothing to CSV are tried often enough
            for at in at_all:
                changed = [line.encode() for line in lines]
                changed[at] = b"".join(letters)
                after = read(place, b"".join(line + b"\n" for line in changed), fields)
                assert len(after) == len(before)
                assert [row for i, row in enumerate(after) if i != at] == [
                    row for i, row in enumerate(before) if i != at
                ], changed[at]


@settings(max_examples=often(40, 200))
@given(lines=st.lists(st.binary(max_size=12), min_size=1, max_size=4), places=st.sets(st.integers(0, 19), min_size=4))
def test_many_spoilt_records_change_no_sound_one(lines: list[bytes], places: set[int]) -> None:
    table = [f"{i},x,y".encode() for i in range(20)]
    spoilt = dict(zip(sorted(places), (line.replace(b"\n", b"") for line in lines), strict=False))
    # Together these may be a value with line breaks, soundly written, which nobody could tell from it.
    assume(sum(line.count(b'"') % 2 for line in spoilt.values()) < 2)
    with tempfile.TemporaryDirectory() as folder:
        rows = read(Path(folder) / "t.csv", b"".join(spoilt.get(i, table[i]) + b"\n" for i in range(20)), 3)
    assert len(rows) == 20
    assert all(row == (str(i), "x", "y") for i, row in enumerate(rows) if i not in spoilt)


STRAYS = ['"x,y,z', 'x,"y,z', 'x,y,"z', 'x",y,z', 'x,y",z', 'x,y,z"', 'x,y"y,z']


def test_two_stray_quotes_swallow_nobody(place: Path) -> None:
    for first, second in itertools.product(STRAYS, repeat=2):
        lines = [f"{i},b,c" for i in range(150)]
        lines[30], lines[120] = first, second
        rows = read(place, "".join(f"{line}\n" for line in lines).encode(), 3)
        assert [row for i, row in enumerate(rows) if i not in (30, 120)] == [
            (str(i), "b", "c") for i in range(150) if i not in (30, 120)
        ], (first, second)
        assert rows[30] == tuple(first.split(",")), "quotes are letters where they are no quotes"


def test_a_line_belongs_to_one_record_only(place: Path) -> None:
    body = 'a,b,"\n"\nx",b,c\n1,2,3\n'
    assert read(place, body.encode(), 3) == [("a", "b", "\n"), ('x"', "b", "c"), ("1", "2", "3")]


def test_a_value_with_line_breaks_is_one_value(place: Path) -> None:
    note = 'first line\nsecond, "quoted"\n\n\r\nlast line,\n'
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(
        [i, note if i % 3 else "plain", i] for i in range(often(6_000, 60_000))
    )
    rows = read(place, written.getvalue().encode(), 3)
    assert rows == [(str(i), note if i % 3 else "plain", str(i)) for i in range(often(6_000, 60_000))]


@settings(max_examples=often(60, 300))
@given(
    cells=st.lists(
        st.tuples(*[st.text('a",\n é', max_size=6)] * 4).filter(lambda row: any(row)), min_size=1, max_size=5
    ),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_a_csv_writer_wrote_is_read_as_it_was(cells: list[tuple[str, ...]], quoting: Literal[0, 1]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(cells)
    for row in cells:
        alone = io.StringIO()
        csv.writer(alone, lineterminator="\n", quoting=quoting).writerow(row)
        lines = alone.getvalue().removesuffix("\n").split("\n")
        # The one exception: a value with line breaks whose every line looks like a record.
        odd = [line for line in lines if line.count('"') % 2 == 1]
        assume(not odd or any(line.count(",") != 3 for line in lines))
    with tempfile.TemporaryDirectory() as folder:
        rows = read(Path(folder) / "t.csv", text.getvalue().encode(), 4)
    assert [tuple(value or "" for value in row) for row in rows] == cells


def test_a_value_whose_every_line_looks_like_a_record_is_read_as_such_lines(place: Path) -> None:
    """The limit that SECURITY.md tells: nobody can tell it from two stray quotes."""
    assert read(place, b'1,"a\n2,b"\n3,c\n', 2) == [("1", '"a'), ("2", 'b"'), ("3", "c")]
    assert read(place, b'"l\nm"\n', 1) == [('"l',), ('m"',)]


ONE = Schema("s", (Attribute("a", categories=("1", "2"), missing="missing"),))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_missing_value_at_the_end_drops_nobody(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for last in (b"2", b"", b"?", b'""'):
        path.write_bytes(end.join([b"a", b"1", b"", b"1", last, b""]))
        assert Table.read(path, ONE).records == 4


SEXES = Schema(
    "s",
    (
        Attribute("sex", categories=("F", "M"), other="other", missing="missing"),
        Attribute("age", bins=(0, 50, 100), missing="missing"),
    ),
)
SPOILT = {
    "short": (b"M", [1, 2]),
    "long": (b"F,1,2", [3, 2]),
    "quote": (b'F,"1', [0, 2]),
    "two quotes": (b'"F" x,1', [2, 0]),
    "nul": (b"F,\0", [0, 2]),
    "latin": (b"\xe9,1", [2, 0]),
    "empty": (b"", [3, 2]),
    "return": (b'\r"', [3, 2]),
    "digits": (b"F," + b"9" * 5000, [0, 1]),
}


def test_a_spoilt_record_is_counted_and_refuses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for name, (line, codes) in SPOILT.items():
        for at, end in itertools.product((0, 1, 2), (b"\n", b"\r\n")):
            lines = [b"F,10", b'"M",60', b"M,"]
            expected = [[0, 0], [1, 1], [1, 2]]
            lines[at], expected[at] = line, codes
            path.write_bytes(end.join([b"sex,age", *lines, b""]))
            assert Table.read(path, SEXES).codes.T.tolist() == expected, (name, at, end)


@soak
def test_a_wide_header_is_read_in_time(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{i}" for i in range(20_000)) + "\n" + "1," * 19_999 + "1\n")
    assert read_columns(path, ["c7", "c19999"], argument="t").rows() == [("1", "1")]
    schema = Schema("s", tuple(Attribute(f"c{i}", categories=("1", "2")) for i in range(2_000)))
    assert Table.read(path, schema).records == 1


def test_no_records_are_no_error_where_their_number_is_private(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n")
    for source in (path, pl.DataFrame({"a": pl.Series([], dtype=pl.String)})):
        table = Table.read(source, ONE, may_be_empty=True)
        assert (table.records, table.codes.shape) == (0, (1, 0))


@settings(max_examples=often(40, 200))
@given(body=st.text('ab",\n', max_size=30), fields=st.integers(1, 3), block=st.integers(0, 9), piece=st.integers(1, 9))
@example(body='a,"b\nb"\nc,d\n', fields=2, block=0, piece=3)
@example(body='a,"b\nb"\n"c,\nd",e\n', fields=2, block=4, piece=6)
def test_the_size_of_the_blocks_does_not_matter(body: str, fields: int, block: int, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(csv_lines, "_BLOCK", block)
        patch.setattr(csv_lines, "_PIECE", piece)
        assert read(Path(folder) / "t.csv", body.encode(), fields) == by_the_rules(body, fields)


def test_learning_tells_nobody_that_there_are_no_records_where_their_number_is_private(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n")
    network = learn(
        tmp_path / "t.csv", ONE, epsilon=1, adjacency="add-remove", holder="north", state=tmp_path / "ledgers"
    )
    assert network.schema.names == ("a",)
    with pytest.raises(InputError, match="holds no records"):
        learn(tmp_path / "t.csv", ONE, epsilon=1, holder="north", state=tmp_path / "ledgers")
