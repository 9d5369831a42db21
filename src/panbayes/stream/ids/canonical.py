"""The one form of an id that is a text: what a list of users names and what a stream names are compared in this form.

An id is its exact text, in Unicode's normalisation form C, without white space at its ends:

* The bytes of an id are UTF-8. White space is what Unicode calls so (the property White_Space); a byte-order mark
  (U+FEFF), which some programs write at the start of a file, is taken off with it.
* Form C makes one id of ``é`` written as one character and as ``e`` with an accent after it. Nothing else is folded:
  upper and lower case differ, and so do letters that only look alike.
* Bytes that are not UTF-8 are an id too: they keep their form, but for white space of one byte at the ends.

A UUID is the text of its 36 lower-case characters. Almost every id is in this form already. A compiled loop finds those
that might not be, by a byte; another one finds, by their characters, those that are not, and a third one rewrites them.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.kernels.normal_form import GROWTH, NEVER, POSSIBLY, SPACE, normal_forms, settle
from panbayes.stream.ids.kernels.spans import mark_odd

__all__ = ["canonical", "canonical_bytes"]

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_SHORT_SPACE: Final = b"\t\n\v\f\r "

_CHARACTERS: Final = 0x30000
"""Beyond are characters that form C leaves alone; a test looks at all of them."""

_VOWELS_AND_TRAILS: Final = (range(0x1161, 0x1176), range(0x11A8, 0x11C3))


def canonical_bytes(text: bytes) -> bytes:
    r"""Return an id in its one form.

    >>> canonical_bytes("\ufeff Ame\u0301lie\u00a0".encode()).decode()
    'Amélie'
    """
    if text.isascii():
        return text.strip(_SHORT_SPACE)
    try:
        read = text.decode()
    except UnicodeDecodeError:
        return text.strip(_SHORT_SPACE)
    return unicodedata.normalize("NFC", read).strip(_SPACE).encode()


def canonical(texts: Texts, arena: Arena) -> Texts:
    """Return ids in their one form, in their order; what has to be copied for that lies in ``arena``.

    The spans of ``texts`` themselves are changed: white space is taken off them as far as nothing has to be copied.
    """
    odd = arena.array(texts.size, np.bool_)
    if not mark_odd(texts.data, texts.starts, texts.lengths, odd):
        return texts
    tables = _tables()
    marked, size = settle(texts.data, texts.starts, texts.lengths, odd, tables.kinds)
    if not marked:
        return texts
    whole = int(texts.lengths.sum()) + (GROWTH - 1) * size
    found = Texts(arena.array(whole, np.uint8), *(arena.array(texts.size, np.int64) for _ in range(2)))
    held = arena.array(GROWTH * size, np.int32)
    normal_forms(
        texts.data, texts.starts, texts.lengths, odd, *tables, held, found.data, found.starts, found.lengths
    )  # fmt: skip
    return found


class _Tables(NamedTuple):
    """What the compiled loops know of Unicode (:func:`~panbayes.stream.ids.kernels.normal_form.normal_forms`)."""

    kinds: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    decomposed: NDArray[np.int32]
    first: NDArray[np.int32]
    pairs: NDArray[np.int64]
    composed: NDArray[np.int32]


@cache
def _tables() -> _Tables:
    classes = np.array([unicodedata.combining(chr(c)) for c in range(_CHARACTERS)], dtype=np.uint8)
    written = {
        c: found
        for c in range(_CHARACTERS)
        if (found := unicodedata.decomposition(chr(c))) and not found.startswith("<")
    }
    whole = {c: [ord(one) for one in unicodedata.normalize("NFD", chr(c))] for c in written}
    first = np.zeros(_CHARACTERS + 1, dtype=np.int32)
    for c, parts in whole.items():
        first[c + 1] = len(parts)
    np.cumsum(first, out=first)
    # A pair is composed again unless Unicode excludes it; then form C of the whole is not the whole.
    pairs = {}
    for c, found in written.items():
        parts = [int(part, 16) for part in found.split()]
        if len(parts) == 2 and unicodedata.normalize("NFC", chr(c)) == chr(c):
            pairs[(parts[0] << 32) | parts[1]] = c
    kinds = np.full(_CHARACTERS, NEVER, dtype=np.uint8)
    kinds[classes > 0] = POSSIBLY
    kinds[[c for c in written if unicodedata.normalize("NFC", chr(c)) != chr(c)]] = POSSIBLY
    kinds[[pair & 0xFFFFFFFF for pair in pairs]] = POSSIBLY
    for characters in _VOWELS_AND_TRAILS:
        kinds[list(characters)] = POSSIBLY
    # Some white space is written as other white space, which is taken off as well; inside a text it is rewritten.
    spaces = np.array([ord(one) for one in _SPACE])
    kinds[spaces[kinds[spaces] == NEVER]] = SPACE
    ordered = sorted(pairs)
    return _Tables(
        kinds,
        classes,
        np.array([part for c in sorted(whole) for part in whole[c]], dtype=np.int32),
        first,
        np.array(ordered, dtype=np.int64),
        np.array([pairs[pair] for pair in ordered], dtype=np.int32),
    )
