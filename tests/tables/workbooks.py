"""Excel workbooks, written by hand as small as they may be."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

__all__ = ["Styled", "Text", "workbook"]

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
STYLES = ["General", "dd/mm/yyyy", "[h]:mm", '0.0" days"', "yyyy-mm-dd hh:mm:ss", "[Red]hh:mm"]


class Styled(float):
    """A number with the style of this place."""

    style = 0

    def __new__(cls, number: float, style: int) -> Styled:
        made = super().__new__(cls, number)
        made.style = style
        return made


class Text(str):
    """A text, whatever it begins with."""

    __slots__ = ()


def _xml(text: str) -> str:
    """Write a text as Excel does: what XML cannot hold by its number."""
    text = re.sub(r"_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)
    return escape(re.sub("[\0-\x08\x0b-\x1f\ufffe\uffff]", lambda found: f"_x{ord(found[0]):04X}_", text))


def _cell(place: str, value: object, texts: list[str]) -> str:
    match value:
        case None:
            return f'<c r="{place}" s="1"/>'
        case bool():
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        case Styled():
            return f'<c r="{place}" s="{value.style}"><v>{float(value)!r}</v></c>'
        case int() | float():
            return f'<c r="{place}"><v>{value!r}</v></c>'
        case str() if value.startswith("#") and not isinstance(value, Text):
            return f'<c r="{place}" t="e"><v>{value}</v></c>'
        case str() if value.startswith("=") and not isinstance(value, Text):
            return f'<c r="{place}" t="str"><f>A1</f><v>{escape(value[1:])}</v></c>'
        case str() if len(texts) % 2:
            texts.append("")
            return f'<c t="inlineStr"><is><t xml:space="preserve">{_xml(value)}</t></is></c>'
        case _:
            first, rest = _xml(str(value)), ""
            if str(value)[:1].isalpha() and "_" not in first:
                first, rest = first[:1], first[1:]
            texts.append(f"<si><r><t>{first}</t></r><r><t>{rest}</t></r><rPh><t>x</t></rPh></si>")
            return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'


def workbook(sheets: Mapping[str, Sequence[Sequence[object]]], *, since_1904: bool = False) -> bytes:
    """Write sheets: rows of values, None for an empty cell, texts that begin with # as errors, with = as formulas."""
    stream = io.BytesIO()
    texts: list[str] = []
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, rows in enumerate(sheets.values(), start=1):
            lines = []
            for row, values in enumerate(rows, start=1):
                cells = "".join(_cell(f"{chr(65 + column)}{row}", value, texts) for column, value in enumerate(values))
                lines.append(f'<row r="{row}">{cells}</row>')
            body = f"<worksheet {MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/sheet{number}.xml", body)
        named = [f'<sheet name={quoteattr(name)} r:id="rId{n}"/>' for n, name in enumerate(sheets, start=1)]
        flag = '<workbookPr date1904="1"/>' if since_1904 else ""
        archive.writestr(
            "xl/workbook.xml", f"<workbook {MAIN} {LINKS}>{flag}<sheets>{''.join(named)}</sheets></workbook>"
        )
        links = [f'<Relationship Id="rId{n}" Target="worksheets/sheet{n}.xml"/>' for n in range(1, len(sheets) + 1)]
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{''.join(links)}</Relationships>")
        formats = [f'<numFmt numFmtId="{170 + n}" formatCode={quoteattr(code)}/>' for n, code in enumerate(STYLES)]
        styles = [f'<xf numFmtId="{170 + n}"/>' for n in range(len(STYLES))] + ['<xf numFmtId="14"/>']
        archive.writestr(
            "xl/styles.xml",
            f"<styleSheet {MAIN}><numFmts>{''.join(formats)}</numFmts><cellStyleXfs><xf/></cellStyleXfs>"
            f"<cellXfs>{''.join(styles)}</cellXfs></styleSheet>",
        )
        shared = "".join(text or "<si><t/></si>" for text in texts)
        archive.writestr("xl/sharedStrings.xml", f"<sst {MAIN}>{shared}</sst>")
    return stream.getvalue()
