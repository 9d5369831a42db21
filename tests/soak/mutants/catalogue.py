"""The catalogue of semantic mutants: each breaks one promise of SECURITY.md, and a test must notice it.

``catalogue.toml`` names the function and quotes the code, so that a mutant outlives a move: where the function no
longer lies in the module that is named, it is looked for in all. Code is compared token by token, so that line breaks,
comments and indentation do not count.
"""

from __future__ import annotations

import ast
import io
import tokenize
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from tests.soak.mutants.trees import modules_of, source

__all__ = ["CATALOGUE", "Applied", "SemanticMutant", "catalogue", "rows"]

CATALOGUE: Final = Path(__file__).with_name("catalogue.toml")

_LAYOUT: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True, slots=True)
class SemanticMutant:
    """A change that breaks a ``promise``, a row of SECURITY.md in short.

    ``function`` is where the code ``find`` stands that ``replace`` takes the place of, "" for a module's own lines;
    ``file`` is the module it was seen in last. ``tests`` are paths, ``only`` an expression of names, of those that
    notice it. ``soak`` says that an ordinary day does not.
    """

    name: str
    promise: str
    file: str
    function: str
    find: str
    replace: str
    tests: tuple[str, ...]
    only: str = ""
    soak: bool = False

    def applied(self, read: Callable[[str], str] = source) -> Applied:
        """Return the mutated module; ``read`` gives the text of one.

        Raises :class:`LookupError` unless the code is found exactly once, and becomes another.
        """
        wanted = _words(self.find)
        if wanted == _words(self.replace):
            raise LookupError(f"mutant {self.name} changes nothing")
        own = _places(read(self.file), self.function, wanted) if self.file in modules_of() else []
        found = {self.file: own} if own else {}
        if not own:
            everywhere = {file: _places(read(file), self.function, wanted) for file in modules_of()}
            found = {file: places for file, places in everywhere.items() if places}
        times = sum(len(places) for places in found.values())
        if times != 1:
            raise LookupError(
                f"mutant {self.name}: {self.find!r} in {self.function or 'module'}() is found {times} times "
                f"({', '.join(found) or 'nowhere'}); it was in {self.file}"
            )
        ((file, ((start, end),)),) = found.items()
        text = read(file)
        margin = " " * (start - text.rfind("\n", 0, start) - 1)
        return Applied(file, text[:start] + self.replace.strip().replace("\n", f"\n{margin}") + text[end:])


@dataclass(frozen=True, slots=True)
class Applied:
    """A module's ``file`` and its mutated ``text``."""

    file: str
    text: str


@cache
def rows() -> list[dict[str, Any]]:
    """Return the rows of the catalogue as they stand."""
    found: list[dict[str, Any]] = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["row"]
    return found


@cache
def catalogue() -> tuple[SemanticMutant, ...]:
    """Return the mutants of all rows."""
    return tuple(
        SemanticMutant(**{**entry, "tests": tuple(entry["tests"].split())}, promise=row["promise"])
        for row in rows()
        for entry in row["mutant"]
    )


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    """Yield what counts of Python code, with its place; a comma before a closing bracket does not."""
    starts = _line_starts(text)
    waiting: _Token | None = None
    for kind, said, (row, column), (last, end) in _whole_strings(text):
        if kind in _LAYOUT:
            continue
        if waiting is not None and said not in (")", "]", "}"):
            yield waiting
        place = starts[row - 1] + column, starts[last - 1] + end
        token = _Token(said or text[slice(*place)], *place)
        waiting = token if said == "," else None
        if waiting is None:
            yield token
    if waiting is not None:
        yield waiting


def _whole_strings(text: str) -> Iterator[tuple[int, str, tuple[int, int], tuple[int, int]]]:
    """Yield kind, text and place of every token; an f-string is one, with "" for its text, as it was until 3.11."""
    depth, begun = 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == getattr(tokenize, "FSTRING_START", None):
            begun = begun if depth else token.start
            depth += 1
        elif token.type == getattr(tokenize, "FSTRING_END", None):
            depth -= 1
            if not depth:
                yield tokenize.STRING, "", begun, token.end
        elif not depth:
            yield token.type, token.string, token.start, token.end


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]


@cache
def _code(text: str) -> tuple[_Token, ...]:
    return tuple(_tokens(text))


def _words(code: str) -> list[str]:
    return [token.text for token in _tokens(code.strip())]


def _places(text: str, function: str, wanted: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the words of a snippet stand in the functions of this name; in the whole module if it is ""."""
    if not all(word in text for word in wanted):
        return []
    found: set[tuple[int, int]] = set()
    for start, end in _functions(text).get(function, ()) if function else ((0, len(text)),):
        code = _code(text[start:end])
        for place in range(len(code) - len(wanted) + 1):
            if [token.text for token in code[place : place + len(wanted)]] == wanted:
                found.add((start + code[place].start, start + code[place + len(wanted) - 1].end))
    return sorted(found)


@cache
def _functions(text: str) -> dict[str, list[tuple[int, int]]]:
    """Return where the functions of each name begin and end."""
    starts, found = _line_starts(text), dict[str, list[tuple[int, int]]]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = starts[node.lineno - 1], starts[node.end_lineno or node.lineno]
            found.setdefault(node.name, []).append(lines)
    return found
