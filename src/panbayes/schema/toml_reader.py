"""Strict reading of TOML documents, with the key and the line in every complaint.

Schemas and studies are agreements that people sign, so nothing in them is guessed: every key is declared,
typed and either required or given a default, and a key nobody asked for is an error, most often a slip of the
pen. :class:`Section` hands out one key at a time and :meth:`Section.finish` complains about the rest. Which keys there
are is declared in one place (:mod:`panbayes.schema.declaration`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from panbayes.errors import InputError, nearest

__all__ = ["Document", "Section", "show"]

KeyPath: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")

MAX_BYTES: Final = 4_000_000
MAX_DEPTH: Final = 32
"""So many keys may lie in one another; no file that people write needs more than three."""

# What these match is others' text as well: each takes a time that grows with the line, and not with its square.
_HEADER = re.compile(r"\s*(\[{1,2})([^\[\]#]+)\]{1,2}\s*(#.*)?$")
_TEXT = re.compile(r""""(?:[^"\\]|\\.|\\$)*(?:"|$)|'[^']*(?:'|$)""")
_NO_KEY = re.compile(r"[^A-Za-z0-9_.-]")
_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed TOML text that remembers where its keys stand.

    ``source`` is the name used in errors: the path as the user gave it. ``folder`` is where the file lies, None where
    the text is no file of its own: such a text cannot name files beside it.
    """

    source: str
    data: dict[str, object]
    lines: dict[KeyPath, int]
    folder: Path | None = None

    @classmethod
    def read(cls, path: str | Path) -> Document:
        """Read a TOML file."""
        source = str(path)
        try:
            with Path(path).open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
        except IsADirectoryError:
            raise InputError(source, found="found a directory", remedy="give a TOML file") from None
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            raise InputError(source, found=f"cannot be read ({reason})", remedy="check the path") from None
        except ValueError:
            raise InputError(source, found="holds a NUL, which no path can", remedy="check the path") from None
        if len(raw) > MAX_BYTES:
            raise InputError(source, found=f"has more than {MAX_BYTES:,} bytes", remedy="give a TOML file")
        try:
            return replace(cls.parse(raw.decode("utf-8"), source=source), folder=Path(path).parent)
        except UnicodeDecodeError:
            raise InputError(source, found="found bytes that are not text", remedy="give a TOML file") from None

    @classmethod
    def parse(cls, text: str, *, source: str) -> Document:
        """Parse TOML text."""
        deep = next((n for n, line in enumerate(text.splitlines(), start=1) if _dots(line) > MAX_DEPTH), None)
        if deep is not None:
            raise InputError(f"{source}, line {deep}", found="found keys in keys without end", remedy="mend that line")
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(source, found=f"is not valid TOML: {error}", remedy="mend that line") from None
        document = cls(source, data, dict(_key_lines(text)))
        for path, value in _inside(data):
            if len(path) > MAX_DEPTH:
                raise document.error(path[:1], found="found keys in keys without end", remedy="mend that line")
            # TOML does not promise to hold them, and no float could.
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise document.error(
                    path, found="found an integer beyond 64 bits", remedy="give a smaller one, or quote it"
                )
        return document

    def root(self) -> Section:
        """Return the whole document as a section."""
        return Section(self, (), self.data)

    def error(self, path: KeyPath, *, found: str, remedy: str) -> InputError:
        """Build an error that names the file, the line and the key."""
        shown = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        line = next((self.lines[path[:i]] for i in range(len(path), 0, -1) if path[:i] in self.lines), None)
        where = [self.source, *([f"line {line}"] if line else []), *([shown] if shown else [])]
        return InputError(", ".join(where), found=found, remedy=remedy)


class Section:
    """One table of a document; keys are taken one by one and checked on the way out."""

    def __init__(self, document: Document, path: KeyPath, data: dict[str, object]) -> None:
        """Stand at ``path`` of ``document``."""
        self.document = document
        self.path = path
        self._data = data
        self._asked: list[str] = []

    def error(self, key: str | None, *, found: str, remedy: str) -> InputError:
        """Build an error about ``key`` of this section (or about the section itself)."""
        return self.document.error(self.path if key is None else (*self.path, key), found=found, remedy=remedy)

    def error_at(self, keys: Sequence[str], *, found: str, remedy: str) -> InputError:
        """Build an error about the key that lies under these, as far down as they are known."""
        below = list(keys[1:] if self.path and keys[0] == self.path[-1] else keys)
        path, here = self.path, self._data
        if below and below[0] in self._asked:
            path = (*path, below[0])
            for before, key in pairwise(below):
                value = here.get(before)
                if not isinstance(value, dict) or key not in value:
                    break
                path, here = (*path, key), value
        return self.document.error(path, found=found, remedy=remedy)

    def has(self, key: str) -> bool:
        """Tell whether the key is present, and count it as known."""
        self._asked.append(key)
        return key in self._data

    def names(self) -> list[str]:
        """Return the keys that are present, whatever they are, and count them as known."""
        self._asked += self._data
        return list(self._data)

    def value(self, key: str, *, expected: str) -> object:
        """Take a required key of any type; ``expected`` says what belongs there."""
        if not self.has(key):
            raise self.error(key, found="is missing", remedy=f"add {key} = {expected}")
        return self._data[key]

    def typed(self, key: str, kind: type[T], *, expected: str) -> T:
        """Take a required key of one type (a bool is not an int here)."""
        value = self.value(key, expected=expected)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, found=f"found {show(value)}", remedy=f"give {expected}")
        return value

    def text(self, key: str, *, expected: str) -> str:
        """Take a required, non-empty text."""
        value = self.typed(key, str, expected=expected)
        if not value.strip():
            raise self.error(key, found="found an empty text", remedy=f"give {expected}")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Take a required text that is one of ``choices``."""
        expected = " or ".join(f'"{choice}"' for choice in choices)
        value = self.typed(key, str, expected=expected)
        if value not in choices:
            raise self.error(key, found=f'found "{value}"', remedy=f"give {expected}")
        return value

    def version(self, known: int) -> None:
        """Take ``version`` and refuse one that this panbayes does not read."""
        value = self.typed("version", int, expected=str(known))
        if value != known:
            raise self.error("version", found=f"found {value}", remedy=f"this panbayes reads version {known}")

    def sections(self, key: str) -> list[Section]:
        """Take an array of tables, ``[[key]]``."""
        value = self.value(key, expected=f"one [[{key}]] table each")
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(key, found=f"found {show(value)}", remedy=f"write one [[{key}]] table each")
        return [Section(self.document, (*self.path, key, i), item) for i, item in enumerate(value)]

    def section(self, key: str) -> Section:
        """Take a table, ``[key]``."""
        value = self.value(key, expected=f"a [{key}] table")
        if not isinstance(value, dict):
            raise self.error(key, found=f"found {show(value)}", remedy=f"write a [{key}] table")
        return Section(self.document, (*self.path, key), value)

    def finish(self) -> None:
        """Complain about the first key that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                raise self.error(key, found="is not a known key", remedy=nearest(key, dict.fromkeys(self._asked)))


def _dots(line: str) -> int:
    """Count the dots of the longest key of a line. Reading a key takes a time that grows with their square.

    >>> _dots('a . "b.c" .d = [1.5, "x.y"]  # ...')
    2
    """
    bare = "".join(_TEXT.sub("", line).partition("#")[0].split())
    return max(part.count(".") for part in _NO_KEY.split(bare))


def _inside(data: dict[str, object]) -> Iterator[tuple[KeyPath, object]]:
    """Yield everything that lies in a document, with its place, the outer before the inner."""
    waiting: list[tuple[KeyPath, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, place), item) for place, item in reversed(list(enumerate(value)))]


def show(value: object) -> str:
    """Name a value of the wrong kind without printing much of it."""
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return (
        f"{names.get(type(value), type(value).__name__)} ({text})"
        if len(text) <= 40
        else names.get(type(value), type(value).__name__)
    )


def _key_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield where tables and keys stand. For messages only: a key inside a multi-line text may fool it."""
    table: KeyPath = ()
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            name = header[2].strip().strip("\"' ")
            if header[1] == "[[":
                seen[name] = seen.get(name, -1) + 1
                table = (name, seen[name])
            else:
                table = tuple(part.strip("\"' ") for part in name.split("."))
            yield table, number
        elif key := _KEY.match(line):
            yield (*table, key[1].strip("\"'")), number
