"""From values to codes and back, attribute by attribute, without ever failing on a value.

Values are compared as text or, where the schema's categories are numbers or bins, as numbers. The same value gets
the same code whatever it came in (:mod:`panbayes.tables.texts`): the integer 7, the float 7.0 and the text "7" are one.
The code of a value depends on its own text alone: there is no error, warning or type inference that a value could
trigger.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute, Scalar, label_text
from panbayes.tables.texts import as_text, short_time

__all__ = ["as_numbers", "decode_column", "encode_column", "missing_mask", "outside_mask"]

_NUMBER_LIKE: Final = re.compile(r"-?(inf|[0-9.]+)")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FLAGS: Final = {"true": 1.0, "false": 0.0}


def as_numbers(values: pl.Series) -> pl.Series:
    """Read values as numbers (Float64), each by its text; what is not a number becomes null, infinities stay.

    False and true are 0 and 1, however they are spelt.
    """
    dtype = values.dtype
    if dtype == pl.Boolean or dtype.is_integer():
        return values.cast(pl.Float64)
    if dtype.is_float():
        return values.cast(pl.Float64).fill_nan(None)
    text = as_text(values).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
    if numbers.null_count() == text.null_count():
        return numbers
    return numbers.fill_null(text.str.to_lowercase().replace_strict(_FLAGS, default=None, return_dtype=pl.Float64))


def missing_mask(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> NDArray[np.bool_]:
    """Tell which values are missing: null, NaN, or with a text in ``missing_values`` that is not a category."""
    mask = values.is_null()
    if values.dtype.is_float():
        mask |= values.is_nan().fill_null(value=True)
    known = set(attribute.labels[: attribute.regular]) if attribute.categories else set()
    markers = [text for text in missing_values if text not in known]
    if values.dtype.is_numeric():
        markers = [text for text in markers if _NUMBER_LIKE.fullmatch(text)]
    if markers and values.dtype != pl.Null:
        text = as_text(values)
        mask = text.is_null() | text.is_in(markers).fill_null(value=True)
    return mask.to_numpy()


def _regular_codes(values: pl.Series, attribute: Attribute) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return codes of categories or bins, and which of them lie inside the schema."""
    if attribute.bins:
        numbers = as_numbers(values).fill_null(np.nan).to_numpy()
        edges = np.array(attribute.bins, dtype=np.float64)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        codes = np.searchsorted(edges, numbers, side="right").astype(np.int64) - 1
        # NaN (not a number at all) sorts above every edge and so lands in the last bin, like a value above it.
        return np.clip(codes, 0, attribute.regular - 1), inside
    if attribute.numeric:
        comparable, known = as_numbers(values), pl.Series([float(v) for v in attribute.categories], dtype=pl.Float64)
        places = pl.Series(range(attribute.regular), dtype=pl.Int64)
    else:
        texts = _places(attribute.labels[: attribute.regular])
        comparable, known = as_text(values), pl.Series(list(texts), dtype=pl.String)
        places = pl.Series(list(texts.values()), dtype=pl.Int64)
        if attribute.boolean:
            comparable = comparable.str.to_lowercase()  # True and TRUE are how other programs write it
    codes = comparable.replace_strict(known, places, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    inside = codes >= 0
    return np.where(inside, codes, attribute.regular - 1), inside


def _places(labels: Sequence[str]) -> dict[str, int]:
    """Return the code of every label, and of other ways to write it if it is a time or a day.

    >>> _places(["2020-01-01 12:00:00.000", "a"])
    {'2020-01-01 12:00:00.000': 0, 'a': 1, '2020-01-01 12:00:00': 0}
    """
    places = {label: code for code, label in enumerate(labels)}
    for code, label in enumerate(labels):
        places.setdefault(short_time(label), code)
        if _DAY.fullmatch(label):
            places.setdefault(f"{label} 00:00:00", code)
    return places


def encode_column(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> NDArray[np.int64]:
    """Give every value its code (see :mod:`panbayes.schema.attribute` for the rules).

    >>> sex = Attribute("sex", categories=("F", "M"), other="other", missing="missing")
    >>> encode_column(pl.Series(["M", "X", None, "F", "?"]), sex, ("?",)).tolist()
    [1, 2, 3, 0, 3]
    """
    codes, inside = _regular_codes(values, attribute)
    if attribute.other_code is not None:
        codes = np.where(inside, codes, attribute.other_code)
    return np.where(missing_mask(values, attribute, missing_values), attribute.missing_code, codes)


def outside_mask(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> NDArray[np.bool_]:
    """Tell which values are present but outside the schema. For the holder's eyes only."""
    _, inside = _regular_codes(values, attribute)
    return ~inside & ~missing_mask(values, attribute, missing_values)


def decode_column(codes: NDArray[np.uint8 | np.uint16], attribute: Attribute) -> pl.Series:
    """Turn codes into values that encode back to the same codes.

    Categories come back as written, bins as their middle (a whole number where both edges are), ``other`` as its
    label and ``missing`` as null. The column is numeric where all its values are numbers, else text.

    >>> age = Attribute("age", bins=(0, 40, 65, 120), missing="missing")
    >>> decode_column(np.array([0, 2, 3], dtype=np.uint8), age).to_list()
    [20, 92, None]
    """
    values: list[Scalar | None] = [*attribute.categories]
    if attribute.bins:
        whole = all(float(edge).is_integer() for edge in attribute.bins)
        values = [int(a + b) // 2 if whole else (a + b) / 2 for a, b in pairwise(attribute.bins)]
    if attribute.other is not None:
        values = [*(label_text(value) for value in values if value is not None), attribute.other]
    elif any(isinstance(value, float) for value in values):
        values = [float(value) for value in values if value is not None]
    if attribute.missing is not None:
        values.append(None)
    return pl.Series(attribute.name, values)[codes.astype(np.uint32)]
