"""Values read as numbers, each by its own text.

A number is what a computer writes: digits with a decimal point, an exponent, a sign, also ``inf``; blanks around it say
nothing, and true and false are 1 and 0, however they are spelt. Everything else is no number: ``1,234`` might be either
of two, and other values must not decide which.

Where a table writes a *decimal comma* (:attr:`~panbayes.tables.sources.source.Opened.decimal_comma`), a text with one
comma is a number too, and the comma is its decimal point: ``25,3``. Before the comma, thousands may be set apart, all
by a dot or all by a blank, each group of three digits: ``1.234,5`` and ``1 234,5``. A text without a comma is read as
everywhere, so that ``1.234`` is a little more than one in every table; ``1.234.567`` is no number in any.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from panbayes.schema.blanks import BLANKS
from panbayes.tables.texts import as_text

__all__ = ["as_numbers"]

_FLAGS: Final = {"true": 1.0, "false": 0.0}
_GROUP_MARKS: Final = (r"\.", " ", "\u00a0", "\u202f")
_WITH_COMMA: Final = r"^[+-]?[0-9]*,[0-9]*(?:[eE][+-]?[0-9]+)?$"
_WITH_GROUPS: Final = "|".join(
    rf"^[+-]?[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+,[0-9]*(?:[eE][+-]?[0-9]+)?$" for mark in _GROUP_MARKS
)


def as_numbers(values: pl.Series, *, decimal_comma: bool = False) -> pl.Series:
    """Read values as numbers (Float64); what is not a number becomes null, infinities stay.

    >>> texts = pl.Series([" 7.50 ", "TRUE", "25,3", "1.234,5", "1.234", "12.34,5", "seven", "-inf"])
    >>> as_numbers(texts).to_list()
    [7.5, 1.0, None, None, 1.234, None, None, -inf]
    >>> as_numbers(texts, decimal_comma=True).to_list()
    [7.5, 1.0, 25.3, 1234.5, 1.234, None, None, -inf]
    """
    dtype = values.dtype
    if dtype == pl.Boolean or dtype.is_integer():
        return values.cast(pl.Float64)
    if dtype.is_float():
        return values.cast(pl.Float64).fill_nan(None)
    text = as_text(values).str.strip_chars(BLANKS)
    numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
    if numbers.null_count() == text.null_count():
        return numbers
    numbers = numbers.fill_null(text.str.to_lowercase().replace_strict(_FLAGS, default=None, return_dtype=pl.Float64))
    if not decimal_comma:
        return numbers
    return numbers.fill_null(_with_point(text).cast(pl.Float64, strict=False))


def _with_point(text: pl.Series) -> pl.Series:
    """Write texts with a decimal comma as a computer does; those without one become null."""
    grouped = text.str.contains(_WITH_GROUPS)
    bare = text.zip_with(~grouped.fill_null(value=False), text.str.replace_all(r"[. \u{a0}\u{202f}]", ""))
    return bare.str.extract(f"({_WITH_COMMA})").str.replace(",", ".", literal=True)
