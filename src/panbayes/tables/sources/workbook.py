"""The parts of an Excel workbook (.xlsx): an archive of XML files, read piece by piece.

A sheet is rows of cells; a cell holds a number, a text by its place in the list of shared texts, a text of its own, a
truth value or an error. Whether a number is a day or a time is said by the cell's style alone.
"""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections.abc import Callable, Iterator
from posixpath import normpath
from typing import Any, Final
from xml.parsers import expat

__all__ = ["Workbook"]

_PIECE: Final = 1 << 16
_LONGEST: Final = 1 << 17
"""Letters of a cell; Excel itself allows 32,767."""

_MOST_TEXT: Final = 1 << 30
"""Bytes of the list of shared texts and of the styles, which are held in memory."""

_COLUMN: Final = re.compile(r"([A-Z]{1,3})[0-9]+$")
_UNSAID: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_BUILT_IN_DAYS: Final = {*range(14, 23), *range(27, 37), 45, 46, 47, *range(50, 59)}
_ESCAPE: Final = re.compile(r"_x((?!D[89A-F])[0-9A-Fa-f]{4})_", re.IGNORECASE)
_DAY, _SPAN = "day", "span"


class Workbook:
    """An open workbook. Whatever is not as it should be raises ValueError, KeyError or an error of zipfile or expat."""

    def __init__(self, path: Any) -> None:
        """Open the archive and read what the sheets are called."""
        self._archive = zipfile.ZipFile(path)
        self.sheets: dict[str, str] = {}
        self._since = dt.datetime(1899, 12, 30)
        self._root = "xl"
        places: dict[str, str] = {}
        if "xl/workbook.xml" not in self._archive.NameToInfo:
            raise KeyError("no workbook")
        self._parse(
            "xl/_rels/workbook.xml.rels",
            lambda tag, a: places.update({a["Id"]: a["Target"]} if tag == "Relationship" else {}),
        )
        self._parse("xl/workbook.xml", lambda tag, a: self._book(tag, a, places))

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()

    def _book(self, tag: str, attributes: dict[str, str], places: dict[str, str]) -> None:
        if tag == "sheet":
            link = next((value for name, value in attributes.items() if name.endswith(":id")), "")
            target = places.get(link, "")
            place = target.lstrip("/") if target.startswith("/") else normpath(f"{self._root}/{target}")
            if place in self._archive.NameToInfo and "worksheets" in place:
                self.sheets[attributes["name"]] = place
        elif tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            self._since = dt.datetime(1904, 1, 1)

    def _parse(
        self,
        part: str,
        begin: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        for _ in self._pieces(part, begin, end, text):
            pass

    def _pieces(
        self,
        part: str,
        begin: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Read a part, and pause after every piece."""
        parser = expat.ParserCreate(namespace_separator=None)
        parser.StartElementHandler = lambda tag, attributes: begin(tag.rpartition(":")[2], attributes)
        parser.EndElementHandler = (lambda tag: end(tag.rpartition(":")[2])) if end else None
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = _refuse
        with self._archive.open(part) as file:
            while piece := file.read(_PIECE):
                parser.Parse(piece, False)
                yield
            parser.Parse(b"", True)
            yield

    def shared_texts(self) -> list[str]:
        """Return the texts that cells point to. How a syllable is read out (phonetic text) is no part of them."""
        part = "xl/sharedStrings.xml"
        if part not in self._archive.NameToInfo:
            return []
        self._check_size(part)
        texts: list[str] = []
        pieces: list[str] = []
        inside = {"t": 0, "rPh": 0}

        def begin(tag: str, _attributes: dict[str, str]) -> None:
            if tag in inside:
                inside[tag] += 1

        def end(tag: str) -> None:
            if tag in inside:
                inside[tag] -= 1
            elif tag == "si":
                texts.append(_unescaped("".join(pieces)))
                pieces.clear()

        def text(letters: str) -> None:
            if inside["t"] and not inside["rPh"]:
                pieces.append(letters)

        self._parse(part, begin, end, text)
        return texts

    def kinds(self) -> list[str | None]:
        """Return for each style whether its numbers are days and times, spans of time, or neither."""
        part = "xl/styles.xml"
        if part not in self._archive.NameToInfo:
            return []
        self._check_size(part)
        formats: dict[int, str | None] = {**dict.fromkeys(_BUILT_IN_DAYS, _DAY), 46: _SPAN}
        kinds: list[str | None] = []
        within = [""]

        def begin(tag: str, attributes: dict[str, str]) -> None:
            if tag in ("cellXfs", "cellStyleXfs"):
                within[0] = tag
            elif tag == "numFmt":
                formats[int(attributes["numFmtId"])] = _kind(attributes["formatCode"])
            elif tag == "xf" and within[0] == "cellXfs":
                kinds.append(formats.get(int(attributes.get("numFmtId", "0"))))

        self._parse(part, begin)
        return kinds

    def _check_size(self, part: str) -> None:
        if self._archive.getinfo(part).file_size > _MOST_TEXT:
            raise ValueError("too many texts")

    def rows(self, place: str) -> Iterator[dict[int, object]]:
        """Yield the rows of a sheet that hold a value: the values by column, from 0."""
        reader = _Sheet(self.shared_texts(), self.kinds(), self._since)
        for _ in self._pieces(place, reader.begin, reader.end, reader.text):
            yield from reader.done
            reader.done.clear()


def _refuse(*_arguments: object) -> None:
    raise ValueError("a workbook declares no document type")


def _unescaped(text: str) -> str:
    """Return letters that XML cannot hold, which Excel writes by their numbers; half a character is left as it is.

    >>> _unescaped("a_x000D_b_x005F_x000D_")
    'a\\rb_x000D_'
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _kind(code: str) -> str | None:
    """Tell what a format makes of a number.

    >>> _kind("dd/mm/yyyy"), _kind("[h]:mm:ss"), _kind('0.00" days"'), _kind("[Red]General")
    ('day', 'span', None, None)
    """
    said = _UNSAID.sub("", code.partition(";")[0]).lower()
    if re.search(r"\[[hms]+\]", said):
        return _SPAN
    return _DAY if re.search(r"[dmyhs]", said.replace("general", "")) else None


class _Sheet:
    """Takes in the elements of a sheet and makes rows of them."""

    def __init__(self, texts: list[str], kinds: list[str | None], since: dt.datetime) -> None:
        self.done: list[dict[int, object]] = []
        self._texts, self._kinds, self._since = texts, kinds, since
        self._row: dict[int, object] = {}
        self._column = -1
        self._cell: dict[str, str] = {}
        self._pieces: list[str] = []
        self._length = 0
        self._inside = {"v": 0, "t": 0, "rPh": 0}

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in the beginning of an element."""
        if tag == "row":
            self._row, self._column = {}, -1
        elif tag == "c":
            self._cell = attributes
            self._column = _place(attributes.get("r", ""), self._column + 1)
            self._pieces, self._length = [], 0
        elif tag in self._inside:
            self._inside[tag] += 1

    def text(self, letters: str) -> None:
        """Take in letters."""
        if (self._inside["v"] or self._inside["t"]) and not self._inside["rPh"] and self._length <= _LONGEST:
            self._pieces.append(letters)
            self._length += len(letters)

    def end(self, tag: str) -> None:
        """Take in the end of an element."""
        if tag in self._inside:
            self._inside[tag] -= 1
        elif tag == "c" and self._pieces:
            value = self._value("".join(self._pieces), self._cell.get("t", "n"))
            if value is not None and value != "":
                self._row[self._column] = value
        elif tag == "row" and self._row:
            self.done.append(self._row)
            self._row = {}

    def _value(self, text: str, kind: str) -> object:
        """Return a cell's value; None for an error such as #N/A, which says that there is none."""
        if kind == "e":
            return None
        if kind == "b":
            return text.strip() == "1"
        if kind == "s":
            place = int(text) if text.isdecimal() and len(text) < 12 else -1
            return self._texts[place] if 0 <= place < len(self._texts) else "a text that is not there"
        if kind == "d":
            return text.replace("T", " ")
        if kind != "n":
            return _unescaped(text)
        try:
            number = float(text)
        except ValueError:
            return text
        style = self._cell.get("s", "0")
        place = int(style) if style.isdecimal() and len(style) < 9 else 0
        said = self._kinds[place] if place < len(self._kinds) else None
        return number if said is None else _time(number, said, self._since)


def _place(reference: str, following: int) -> int:
    """Return the column of a cell; one that does not say it follows the one before."""
    found = _COLUMN.match(reference)
    if found is None:
        return following
    place = 0
    for letter in found[1]:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


def _time(number: float, kind: str, since: dt.datetime) -> object:
    """Return a number of days as a time stamp, a time of day or a span of time, to the millisecond.

    >>> _time(43831.5, "day", dt.datetime(1899, 12, 30)), _time(0.25, "day", dt.datetime(1899, 12, 30))
    (datetime.datetime(2020, 1, 1, 12, 0), datetime.time(6, 0))
    """
    try:
        span = dt.timedelta(milliseconds=round(number * 86_400_000))
        if kind == _SPAN:
            return span
        if 0 <= number < 1:
            return (dt.datetime.min + span).time()
        # Excel believes that there was a 29 February 1900.
        return since + span + dt.timedelta(days=1 if number < 60 and since.year == 1899 else 0)
    except (OverflowError, ValueError):
        return number
