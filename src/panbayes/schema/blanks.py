"""Blanks, which people do not see: around a value they say nothing."""

from __future__ import annotations

from typing import Final

__all__ = ["BLANKS", "stripped"]

BLANKS: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""What Unicode calls white space. Data frames strip the same characters, Python's ``strip`` four more."""


def stripped(text: str) -> str:
    """Return the text without blanks around it.

    >>> stripped(" Male\\u00a0")
    'Male'
    """
    return text.strip(BLANKS)
