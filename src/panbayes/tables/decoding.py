"""From codes back to values: the middle of a bin or period, or a value drawn within it.

Whatever comes out encodes to the code it came from.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.errors import InputError, nearest
from panbayes.schema.attribute import Attribute
from panbayes.schema.dates import write_moment
from panbayes.schema.domains import Scalar, label_text
from panbayes.schema.periods import DateDomain
from panbayes.tables.texts import as_text

__all__ = ["Draw", "Within", "decode_column", "value_draws"]

Within: TypeAlias = Literal["midpoint", "uniform"]
"""Which value of a bin or a period stands for it: its middle, or one drawn from it, all alike."""

Draw: TypeAlias = Callable[[int], NDArray[np.float64]]
"""Draws so many numbers from 0 to below 1."""

_DAY: Final = 86_400
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_EXACT: Final = 2**53
_TINY: Final = 1e-290


def value_draws(within: str, seed: int | np.random.Generator | None, *, argument: str = "within") -> Draw | None:
    """Return what draws values within bins, by a seed of records but independently of them; None for their middles."""
    if within not in get_args(Within):
        raise InputError(argument, found=f'found "{within}"', remedy=nearest(within, get_args(Within)))
    if within == "midpoint":
        return None
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(None if seed is None else [seed, 1])
    return rng.random


def decode_column(codes: NDArray[np.uint8 | np.uint16], attribute: Attribute, draw: Draw | None = None) -> pl.Series:
    """Turn codes into values that encode back to the same codes.

    Categories come back as written, groups as their labels, bins as numbers (whole ones where all edges are written
    so), periods as dates in their own format, weekdays as labels and hours as times, ``other`` as its label and
    ``missing`` as null. A bin or period gives its middle, or with ``draw`` a value within. The column is numeric where
    all its values are numbers, of dates where all are dates without a format, else text.

    >>> age = Attribute("age", bins=(0, 40, 65, 120), missing="missing")
    >>> codes = np.array([0, 2, 3], dtype=np.uint8)
    >>> decode_column(codes, age).to_list()
    [20, 92, None]
    >>> decode_column(codes, age, lambda n: np.full(n, 0.999)).to_list()
    [39, 120, None]
    """
    middles = _middles(attribute)
    if attribute.other is not None:
        middles = pl.concat([as_text(middles), pl.Series([attribute.other])])
    if attribute.missing is not None:
        middles = pl.concat([middles, pl.Series([None], dtype=middles.dtype)])
    column = middles.gather(codes.astype(np.uint32)).alias(attribute.name)
    if draw is None or not (attribute.bins or isinstance(attribute.domain, DateDomain)):
        return column
    drawn = _drawn(np.minimum(codes.astype(np.int64), attribute.regular - 1), attribute, draw(int(codes.size)))
    drawn = drawn if attribute.other is None else as_text(drawn)
    return drawn.zip_with(pl.Series(codes < attribute.regular), column).alias(attribute.name)


def _middles(attribute: Attribute) -> pl.Series:
    """Return the middle of every bin or period, every category and every group."""
    domain = attribute.domain
    if isinstance(domain, DateDomain):
        return _dates(np.arange(attribute.regular), domain, np.full(attribute.regular, 0.5))
    if attribute.bins and _whole(attribute):
        return pl.Series([int(a + b) // 2 for a, b in pairwise(attribute.bins)], dtype=pl.Int64)
    if attribute.bins:
        middles = ((a, b, a + (b - a) / 2) for a, b in pairwise(map(float, attribute.bins)))
        return pl.Series([middle if middle < b else a for a, b, middle in middles], dtype=pl.Float64)
    values: tuple[Scalar, ...] = attribute.categories or domain.labels
    if attribute.other is not None:
        values = tuple(map(label_text, values))
    if any(isinstance(value, float) for value in values):
        values = tuple(map(float, values))
    return pl.Series(values)


def _whole(attribute: Attribute) -> bool:
    """Tell whether the edges are written as whole numbers, 15 and not 15.0: then so are the values."""
    return all(isinstance(edge, int) and abs(edge) < _EXACT for edge in attribute.bins)


def _drawn(codes: NDArray[np.int64], attribute: Attribute, shares: NDArray[np.float64]) -> pl.Series:
    """Return a value within the bin or period of every code, at a share of the way through it."""
    if isinstance(attribute.domain, DateDomain):
        return _dates(codes, attribute.domain, shares)
    edges = np.array(attribute.bins, dtype=np.float64)
    low, high = edges[codes], edges[codes + 1]
    if _whole(attribute):
        high = high + (codes == attribute.regular - 1)  # the last bin has its upper edge too
        return pl.Series(np.minimum(np.floor(low + shares * (high - low)), high - 1).astype(np.int64))
    return pl.Series(_shortened(np.minimum(low + shares * (high - low), np.nextafter(high, -np.inf)), low, edges))


def _shortened(
    values: NDArray[np.float64], low: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Leave values two digits more than the narrowest bin is wide, rounded down, where they stay in their bins.

    >>> _shortened(np.array([36.66666666, 42.5]), np.array([35.0, 40.0]), np.array([35.0, 40.0, 45.0])).tolist()
    [36.66, 42.5]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrowest = float(np.diff(edges).min())
        if not _TINY < narrowest < 1 / _TINY:
            return values
        scale = 10.0 ** (2 - math.floor(math.log10(narrowest)))
        shorter = np.floor(values * scale) / scale
    found: NDArray[np.float64] = np.where((shorter >= low) & (shorter <= values), shorter, values)
    return found


def _dates(codes: NDArray[np.int64], domain: DateDomain, shares: NDArray[np.float64]) -> pl.Series:
    """Return a date within the period of every code; where periods come again, an hour's minute or a label."""
    spans = [domain.days(code) for code in range(len(domain.labels))]
    known = [span for span in spans if span is not None]
    if not known:
        if not domain.by_hour:
            return pl.Series(domain.labels).gather(codes)
        minutes = np.floor(60 * shares).astype(np.int64)
        return pl.Series([f"{hour:02}:{minute:02}" for hour, minute in zip(codes, minutes, strict=True)])
    first, after = (np.array(ends, dtype=np.int64) for ends in zip(*known, strict=True))
    seconds = np.floor(shares * (after - first)[codes] * _DAY).astype(np.int64)
    days = first[codes] + seconds // _DAY
    if domain.format is None:
        return pl.Series(days - _EPOCH).cast(pl.Int32).cast(pl.Date)
    return pl.Series(
        [
            write_moment(dt.date.fromordinal(day), second, domain.format)
            for day, second in zip(days.tolist(), (seconds % _DAY).tolist(), strict=True)
        ],
        dtype=pl.String,
    )
