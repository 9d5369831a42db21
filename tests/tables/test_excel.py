"""Excel workbooks: what their cells say, and what is wrong with some of them."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from panbayes.errors import InputError
from panbayes.tables.sources.dispatch import read_columns, read_frame
from panbayes.tables.sources.file import File
from tests.tables.workbooks import MAIN, Styled, Text, workbook

CELLS: list[tuple[object, str | None]] = [
    ("Ann", "Ann"),
    (" b & <c> ", " b & <c> "),
    ("=formula", "formula"),
    ("#N/A", None),
    (None, None),
    ("=", None),
    (Text(""), None),
    (7, "7"),
    (7.0, "7"),
    (0.1, "0.1"),
    (1e-7, "0.0000001"),
    (True, "true"),
    (False, "false"),
    (Styled(43831, 1), "2020-01-01"),
    (Styled(43831, 6), "2020-01-01"),
    (Styled(43831.5, 4), "2020-01-01 12:00:00"),
    (Styled(59, 1), "1900-02-28"),
    (Styled(61, 1), "1900-03-01"),
    (Styled(0.25, 5), "06:00:00"),
    (Styled(1.5, 2), "P1DT12H"),
    (Styled(3, 3), "3"),
    (Styled(3, 0), "3"),
    (Styled(1e300, 1), str(int(1e300))),
    (Styled(-5, 99), "-5"),
    ("é表", "é表"),
]


def test_every_kind_of_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook({"first": [["who", "x"], *([i, value] for i, (value, _) in enumerate(CELLS))]}))
    assert read_columns(path, ["x"], argument="t")["x"].to_list() == [text for _, text in CELLS]
    path.write_bytes(workbook({"first": [["x"], [Styled(0, 1)], [Styled(1, 1)]]}, since_1904=True))
    assert read_frame(path, argument="t").rows() == [("00:00:00",), ("1904-01-02",)]


def test_how_a_text_is_read_out_is_no_part_of_it(tmp_path: Path) -> None:
    text = "<is><t>東</t><rPh><t>ひがし</t></rPh></is>"
    rows = f'<row><c t="inlineStr"><is><t>x</t></is></c></row><row><c t="inlineStr">{text}</c></row>'
    body = f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
    (tmp_path / "t.xlsx").write_bytes(changed(workbook({"a": [["x"]]}), SHEET, body))
    assert read_frame(tmp_path / "t.xlsx", argument="t").rows() == [("東",)]


def test_rows_and_columns_that_are_no_table(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        [],
        [None],
        ["sex", None, "age", None],
        ["F", "beside", 1],
        [],
        [None, None],
        ["M", None, 2, "note"],
        ["#N/A"],
        [None] * 9,
    ]
    (tmp_path / "t.xlsx").write_bytes(workbook({"a": rows}))
    assert read_frame(tmp_path / "t.xlsx", argument="t").rows() == [("F", "beside", "1"), ("M", None, "2")]
    assert read_columns(tmp_path / "t.xlsx", ["age", "sex"], argument="t").rows() == [("1", "F"), ("2", "M")]


def test_sheets_are_named_and_headers_declared(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook({"notes": [["read me"]], "Blatt 2": [["a", 1], ["b", 2]]}))
    assert read_frame(File(path, sheet="Blatt 2"), argument="t").columns == ["a", "1"]
    bare = File(path, sheet="Blatt 2", header=False, columns=["x", "y"])
    assert read_frame(bare, argument="t").rows() == [("a", "1"), ("b", "2")]
    with pytest.raises(InputError, match=re.escape('sheet: found "Blat 2"; did you mean "Blatt 2"?')):
        read_frame(File(path, sheet="Blat 2"), argument="t")
    path.write_bytes(workbook({"empty": [[None]]}))
    with pytest.raises(InputError, match="t: is empty; give a sheet with a header"):
        read_frame(path, argument="t")
    path.write_bytes(workbook({"twice": [["a", "a"], [1, 2]]}))
    with pytest.raises(InputError, match='t: has two columns "a"'):
        read_frame(path, argument="t")


def changed(raw: bytes, part: str, content: str) -> bytes:
    """Write a part of a workbook anew."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, content if name == part else old.read(name))
    return stream.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
HOSTILE = {
    "a document type": (SHEET, f"{LAUGHS}<worksheet {MAIN}><sheetData/></worksheet>"),
    "no XML": (SHEET, "Jane Doe"),
    "cut": (SHEET, f"<worksheet {MAIN}><sheetData><row><c><v>1"),
    "a link to nowhere": ("xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="rId1"/></Relationships>'),
    "styles": ("xl/styles.xml", f'<styleSheet {MAIN}><numFmts><numFmt numFmtId="x"/></numFmts></styleSheet>'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_workbook_is_one_line(name: str, tmp_path: Path) -> None:
    raw = workbook({"a": [["sex"], ["F"]]})
    (tmp_path / "t.xlsx").write_bytes(changed(raw, *HOSTILE[name]))
    with pytest.raises(InputError, match=r"^t: is a damaged or truncated Excel workbook; save it again[^J]*$"):
        read_frame(tmp_path / "t.xlsx", argument="t")
    (tmp_path / "t.xlsx").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InputError, match="t: is a damaged or truncated Excel workbook"):
        read_frame(tmp_path / "t.xlsx", argument="t")


def test_a_value_spoils_its_own_record_alone(tmp_path: Path) -> None:
    """Cells far away, of no known kind, with places that are not there and texts without end."""
    cells = [
        '<c r="XFD1048576" t="s"><v>0</v></c>',
        '<c t="s"><v>99999999999999999999</v></c>',
        '<c t="s"><v>-1</v></c>',
        '<c t="strange"><v>x</v></c>',
        "<c><v>one</v></c>",
        '<c s="999999999999"><v>1</v></c>',
        f"<c t='inlineStr'><is><t>{'x' * 3_000_000}</t></is></c>",
        '<c r="1A"><v>NaN</v></c>',
        "<c><v>inf</v></c>",
        '<c t="d"><v>2020-01-01T00:00:00</v></c>',
    ]
    (tmp_path / "t.xlsx").write_bytes(workbook({"a": [["sex"], ["F"]]}))
    raw = (tmp_path / "t.xlsx").read_bytes()
    for cell in cells:
        head = '<row><c t="inlineStr"><is><t>sex</t></is></c></row>'
        last = '<row r="9"><c t="inlineStr"><is><t>M</t></is></c></row>'
        body = f"<worksheet {MAIN}><sheetData>{head}<row>{cell}</row>{last}</sheetData></worksheet>"
        (tmp_path / "t.xlsx").write_bytes(changed(raw, SHEET, body))
        found = read_columns(tmp_path / "t.xlsx", ["sex"], argument="t")["sex"].to_list()
        assert len(found) == 2
        assert found[1] == "M"
        assert len(found[0] or "") < 300_000
