"""The small language of questions: ``readmitted | insulin=Up, age="[70-80)"``.

Before the bar stand the attributes asked for, after it the evidence. Names and values may be double-quoted, and must be
where they contain a comma, a bar, an equals sign or a quote (written ``\\"``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from panbayes.errors import InputError

__all__ = ["parse_evidence", "parse_question"]

_TOKEN: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*(?=$|[,|=])|([,|=])|([^,|="]+?)\s*(?=$|[,|=]))')
_EXAMPLE: Final = 'write it like: readmitted | insulin=Up, age="[70-80)"'


def parse_question(text: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Read the attributes asked for and the evidence.

    >>> parse_question('readmitted, "glyburide-metformin" | insulin=Up, age="[70-80)"')
    (('readmitted', 'glyburide-metformin'), {'insulin': 'Up', 'age': '[70-80)'})
    >>> parse_question("readmitted")
    (('readmitted',), {})
    """
    tokens = _tokens(text, argument="question")
    bar = next((i for i, (sign, _) in enumerate(tokens) if sign == "|"), len(tokens))
    targets = []
    for part in _parts(tokens[:bar], argument="question"):
        if len(part) != 1 or part[0][0]:
            raise InputError("question", found="cannot read what is asked for", remedy=_EXAMPLE)
        targets.append(part[0][1])
    evidence = _pairs(tokens[bar + 1 :], argument="question") if bar < len(tokens) else {}
    both = [name for name in targets if name in evidence]
    if both:
        raise InputError("question", found=f'"{both[0]}" is both asked for and given', remedy="leave one of them out")
    return tuple(targets), evidence


def parse_evidence(texts: Iterable[str], *, argument: str) -> dict[str, str]:
    """Read evidence from one or more texts such as ``insulin=Up, age="[70-80)"``."""
    found: dict[str, str] = {}
    for text in texts:
        for name, value in _pairs(_tokens(text, argument=argument), argument=argument).items():
            if found.setdefault(name, value) != value:
                raise InputError(argument, found=f'"{name}" is given twice', remedy="give every attribute once")
    return found


def _tokens(text: str, *, argument: str) -> list[tuple[str, str]]:
    """Cut a text into (sign, "") and ("", word) tokens."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InputError(
                argument, found=f"cannot be read from {text[position : position + 20]!r} on", remedy=_EXAMPLE
            )
        quoted, sign, word = match.groups()
        tokens.append((sign or "", re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else word or ""))
        position = match.end()
    return tokens


def _parts(tokens: list[tuple[str, str]], *, argument: str) -> list[list[tuple[str, str]]]:
    """Split at commas; every part must hold something."""
    parts: list[list[tuple[str, str]]] = [[]]
    for token in tokens:
        if token[0] == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    if not all(parts):
        raise InputError(argument, found="found nothing where a name should stand", remedy=_EXAMPLE)
    return parts


def _pairs(tokens: list[tuple[str, str]], *, argument: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in _parts(tokens, argument=argument):
        match part:
            case [("", name), ("=", _), ("", value)]:
                if found.setdefault(name, value) != value:
                    raise InputError(argument, found=f'"{name}" is given twice', remedy="give every attribute once")
            case _:
                raise InputError(argument, found="cannot read the evidence", remedy=_EXAMPLE)
    return found
