"""What a file format is: a suffix, and two functions between factors and bytes.

Each module of this folder that defines a :class:`Format` is one; :mod:`panbayes.bayesnet.formats.files` finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from panbayes.bayesnet.factors import Factors

__all__ = ["Decode", "Format"]


class Decode(Protocol):
    """Reads bytes; an ``InputError`` about ``source`` for whatever is not a file of this format."""

    def __call__(self, data: bytes, *, source: str) -> Factors:
        """Read the bytes of a file known to the user as ``source``."""


@dataclass(frozen=True, slots=True)
class Format:
    """Files that end in ``suffix``, of at most ``max_bytes``; ``title`` names the format to people.

    Reading what was written gives schema, structure and tables back exactly, and, if the format ``keeps_statement``,
    the privacy statement and the remarks too.
    """

    suffix: str
    title: str
    encode: Callable[[Factors], bytes]
    decode: Decode
    max_bytes: int
    keeps_statement: bool = True
