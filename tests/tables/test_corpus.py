"""Files as people have them: each gives the right codes, or one line that names the cure.

Every file is a row of the table below: what it is, its name and bytes, how it is declared, and what comes of it. All of
them hold the same three records, so that a slip shows; the last number is a record that is spoilt where one is.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sqlite3
import zipfile
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pytest

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.sources.file import File
from panbayes.tables.table import Table
from tests.tables.workbooks import workbook

SCHEMA: Final = Schema(
    "countries",
    (
        Attribute("country", categories=("Chile", "Österreich", "Yugoslavia"), other="other", missing="missing"),
        Attribute("age", categories=(31, 47, 68), other="other", missing="missing"),
    ),
)
CODES: Final = [[0, 0], [1, 1], [2, 2]]
"""Chile 31, Österreich 47, Yugoslavia 68."""

TEXT: Final = "country,age\nChile,31\nÖsterreich,47\nYugoslavia,68\n"
FRAME: Final = pl.DataFrame({"country": ["Chile", "Österreich", "Yugoslavia"], "age": [31, 47, 68]})
Codes = list[list[int]]
SPOILT: Final = [3 + 1, 3 + 1]


def written(suffix: str) -> bytes:
    stream = io.BytesIO()
    FRAME.write_parquet(stream) if suffix == ".parquet" else FRAME.write_ipc(stream)
    return stream.getvalue()


def zipped(name: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, TEXT)
    return stream.getvalue()


def zstandard(data: bytes) -> bytes:
    packed: Any = pa.Codec("zstd").compress(data, asbytes=True)
    return bytes(packed)


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (country text)")
    return connection.serialize()


EUROPE: Final = TEXT.replace(",", ";")
RAW: Final = TEXT.encode()

CORPUS: Final[dict[str, tuple[str, bytes, dict[str, Any], Codes | str]]] = {
    "as it should be": ("t.csv", RAW, {}, CODES),
    "blanks after commas": ("t.csv", TEXT.replace(",", ", ").encode(), {}, CODES),
    "blanks on both sides, and tabs": ("t.csv", TEXT.replace(",", " \t, ").encode(), {"separator": "comma"}, CODES),
    "blanks after commas, before texts": ("t.csv", b"age, country\n31, Chile\n68, Yugoslavia\n", {}, [[0, 0], [2, 2]]),
    "blanks within quotes": ("t.csv", b'country,age\n" Yugoslavia "," 68"\n', {}, [[2, 2]]),
    "Windows lines": ("t.csv", TEXT.replace("\n", "\r\n").encode(), {}, CODES),
    "old Macintosh lines": ("t.csv", TEXT.replace("\n", "\r").encode(), {}, CODES),
    "lines converted twice": ("t.csv", TEXT.replace("\n", "\r\r\n").encode(), {}, CODES),
    "no line break at the end": ("t.csv", RAW[:-1], {}, CODES),
    "blank lines on top": ("t.csv", b"\n\n" + RAW, {}, CODES),
    "a blank line at the end": ("t.csv", RAW + b"\n", {}, [*CODES, SPOILT]),
    "European, as Excel writes it": ("t.csv", b"\xef\xbb\xbf" + EUROPE.replace("\n", "\r\n").encode(), {}, CODES),
    "European, with the separator on top": ("t.csv", f"sep=;\r\n{EUROPE}".encode(), {}, CODES),
    "European numbers": ("t.csv", b"country;age\nChile;31,0\nYugoslavia;68,00\n", {}, [[0, 0], [2, 2]]),
    "words among numbers": ("t.csv", b"country,age\nChile,unknown\nYugoslavia,68\n", {}, [[0, 4], [2, 2]]),
    "tabs, under another name": ("t.txt", TEXT.replace(",", "\t").encode(), {}, CODES),
    "pipes, as laboratories send them": ("t.dat", TEXT.replace(",", "|").encode(), {}, CODES),
    "Unicode text of Excel": ("t.txt", TEXT.replace(",", "\t").encode("utf-16"), {}, CODES),
    "big-endian Unicode": ("t.csv", b"\xfe\xff" + TEXT.encode("utf-16-be"), {}, CODES),
    "everything in quotes": ("t.csv", re.sub(r"[^,\n]+", r'"\g<0>"', TEXT).encode(), {}, CODES),
    "row numbers without a name": ("t.csv", b",country,age\n0,Chile,31\n", {}, [[0, 0]]),
    "separators at the end of every line": ("t.csv", TEXT.replace("\n", ",,\n").encode(), {}, CODES),
    "columns in another order, and more": (
        "t.csv",
        b"age,x,country\n31,1,Chile\n47,2,\xc3\x96sterreich\n",
        {},
        CODES[:2],
    ),
    "Latin-1, declared": ("t.csv", EUROPE.encode("latin-1"), {"encoding": "latin-1"}, CODES),
    "an old code page, declared": ("t.csv", TEXT.encode("cp850"), {"encoding": "cp850"}, CODES),
    "Latin-1, not declared": ("t.csv", TEXT.encode("latin-1"), {}, [[0, 0], [3, 1], [2, 2]]),
    "Latin-1 in the header": (
        "t.csv",
        "Größe,age\n1,2\n".encode("latin-1"),
        {},
        "declare its encoding, such as latin-1",
    ),
    "no header, declared": (
        "t.csv",
        RAW.partition(b"\n")[2],
        {"header": False, "separator": "comma", "columns": ("country", "age")},
        CODES,
    ),
    "no header, not declared": ("t.csv", RAW.partition(b"\n")[2], {}, 'has no columns "country", "age"'),
    "a stray quote": ("t.csv", RAW + b'Ch"ile,31\n', {}, [*CODES, [3, 0]]),
    "a quote that never ends": ("t.csv", RAW[:12] + b'"Chile,31\n' + RAW[12:], {}, [[3, 0], *CODES]),
    "a NUL": ("t.csv", RAW + b"Chi\0le,31\n", {}, [*CODES, [3, 0]]),
    "too many values": ("t.csv", RAW + b"Chile,31,1\n", {}, [*CODES, SPOILT]),
    "too few values": ("t.csv", RAW + b"Chile\n", {}, [*CODES, [0, 4]]),
    "a value over two lines": ("t.csv", RAW + b'"Chi\nle",31\n', {}, [*CODES, [3, 0]]),
    "gzip": ("t.csv.gz", gzip.compress(RAW), {}, CODES),
    "gzip under another name": ("t.csv", gzip.compress(EUROPE.encode()), {}, CODES),
    "Zstandard": ("t.csv.zst", zstandard(RAW), {}, CODES),
    "bzip2": ("t.csv.bz2", bz2.compress(RAW), {}, CODES),
    "xz": ("t.tsv.xz", lzma.compress(TEXT.replace(",", "\t").encode()), {}, CODES),
    "half a gzip file": (
        "t.csv.gz",
        gzip.compress(RAW)[:-9],
        {},
        "is a damaged or truncated archive; compress it again",
    ),
    "Parquet": ("t.parquet", written(".parquet"), {}, CODES),
    "Parquet under another name": ("t.dat", written(".parquet"), {}, CODES),
    "half a Parquet file": ("t.parquet", written(".parquet")[:-9], {}, "is a damaged or truncated Parquet file"),
    "Arrow": ("t.arrow", written(".arrow"), {}, CODES),
    "Excel": ("t.xlsx", workbook({"first": [["country", "age"], *FRAME.rows()]}), {}, CODES),
    "Excel, the second sheet": (
        "t.xlsx",
        workbook({"notes": [["read me"]], "data": [["country", "age"], *FRAME.rows()]}),
        {"sheet": "data"},
        CODES,
    ),
    "a ZIP archive": ("t.zip", zipped("t.csv"), {}, "is a ZIP archive, which is not read; unpack it"),
    "an Excel workbook of old": (
        "t.xls",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99,
        {},
        "save it as .xlsx or CSV",
    ),
    "a text that is called .xls": ("t.xls", TEXT.replace(",", "\t").encode(), {}, CODES),
    "SQLite": (
        "t.db",
        database(),
        {},
        "is an SQLite database, which is not read; give its address: sqlite://FILE?table=NAME",
    ),
    "JSON": ("t.json", b'[{"country": "Chile", "age": 31}]', {}, "is a JSON file, which is not read; export the table"),
    "JSON under another name": ("t.csv", b'{"country": "Chile"}\n', {}, "is a JSON file, which is not read"),
    "JSON in a list": ("t.txt", b'[{"country": "Chile"}]', {}, "is a JSON file, which is not read"),
    "HL7": ("t.hl7", b"MSH|^~\\&|LAB\rPID|1||7\r", {}, "is an HL7 message, which is not read; export the table as CSV"),
    "blanks between quoted values": (
        "t.txt",
        b'"country" "age"\n"Chile" 31\n',
        {},
        "semicolon, tab or pipe between names",
    ),
    "lines above the header": ("t.csv", b"Report\n\n" + RAW, {}, "see that the first line of a file is its header"),
    "SPSS": ("t.sav", b"$FL2@(#)" + b"\0" * 99, {}, "is an SPSS table, which is not read; export the table"),
    "Stata": ("t.dta", b"<stata_dta><header>", {}, "is a Stata table, which is not read; export the table"),
    "SAS": ("t.sas7bdat", b"\0" * 12 + b"\xc2\xea\x81\x60" + b"\0" * 99, {}, "is a SAS table, which is not read"),
    "a PDF": ("t.pdf", b"%PDF-1.7\n", {}, "is a PDF document, which is not read; ask for the table"),
    "a web page": ("t.csv", b"<!DOCTYPE html><html>", {}, "is a web page, which is not read; give the table itself"),
    "two columns of one name": ("t.csv", b"age,age\n1,2\n", {}, 'has two columns "age"; give every column a name'),
    "nothing": ("t.csv", b"", {}, "is empty; give"),
    "nothing but blanks": ("t.csv", b"\n \n", {}, "is empty; give"),
    "nothing but a mark": ("t.csv", b"\xef\xbb\xbf", {}, "is empty; give"),
    "a header alone": ("t.csv", b"country,age\n", {}, "holds no records"),
    "a quote in the header that never ends": (
        "t.csv",
        b'country,"age\nChile,31\n',
        {},
        "has a header with quotes that do not match",
    ),
    "a quoted return and nothing else": ("t.csv", b'\r"', {}, "has a header with quotes that do not match"),
    "a NUL in the header": ("t.csv", b"country,age\0\nChile,31\n", {}, "is a binary file"),
    "a picture": ("t.csv", b"\x89PNG\r\n\x1a\n\xff\xfe\xff", {}, "is a picture, which is not read"),
    "a column less": ("t.csv", b"country,height\nChile,1\n", {}, 'has no column "age", which the schema names'),
    "CSV that is called Parquet": ("t.parquet", RAW, {}, "is not a Parquet file"),
    "Parquet in capitals": ("T.PARQUET", written(".parquet"), {}, CODES),
}


@pytest.mark.parametrize("name", CORPUS)
def test_a_file_gives_the_right_codes_or_names_the_cure(name: str, tmp_path: Path) -> None:
    called, content, how, expected = CORPUS[name]
    path = tmp_path / called
    path.write_bytes(content)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=re.escape(expected)) as caught:
            Table.read(File(path, **how), SCHEMA)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
    else:
        assert Table.read(File(path, **how), SCHEMA).codes.T.tolist() == expected
