"""Reading the text of a BIF file into plain declarations: the Interchange Format of Bayesian networks, 0.15.

A strict reader for what tools write in practice: names and states are words or quoted texts, commas are optional,
tables come as rows ``(state, …) p, …;``, as ``table`` (the child's value running slowest) or with a ``default`` row.
Nothing is interpreted here beyond the grammar; :mod:`panbayes.bayesnet.formats.bif` makes a network of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from panbayes.errors import InputError

__all__ = ["Declarations", "ProbabilityBlock", "VariableBlock", "parse_bif"]

_TOKEN: Final = re.compile(
    r'\s+|//[^\n]*|/\*(?:.*?\*/|(?P<open>))|(?P<word>[^\s{}()\[\],;|"]+)|"(?P<quoted>[^"\n]*)"|(?P<sign>.)', re.DOTALL
)


@dataclass(slots=True)
class VariableBlock:
    """``variable NAME { type discrete [n] { states }; property …; }``."""

    name: str
    line: int
    states: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ProbabilityBlock:
    """``probability ( child | parents ) { … }``; ``rows`` in the order written."""

    child: str
    parents: list[str]
    line: int
    table: list[float] | None = None
    default: list[float] | None = None
    rows: list[tuple[list[str], list[float]]] = field(default_factory=list)


@dataclass(slots=True)
class Declarations:
    """A whole file."""

    name: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    variables: list[VariableBlock] = field(default_factory=list)
    probabilities: list[ProbabilityBlock] = field(default_factory=list)


class _Reader:
    """A cursor over the text, one token ahead."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.token = ""
        self.is_word = False
        self.before = 0
        self.counted = (0, 1)
        self.advance()

    def advance(self) -> None:
        """Read the next token; the empty token is the end."""
        while match := _TOKEN.match(self.text, self.at):
            self.before, self.at = match.start(), match.end()
            if match.lastgroup == "open":
                raise self.error("found a comment that does not end")
            if match.lastgroup is not None:
                self.token = match[match.lastgroup]
                self.is_word = match.lastgroup != "sign"
                return
        self.token, self.is_word, self.before = "", False, len(self.text)

    @property
    def line(self) -> int:
        at, line = self.counted
        self.counted = (self.before, line + self.text.count("\n", at, self.before))
        return self.counted[1]

    def error(self, found: str) -> InputError:
        return InputError(f"{self.source}, line {self.line}", found=found, remedy="give a BIF file")

    def take(self, *signs: str) -> None:
        for sign in signs:
            if self.is_word or self.token != sign:
                found = f'found "{self.token[:40]}"' if self.token or self.is_word else "the text ends"
                raise self.error(f'{found} where "{sign}" should stand')
            self.advance()

    def skip(self, sign: str) -> bool:
        if not self.is_word and self.token == sign:
            self.advance()
            return True
        return False

    def word(self, what: str) -> str:
        if not self.is_word:
            raise self.error(f"found no {what}" if not self.token else f'found "{self.token}" instead of a {what}')
        word = self.token
        self.advance()
        return word

    def words(self, what: str, end: str) -> list[str]:
        """Read words up to a sign, with or without commas."""
        found: list[str] = []
        while not self.skip(end):
            found.append(self.word(what))
            self.skip(",")
        return found

    def numbers(self) -> list[float]:
        found: list[float] = []
        for word in self.words("number", ";"):
            try:
                found.append(float(word))
            except ValueError:
                raise self.error(f'found "{word[:40]}" instead of a number') from None
        return found

    def read_property(self) -> tuple[str, str]:
        """Read what follows the word ``property``, up to the semicolon, as it stands."""
        end = self.text.find(";", self.before)
        if end < 0:
            raise self.error("found a property without a semicolon")
        key, _, value = self.text[self.before : end].strip().strip('"').partition("=")
        self.at = end + 1
        self.advance()
        return key.strip(), value.strip()


def parse_bif(text: str, *, source: str) -> Declarations:
    """Read the declarations of a BIF text; ``source`` is its name in errors."""
    reader = _Reader(text, source)
    result = Declarations()
    while reader.is_word or reader.token:
        line = reader.line
        match reader.word("declaration"):
            case "network":
                names = [result.name] if result.name else []
                while reader.is_word:
                    names.append(reader.word("name"))
                result.name = " ".join(names).strip()
                reader.take("{")
                while not reader.skip("}"):
                    _expect(reader, "property")
                    key, value = reader.read_property()
                    result.properties[key] = value
            case "variable":
                result.variables.append(_variable(reader, line))
            case "probability":
                result.probabilities.append(_probability(reader, line))
            case other:
                raise reader.error(f'found "{other[:40]}" instead of network, variable or probability')
    return result


def _expect(reader: _Reader, *words: str) -> str:
    word = reader.word(" or ".join(words))
    if word not in words:
        raise reader.error(f'found "{word[:40]}" instead of {" or ".join(words)}')
    return word


def _variable(reader: _Reader, line: int) -> VariableBlock:
    block = VariableBlock(reader.word("name"), line)
    reader.take("{")
    while not reader.skip("}"):
        if _expect(reader, "type", "property") == "property":
            key, value = reader.read_property()
            block.properties[key] = value
            continue
        _expect(reader, "discrete")
        reader.take("[")
        count = reader.word("number of states")
        reader.take("]", "{")
        block.states = reader.words("state", "}")
        reader.take(";")
        if count != str(len(block.states)):
            raise reader.error(f'"{block.name[:40]}" declares {count[:20]} states and lists {len(block.states)}')
    return block


def _probability(reader: _Reader, line: int) -> ProbabilityBlock:
    reader.take("(")
    child = reader.word("name")
    reader.skip("|")
    block = ProbabilityBlock(child, reader.words("name", ")"), line)
    reader.take("{")
    while not reader.skip("}"):
        if reader.skip("("):
            states = reader.words("state", ")")
            block.rows.append((states, reader.numbers()))
            continue
        match _expect(reader, "table", "default", "property"):
            case "table":
                block.table = reader.numbers()
            case "default":
                block.default = reader.numbers()
            case _:
                reader.read_property()
    return block
