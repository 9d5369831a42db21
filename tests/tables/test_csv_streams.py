"""CSV files as people have them: separators, encodings, ends of lines, compression; and what they may not do."""

from __future__ import annotations

import bz2
import codecs
import gzip
import itertools
import lzma
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.tables.sources import compression, csv_lines
from panbayes.tables.sources.compression import COMPRESSED
from panbayes.tables.sources.dispatch import open_source, read_columns, read_frame
from panbayes.tables.sources.file import ENCODINGS, File
from tests.effort import often, soak
from tests.tables.test_csv_records import by_the_rules


def zstandard(data: bytes) -> bytes:
    packed: Any = pa.Codec("zstd").compress(data, asbytes=True)
    return bytes(packed)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard,
}


def rows(path: Path, content: bytes, **how: Any) -> list[tuple[Any, ...]]:
    path.write_bytes(content)
    return read_frame(File(path, **how), argument="t").rows()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_the_header_shows_the_separator_and_the_ends_of_lines(end: str, tmp_path: Path) -> None:
    for name, separator in (("t.csv", ","), ("t.csv", ";"), ("t.txt", "\t"), ("t", "|"), ("t", ","), ("t.csv", "\t")):
        lines = [["sex", "age", "city"], ["F", "25,3" if separator != "," else "25", "x y"], ["M", "", "z"]]
        text = end.join(separator.join(line) for line in lines)
        for last in (end, ""):
            (tmp_path / name).write_bytes((text + last).encode())
            with open_source(tmp_path / name, argument="t") as opened:
                assert opened.columns == ("sex", "age", "city")
                assert opened.decimal_comma == (separator != ",")
            found = read_frame(tmp_path / name, argument="t").rows()
            assert [tuple(value and value.rstrip("\r") for value in row) for row in found] == [
                tuple(value or None for value in line) for line in lines[1:]
            ], (name, separator, last)


HEADERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "more of one than of another": ("a,b;c;d", ("a,b", "c", "d")),
    "as many: names hold commas": ("weight, kg;height, cm;age", ("weight, kg", "height, cm", "age")),
    "quotes do not count": ('"a;b;c;d",e', ("a;b;c;d", "e")),
    "quotes over two lines": ('"a;;\n;b",c,d', ("a;;\n;b", "c", "d")),
    "one column": ("age", ("age",)),
    "blanks around names": (" sex ,  age", ("sex", "age")),
    "names that differ by blanks": ("a, a", ("a", " a")),
    "as spreadsheets say it": ("sep=;\na,x,y;b", ("a,x,y", "b")),
    "as spreadsheets say it, in quotes": ('"sep=|"\r\na;x;y|b', ("a;x;y", "b")),
    "blank lines on top": ("\n  \r\nsex,age", ("sex", "age")),
    "separators at the end": ("a,b,,", ("a", "b", "")),
    "names that are blank alone": (", ,\t", ("", " ", "\t")),
    "a separator in a name": ('"a,b",c', ("a,b", "c")),
    "a quote in a name": ('"na""me",b', ('na"me', "b")),
    "a return in a name": ('"a\rb",c', ("a\rb", "c")),
}


def test_what_a_header_shows(tmp_path: Path) -> None:
    for name, (header, columns) in HEADERS.items():
        for end in ("\n", "\r\n"):
            (tmp_path / "t.csv").write_bytes(f"{header}{end}1{end}".encode())
            with open_source(tmp_path / "t.csv", argument="t") as opened:
                assert opened.columns == columns, name
        assert read_columns(tmp_path / "t.csv", columns[:1], argument="t").rows() == [("1",)], name


def test_separators_at_the_end_of_every_line(tmp_path: Path) -> None:
    assert rows(tmp_path / "t.csv", b"a;b;;\n1;2;;\n3;4;;\n") == [("1", "2", None), ("3", "4", None)]


def test_a_name_is_found_with_and_without_its_blanks(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex, age\nF, 1\n")
    assert read_columns(tmp_path / "t.csv", ["age", "sex"], argument="t").rows() == [(" 1", "F")]
    assert read_columns(tmp_path / "t.csv", [" age"], argument="t").rows() == [(" 1",)]


def test_the_records_decide_nothing(tmp_path: Path) -> None:
    """Semicolons, returns and other bytes below the header change their own record alone."""
    before = rows(tmp_path / "t.csv", b"a,b\n1,2\n3,4\n")
    for record in (b"1;2;3;4;5", b"\r\r\r", b"\xff\xfe", b"sep=;", b"\xef\xbb\xbf", b"\0\0", b"PAR1", b"\x1f\x8b"):
        after = rows(tmp_path / "t.csv", b"a,b\n" + record + b"\n3,4\n")
        assert len(after) == 2
        assert after[1] == before[1]


TEXTS = {"latin-1": "é", "cp1252": "€", "iso8859-15": "€", "shift_jis": "表", "gb18030": "表", "utf-16-le": "表é"}


def test_a_declared_encoding(tmp_path: Path) -> None:
    for encoding, letter in TEXTS.items():
        for end in ("\n", "\r\n", "\r"):
            name = f"n{letter}"
            content = end.join([f"{name};b", f'"{name}{end};";2', ";"]).encode(encoding)
            value = f"{name}{end};" if end != "\r" else f"{name}\n;"
            assert rows(tmp_path / "t.csv", content, encoding=encoding) == [(value, "2"), (None, None)], (encoding, end)


def test_a_byte_order_mark_shows_unicode(tmp_path: Path) -> None:
    for encoding, declared in itertools.product(("utf-8", "utf-16-le", "utf-16-be"), ("utf-8", "utf-16")):
        (tmp_path / "t.csv").write_bytes("\ufeffsex;ü\r\nF;表\r\n".encode(encoding))
        found = read_frame(File(tmp_path / "t.csv", encoding=declared), argument="t").rows(named=True)
        assert found == [{"sex": "F", "ü": "表"}], (encoding, declared)


def test_no_byte_takes_a_line_break_with_it() -> None:
    """In every encoding that may be declared, and whatever stands before: a line ends where it ends."""
    for encoding in ENCODINGS:
        if encoding.startswith("utf-16"):
            continue
        singles = [bytes([byte]) for byte in range(256)]
        starts = singles + [bytes(pair) for pair in itertools.product(range(0x80, 0x100), range(0x30, 0x100, 3))]
        starts += [bytes([a, b, c]) for a in (0x81, 0x8F, 0xFE) for b in (0x30, 0x39, 0xA1) for c in range(0x80, 0x100)]
        text = b"\n".join(starts) + b"\nend"
        decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
        lines = decoder.decode(text, final=True).split("\n")
        assert len(lines) == len(starts) + (2 if b"\n" in starts else 1), encoding
        assert lines[-1] == "end"
        assert "".join(decoder.decode(bytes([byte])) for byte in b'"\r\n,;\t|') == '"\r\n,;\t|', encoding
    for half in (b"\x00\xd8", b"\xff\xff", b"\x00\xdc"):
        assert (half + b"\n\0e\0").decode("utf-16-le", "backslashreplace").endswith("\ne")


DECLARED: list[tuple[dict[str, Any], str]] = [
    ({"encoding": "utf-7"}, 'encoding: found "utf-7"; did you mean'),
    ({"encoding": "cp037"}, 'encoding: found "cp037"'),
    ({"encoding": "rot13"}, 'encoding: found "rot13"'),
    ({"separator": ":"}, 'separator: found ":"; give one of: comma, semicolon, tab, pipe'),
    ({"header": False, "separator": ","}, "columns: is not given for a file without a header"),
    ({"header": False, "columns": 0}, "columns: is not given"),
    ({"header": False, "columns": -3}, "columns: found -3; give a number from 1 to"),
    ({"header": False, "columns": ["a", "a"]}, "columns: has a name twice"),
    ({"header": False, "columns": ["a", ""]}, "columns: has a name twice or an empty one"),
    ({"columns": ["a"]}, "columns: is given for a file with a header"),
]


def test_what_cannot_be_declared() -> None:
    for how, message in DECLARED:
        with pytest.raises(InputError, match=re.escape(message)):
            File("t.csv", **how)


REFUSED: list[tuple[bytes, dict[str, Any], str]] = [
    ("n;é\n".encode("latin-1"), {}, "is not UTF-8 text; declare its encoding, such as latin-1"),
    ("a,b\n".encode("utf-16-le"), {}, "is a binary file; give a CSV file; if it is one in UTF-16, declare"),
    (b"a,b\n1,2\n", {"encoding": "utf-16"}, "has no byte-order mark, which utf-16 needs; declare the encoding as"),
    (
        b"\xef\xbb\xbfa,b\n",
        {"encoding": "latin-1"},
        "begins with a byte-order mark of utf-8, but iso8859-1 is declared",
    ),
    (b"1,2\n", {"header": False, "columns": 2}, "has no header that would show the separator; declare it"),
]


@pytest.mark.parametrize(("content", "how", "message"), REFUSED)
def test_what_a_file_is_refused_for(content: bytes, how: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^t: {re.escape(message)}"):
        rows(tmp_path / "t.csv", content, **how)


def test_a_file_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    content = b"a;1\n\nb;2;3\nc"
    named = [("a", "1"), (None, None), (None, None), ("c", None)]
    assert rows(path, content, header=False, separator="semicolon", columns=["x", "y"]) == named
    file = File(path, header=False, separator=";", columns=2)
    assert read_columns(file, ["column_2"], argument="t").to_series().to_list() == ["1", None, None, None]


def test_the_first_record_of_a_file_without_a_header_decides_nothing(tmp_path: Path) -> None:
    starts = [b"PAR1", b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"PK\3\4", b"sep=;"]
    for start in (*starts, b"", b"\r", b"a\rb", b"%PDF", b"{\\rtf", b"ARROW1\0\0"):
        for encoding in ("utf-8", "latin-1"):
            content = start + b"\n1,2\n3,4\n"
            found = rows(tmp_path / "t.csv", content, header=False, separator=",", columns=2, encoding=encoding)
            assert len(found) == 3
            assert found[1:] == [("1", "2"), ("3", "4")]
    assert rows(tmp_path / "t.csv", b"", header=False, separator=",", columns=2) == []
    packed = gzip.compress(b"1,2\n")
    assert rows(tmp_path / "t.csv.gz", packed, header=False, separator=",", columns=2) == [("1", "2")]
    with pytest.raises(InputError, match="is a damaged or truncated archive"):
        rows(tmp_path / "t.csv.gz", b"1,2\n", header=False, separator=",", columns=2)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_a_compressed_file(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that hardly compress fill several pieces of what is unpacked."""
    monkeypatch.setattr(compression, "_PIECE", 1 << 12)
    numbers = np.random.default_rng(1).integers(0, 10**12, 6_000).tolist()
    plain = b"who\tsex\n" + b"".join(b"%d\tF\n" % number for number in numbers)
    packed = PACKERS[suffix](plain)
    assert len(packed) > 1 << 14
    (tmp_path / f"t.csv{suffix}").write_bytes(packed)
    assert read_frame(tmp_path / f"t.csv{suffix}", argument="t")["who"].to_list() == [str(number) for number in numbers]
    for name in ("t.csv", f"T.TSV{suffix.upper()}", "t"):
        (tmp_path / name).write_bytes(PACKERS[suffix](plain[:100]))
        assert read_frame(tmp_path / name, argument="t")["who"].to_list()[:2] == [str(number) for number in numbers[:2]]
    (tmp_path / f"two.csv{suffix}").write_bytes(packed + PACKERS[suffix](b"x\tM\n"))
    assert read_frame(tmp_path / f"two.csv{suffix}", argument="t").rows()[-1] == ("x", "M")
    for damage in (packed[: len(packed) // 2], packed[:-1], packed[:20]):
        (tmp_path / "cut.csv").write_bytes(damage)
        with pytest.raises(InputError, match=r"^t: is a damaged or truncated archive; compress it again"):
            read_frame(tmp_path / "cut.csv", argument="t")


def test_a_compressed_parquet_file_is_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(b"PAR1" + b"\0" * 90))
    with pytest.raises(InputError, match="t: is a compressed Parquet file; unpack it first"):
        read_frame(tmp_path / "t.parquet.gz", argument="t")


@settings(max_examples=often(40, 200))
@given(body=st.text('ab",\n', max_size=40), fields=st.integers(1, 3), piece=st.integers(1, 6), most=st.integers(6, 12))
@example(body='"\nabcdefgh\n"\n', fields=1, piece=3, most=8)
@example(body='a,"b\nb\nb,"\n', fields=2, piece=6, most=6)
@example(body='a,"b\nb\nb,"\n', fields=2, piece=3, most=12)
@example(body='a,"b\nb\nb,"\n', fields=2, piece=3, most=11)
def test_a_record_that_is_too_long_is_missing(
    body: str, fields: int, piece: int, most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By brute force: lines over the limit are spoilt, and no longer records are put together."""
    path = tmp_path_factory.mktemp("long") / "t.csv"
    text = body if body.endswith("\n") or not body else body + "\n"
    short = [line if len(line) < most else "\0" for line in text.split("\n")[:-1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "MAX_RECORD", most)
        patch.setattr(csv_lines, "_PIECE", piece)
        path.write_bytes(body.encode())
        names = tuple("abc"[:fields])
        found = read_frame(File(path, header=False, separator=",", columns=names), argument="t").rows()
    assert found == by_the_rules("".join(f"{line}\n" for line in short), fields, most)


BOMB = """
import gzip, sys
from panbayes.tables.sources.dispatch import open_source
from tests.tables.file_fuzz import peak_memory
with gzip.open(sys.argv[1], "wb", compresslevel=1) as file:
    file.write(b"a,b\\n1,2\\n" + sys.argv[2].encode().decode("unicode_escape").encode())
    for _ in range(400):
        file.write(b"x" * 1_000_000)
    file.write(b"\\n3,4\\n")
with open_source(sys.argv[1], argument="t") as opened:
    rows = [row for batch in opened.batches(["a", "b"]) for row in batch.frame().rows()]
print(rows, peak_memory())
"""


@soak
@pytest.mark.parametrize("start", ["", '5,"', "5,6\\n"])
def test_a_record_without_end_takes_little_memory(start: str, tmp_path: Path) -> None:
    """400 MB of one value: bytes enough to tell whether memory grows with them."""
    run = subprocess.run(
        [sys.executable, "-c", BOMB, str(tmp_path / "t.csv.gz"), start],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    found, _, peak = run.stdout.strip().rpartition(" ")
    between = [("5", "6")] if "6" in start else []
    assert found == repr([("1", "2"), *between, (None, None), ("3", "4")])
    assert int(peak) < 380


def test_a_byte_order_mark_below_the_header_is_a_letter_wherever_pieces_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files put together have them in the middle; how long other records are must not decide what they say."""
    content = "a,b\n\ufeffx,1\ny,2\n\ufeffx,3\n\ufeff\n\ufeff\ufeffx,4\n".encode()
    marked = [("\ufeffx", "1"), ("y", "2"), ("\ufeffx", "3"), ("\ufeff", None), ("\ufeff\ufeffx", "4")]
    for piece in (1, 5, 1 << 22):
        monkeypatch.setattr(csv_lines, "_PIECE", piece)
        assert rows(tmp_path / "t.csv", content) == marked, piece
