"""From values to codes, attribute by attribute, without ever failing on a value.

Values are compared as text or, where the schema's categories are numbers or bins, as numbers. The same value gets
the same code whatever it came in (:mod:`panbayes.tables.texts`): the integer 7, the float 7.0 and the text "7" are one.
The code of a value depends on its own text alone: there is no error, warning or type inference that a value could
trigger. A text is, in this order:

1. the category that is written exactly so;
2. missing, if a missing value is written exactly so;
3. the category that is the same without blanks around it (of several, the one that has none, else the first);
4. missing, if a missing value is the same without blanks around it;
5. outside the schema.

The values of a mapping are sought next (:mod:`panbayes.schema.code_map`); a text that is no date where dates belong is
missing, but for the label of ``other`` (:mod:`panbayes.tables.derived`).

Numbers are read as :mod:`panbayes.tables.numbers` says. Where they belong, what is no number (a word, NaN) is missing,
but for the label of ``other``; a number beyond the bins, infinite ones too, or that is no category, is outside.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import BLANKS, stripped
from panbayes.schema.code_map import CodeMap
from panbayes.schema.periods import DateDomain
from panbayes.tables.derived import code_places, date_places
from panbayes.tables.numbers import as_numbers
from panbayes.tables.texts import as_text, short_time

__all__ = [
    "Encoded",
    "encode_column",
    "encode_values",
    "known_texts",
]

Mask = NDArray[np.bool_]

_NUMBER_LIKE: Final = re.compile(r"-?(inf|[0-9.]+)")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Encoded:
    """The code of every value, and which values were outside the schema or missing (for the holder's eyes only)."""

    codes: NDArray[np.int64]
    outside: Mask
    missing: Mask


def encode_values(
    values: pl.Series,
    attribute: Attribute,
    missing_values: tuple[str, ...],
    *,
    decimal_comma: bool = False,
) -> Encoded:
    """Give every value its code (see :mod:`panbayes.schema.attribute` for the domains), and say where it came from.

    ``decimal_comma`` tells that numbers may be written as 25,3.
    """
    if not (attribute.numeric and values.dtype.is_numeric()):
        values = as_text(values)
    gone = _marked(values, attribute, missing_values)
    if attribute.numeric:
        numbers = as_numbers(values, decimal_comma=decimal_comma)
        codes, inside = _places_of_numbers(numbers, attribute)
        gone |= _marked_but_for_blanks(values, attribute, missing_values)
        gone |= (numbers.is_null() & ~_named_other(values, attribute)).to_numpy()
    else:
        codes, inside = _places_of_texts(values, attribute, exactly=True)
        further, found = _places_of_texts(values, attribute, exactly=False)
        codes = np.where(inside, codes, further)
        inside |= found
        gone |= ~inside & _marked_but_for_blanks(values, attribute, missing_values)
        if isinstance(attribute.domain, CodeMap | DateDomain):
            rest = ~inside & ~gone
            text = as_text(values).str.strip_chars(BLANKS).filter(pl.Series(rest))
            codes[rest], inside[rest], gone[rest] = (
                code_places(text, attribute.domain)
                if isinstance(attribute.domain, CodeMap)
                else date_places(text, attribute.domain)
            )
            gone[rest] &= ~_named_other(text, attribute).to_numpy()
    if attribute.other_code is not None:
        codes = np.where(inside, codes, attribute.other_code)
    return Encoded(np.where(gone, attribute.missing_code, codes), ~inside & ~gone, gone)


def encode_column(
    values: pl.Series,
    attribute: Attribute,
    missing_values: tuple[str, ...],
    *,
    decimal_comma: bool = False,
) -> NDArray[np.int64]:
    """Give every value its code, as :func:`encode_values` does.

    >>> sex = Attribute("sex", categories=("F", "M"), other="other", missing="missing")
    >>> encode_column(pl.Series(["M", "X", None, " F", "?"]), sex, ("?",)).tolist()
    [1, 2, 3, 0, 3]
    """
    return encode_values(values, attribute, missing_values, decimal_comma=decimal_comma).codes


def known_texts(attribute: Attribute, missing_values: tuple[str, ...]) -> frozenset[str]:
    """Return every text that the schema gives a meaning, with blanks as they are written there and without.

    What values of categories, missing values and the label of ``other`` are written as: of attributes whose values are
    neither numbers, nor dates, nor codes of a mapping, no other text has a code but that of a value outside.

    >>> sorted(known_texts(Attribute("x", categories=(" a", "b"), other="else"), ("?",)))
    [' a', '?', 'a', 'b', 'else']
    """
    labels = () if attribute.bins else attribute.labels[: attribute.regular]
    texts = {*_spellings(labels), *missing_values, *([] if attribute.other is None else [attribute.other])}
    if attribute.boolean:
        cases = (zip(label.lower(), label.upper(), strict=True) for label in labels)
        texts |= {"".join(letters) for both in cases for letters in itertools.product(*both)}
    return frozenset(texts | set(map(stripped, texts)))


def _marked(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> Mask:
    """Tell which values are null, NaN, or exactly a missing value that is not a category."""
    mask = values.is_null()
    if values.dtype.is_float():
        mask |= values.is_nan().fill_null(value=True)
    known = _known(attribute)
    markers = [text for text in missing_values if text not in known]
    if values.dtype.is_numeric():
        markers = [text for text in markers if _NUMBER_LIKE.fullmatch(text)]
    if markers and values.dtype != pl.Null:
        text = as_text(values)
        mask = text.is_null() | text.is_in(markers).fill_null(value=True)
    return mask.to_numpy(writable=True)


def _marked_but_for_blanks(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> Mask:
    known = set(map(stripped, _known(attribute)))
    markers = [text for text in map(stripped, missing_values) if text not in known]
    return as_text(values).str.strip_chars(BLANKS).is_in(markers).fill_null(value=False).to_numpy()


def _named_other(values: pl.Series, attribute: Attribute) -> pl.Series:
    """Tell which values say by its label that they are outside the schema."""
    if attribute.other is None or values.dtype.is_numeric():
        return pl.repeat(False, values.len(), dtype=pl.Boolean, eager=True)
    return (as_text(values).str.strip_chars(BLANKS) == stripped(attribute.other)).fill_null(value=False)


def _known(attribute: Attribute) -> set[str]:
    return set() if attribute.bins else set(attribute.labels[: attribute.regular])


def _places_of_numbers(numbers: pl.Series, attribute: Attribute) -> tuple[NDArray[np.int64], Mask]:
    """Return codes of bins or of categories that are numbers, and which numbers lie inside the schema."""
    if not attribute.bins:
        known = pl.Series([float(value) for value in attribute.categories], dtype=pl.Float64)
        return _places(numbers, known, range(attribute.regular), attribute)
    plain = numbers.fill_null(np.nan).to_numpy()
    edges = np.array(attribute.bins, dtype=np.float64)
    codes = np.searchsorted(edges, plain, side="right").astype(np.int64) - 1
    # What is no number at all sorts above every edge, and so lands in the last bin, like a value above it.
    return np.clip(codes, 0, attribute.regular - 1), (plain >= edges[0]) & (plain <= edges[-1])


def _places_of_texts(values: pl.Series, attribute: Attribute, *, exactly: bool) -> tuple[NDArray[np.int64], Mask]:
    """Return codes of categories that are texts, taken exactly or but for blanks, and which values have one."""
    labels = () if attribute.bins else attribute.labels[: attribute.regular]
    known = _spellings(labels) if exactly else _spellings_but_for_blanks(labels)
    text = as_text(values) if exactly else as_text(values).str.strip_chars(BLANKS)
    if attribute.boolean:
        text = text.str.to_lowercase()  # True and TRUE are how other programs write it
    return _places(text, pl.Series(list(known), dtype=pl.String), list(known.values()), attribute)


def _places(
    comparable: pl.Series, known: pl.Series, codes: Sequence[int], attribute: Attribute
) -> tuple[NDArray[np.int64], Mask]:
    places = pl.Series(codes, dtype=pl.Int64)
    found = comparable.replace_strict(known, places, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    inside: Mask = found >= 0
    return np.where(inside, found, attribute.regular - 1), inside


def _spellings(labels: Sequence[str]) -> dict[str, int]:
    """Return the code of every label, and of other ways to write it if it is a time or a day.

    >>> _spellings(["2020-01-01 12:00:00.000", "a"])
    {'2020-01-01 12:00:00.000': 0, 'a': 1, '2020-01-01 12:00:00': 0}
    """
    places = {label: code for code, label in enumerate(labels)}
    for code, label in enumerate(labels):
        places.setdefault(short_time(label), code)
        if _DAY.fullmatch(label):
            places.setdefault(f"{label} 00:00:00", code)
    return places


def _spellings_but_for_blanks(labels: Sequence[str]) -> dict[str, int]:
    """Return the same without blanks around; a label that has none comes before others.

    >>> sorted(_spellings_but_for_blanks([" a", "a", " b"]).items())
    [('a', 1), ('b', 2)]
    """
    exact = _spellings(labels)
    return {stripped(text): exact.get(stripped(text), code) for text, code in reversed(exact.items())}
