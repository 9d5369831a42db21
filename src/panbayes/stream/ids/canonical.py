"""The one form of an id that is a text: what a list of users names and what a stream names are compared in this form.

An id is its exact text, in Unicode's normalisation form C, without white space at its ends:

* The bytes of an id are UTF-8. White space is what Unicode calls so (the property White_Space); a byte-order mark
  (U+FEFF), which some programs write at the start of a file, is taken off with it.
* Form C makes one id of ``é`` written as one character and as ``e`` with an accent after it. Nothing else is folded:
  upper and lower case differ, and so do letters that only look alike.
* Bytes that are not UTF-8 are an id too: they keep their form, but for white space of one byte at the ends.

A UUID is the text of its 36 lower-case characters. Almost every id is in this form already; a compiled loop finds those
that might not be, and only they pass through Python.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.kernels.spans import copy_spans, trim_and_mark

__all__ = ["canonical", "canonical_bytes"]

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_SHORT_SPACE: Final = b"\t\n\v\f\r "


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


@contextmanager
def canonical(chunk: Texts) -> Iterator[Texts]:
    """Lend the ids of a chunk in their one form and their order; what had to be copied is overwritten afterwards.

    The spans of the chunk itself are changed: white space of one byte is taken off them.
    """
    odd = np.zeros(chunk.starts.size, dtype=np.bool_)
    if not trim_and_mark(chunk.data, chunk.starts, chunk.lengths, odd):
        yield chunk
        return
    copied = _copied(chunk, odd)
    try:
        yield copied
    finally:
        for array in (copied.data, copied.starts, copied.lengths):
            array[:] = 0


def _copied(chunk: Texts, odd: NDArray[np.bool_]) -> Texts:
    """Copy the ids of a chunk, the ``odd`` ones in their one form."""
    places = np.flatnonzero(odd)
    found = zip(chunk.starts[places].tolist(), chunk.lengths[places].tolist(), strict=True)
    texts = [canonical_bytes(chunk.data[start : start + length].tobytes()) for start, length in found]
    lengths = chunk.lengths.copy()
    lengths[places] = [len(text) for text in texts]
    starts = np.cumsum(lengths) - lengths
    data = np.empty(int(lengths.sum()), dtype=np.uint8)
    copy_spans(chunk.data, chunk.starts, starts, lengths, odd, data)
    for start, text in zip(starts[places].tolist(), texts, strict=True):
        data[start : start + len(text)] = np.frombuffer(text, dtype=np.uint8)
    return Texts(data, starts, lengths)
