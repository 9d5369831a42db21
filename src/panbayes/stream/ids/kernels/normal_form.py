"""Unicode's normalisation form C of texts, and the white space at their ends, without a Python object.

The tables are made from :mod:`unicodedata` (:mod:`panbayes.stream.ids.canonical`). A character is decomposed by them,
the marks that follow it are put in order, and both are composed again, as section 3.11 of the Unicode standard has it;
syllables of Hangul are decomposed and composed by arithmetic (section 3.12).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.spans import after_character, character_at, put_character

__all__ = ["GROWTH", "NEVER", "POSSIBLY", "SPACE", "normal_forms", "settle"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Characters = NDArray[np.int32]

GROWTH = 3
"""Form C of a text has at most so many times its bytes."""

NEVER, POSSIBLY, SPACE = 0, 1, 2
"""What a table says of a character: that form C leaves it as it is wherever it stands, or might not; or white space."""

_S, _L, _V, _T = 0xAC00, 0x1100, 0x1161, 0x11A7
_LEADS, _VOWELS, _TRAILS = 19, 21, 28
_SYLLABLES = _LEADS * _VOWELS * _TRAILS


@loop
def settle(data: Bytes, starts: Ints, lengths: Ints, odd: NDArray[np.bool_], kinds: Bytes) -> tuple[int, int]:
    """Take all white space off the ends of the texts that are ``odd``, and leave those marked that must be rewritten.

    A text whose characters form C leaves alone is in form C, and bytes that are not UTF-8 stay as they are. ``kinds``
    is what the table says of each character; of those beyond it nothing. Return how many texts stay marked, and how
    many bytes these have.
    """
    marked, size = 0, 0
    for t in range(starts.size):
        if not odd[t]:
            continue
        i, end = starts[t], starts[t] + lengths[t]
        plain, begin, last, inside = True, end, i, True
        while i < end:
            after = after_character(data, i, end)
            if after < 0:
                inside = False
                break
            character = character_at(data, i, after - i)
            kind = kinds[character] if character < kinds.size else NEVER
            if kind != SPACE:
                begin, last = min(begin, i), after
            plain &= kind != POSSIBLY
            i = after
        odd[t] = inside and not plain
        if inside and plain:
            starts[t] = begin
            lengths[t] = max(last - begin, 0)
        if odd[t]:
            marked += 1
            size += lengths[t]
    return marked, size


@loop
def normal_forms(
    data: Bytes,
    starts: Ints,
    lengths: Ints,
    odd: NDArray[np.bool_],
    kinds: Bytes,
    classes: Bytes,
    decomposed: Characters,
    first: Characters,
    pairs: Ints,
    composed: Characters,
    held: Characters,
    out: Bytes,
    new_starts: Ints,
    new_lengths: Ints,
) -> None:
    """Copy texts to ``out``, those that are ``odd`` in form C and without white space at their ends.

    ``classes`` are the combining classes; character c is decomposed, as far as it goes, into ``decomposed`` from
    ``first[c]`` to ``first[c + 1]``; ``pairs`` are pairs of characters (the first times 2³² plus the second) in order,
    and ``composed`` what they make. ``held`` has room for all characters of one text.
    """
    at = 0
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        new_starts[t] = at
        if not odd[t]:
            for j in range(i, end):
                out[at] = data[j]
                at += 1
            new_lengths[t] = at - new_starts[t]
            continue
        count = 0
        while i < end:
            if data[i] < 0x80:
                held[count] = data[i]
                count += 1
                i += 1
                continue
            after = after_character(data, i, end)
            count = _decompose(character_at(data, i, after - i), classes, decomposed, first, held, count)
            i = after
        count = _compose(held, count, kinds, classes, pairs, composed)
        begin = 0
        while begin < count and held[begin] < kinds.size and kinds[held[begin]] == SPACE:
            begin += 1
        while count > begin and held[count - 1] < kinds.size and kinds[held[count - 1]] == SPACE:
            count -= 1
        for j in range(begin, count):
            at = put_character(out, at, int(held[j]))
        new_lengths[t] = at - new_starts[t]


@loop
def _decompose(
    character: int, classes: Bytes, decomposed: Characters, first: Characters, held: Characters, count: int
) -> int:
    """Put the decomposition of a character behind ``count`` others, marks in order; return how many there are then."""
    syllable = character - _S
    if 0 <= syllable < _SYLLABLES:
        held[count] = _L + syllable // (_VOWELS * _TRAILS)
        held[count + 1] = _V + syllable % (_VOWELS * _TRAILS) // _TRAILS
        count += 2
        if syllable % _TRAILS:
            held[count] = _T + syllable % _TRAILS
            count += 1
        return count
    if character >= classes.size or first[character] == first[character + 1]:
        return _put(character, classes, held, count)
    for j in range(first[character], first[character + 1]):
        count = _put(int(decomposed[j]), classes, held, count)
    return count


@loop
def _put(character: int, classes: Bytes, held: Characters, count: int) -> int:
    """Put a character behind others; a mark goes before those of a higher class."""
    own, place = _class(classes, character), count
    if own:
        while place > 0 and _class(classes, int(held[place - 1])) > own:
            held[place] = held[place - 1]
            place -= 1
    held[place] = character
    return count + 1


@inlined
def _class(classes: Bytes, character: int) -> int:
    return int(classes[character]) if character < classes.size else 0


@loop
def _compose(held: Characters, count: int, kinds: Bytes, classes: Bytes, pairs: Ints, composed: Characters) -> int:
    """Compose characters in place, each with the last starter before it if nothing blocks it; return how many stay."""
    kept, starter, before = 0, -1, 0
    for j in range(count):
        character = int(held[j])
        own = _class(classes, character)
        # What stands right behind the starter, or behind marks of lower classes, is not blocked.
        second = character < kinds.size and kinds[character] == POSSIBLY
        if second and starter >= 0 and (kept == starter + 1 or before < own):
            whole = _pair(int(held[starter]), character, pairs, composed)
            if whole >= 0:
                held[starter] = whole
                continue
        if own == 0:
            starter = kept
        held[kept] = character
        kept += 1
        before = own
    return kept


@loop
def _pair(one: int, other: int, pairs: Ints, composed: Characters) -> int:
    """Return what two characters make, −1 if nothing."""
    if 0 <= one - _L < _LEADS and 0 <= other - _V < _VOWELS:
        return _S + ((one - _L) * _VOWELS + other - _V) * _TRAILS
    if 0 <= one - _S < _SYLLABLES and (one - _S) % _TRAILS == 0 and 0 < other - _T < _TRAILS:
        return one + other - _T
    wanted, low, high = (one << 32) | other, 0, pairs.size
    while low < high:
        middle = (low + high) // 2
        if pairs[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return int(composed[low]) if low < pairs.size and pairs[low] == wanted else -1
