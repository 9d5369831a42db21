"""Codes of values that a schema does not list: dates, which fall into periods, and codes, which belong to groups.

What a column repeats is looked at once. A time stamp hardly ever repeats, but the day and the hour in it do: they are
cut out of all texts at once, by the regular expressions of :mod:`panbayes.schema.dates`, and only what is distinct is
read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.code_map import CodeMap
from panbayes.schema.dates import HOUR, Shape
from panbayes.schema.periods import DateDomain

__all__ = ["Places", "code_places", "date_places"]

Places = tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]
"""Codes, which values lie inside the domain, and which are missing because they are none of its kind."""

_UNIT: Final = "\x1f"
"""Stands between parts, none of which holds it."""

_NONE: Final = -1


def _look_up(texts: pl.Series, distinct: Iterable[str], codes: Iterable[int]) -> NDArray[np.int64]:
    known, places = pl.Series(list(distinct), dtype=pl.String), pl.Series(list(codes), dtype=pl.Int64)
    return texts.replace_strict(known, places, default=_NONE, return_dtype=pl.Int64).fill_null(_NONE).to_numpy()


def code_places(texts: pl.Series, groups: CodeMap) -> Places:
    """Return the codes of the groups that codes belong to; whatever belongs to none is outside."""
    distinct = texts.drop_nulls().unique().to_list()
    found = [groups.inside(text) for text in distinct]
    codes = _look_up(texts, distinct, (_NONE if code is None else code for code in found))
    inside = codes != _NONE
    return np.where(inside, codes, len(groups.labels) - 1), inside, np.zeros(texts.len(), dtype=np.bool_)


def date_places(texts: pl.Series, domain: DateDomain) -> Places:
    """Return the codes of dates, those beyond the bounds that of the nearer end; what is no date is missing."""
    codes = np.full(texts.len(), len(domain.labels) - 1, dtype=np.int64)
    inside, gone = np.zeros((2, texts.len()), dtype=np.bool_)
    gone[:] = True
    waiting = np.arange(texts.len())
    for shape in domain.shapes:
        rest = texts.gather(waiting)
        fits = rest.str.contains(shape.pattern).fill_null(value=False).to_numpy()
        here = waiting[fits]
        found = _places(rest.filter(pl.Series(fits)), shape, domain)
        codes[here] = np.where(found == _NONE, codes[here], found >> 1)
        inside[here] = (found != _NONE) & (found & 1 == 1)
        gone[here] = found == _NONE
        waiting = waiting[~fits]
    return codes, inside, gone


def _places(texts: pl.Series, shape: Shape, domain: DateDomain) -> NDArray[np.int64]:
    """Return 2·code, and 1 more inside the domain, of texts of one shape; -1 where there is no such day."""
    parts = [part for part in shape.parts if domain.by_hour or part not in HOUR]
    cut = texts.str.extract_groups(shape.pattern).struct.unnest().select(pl.col(parts).fill_null(""))
    keys = cut.select(pl.concat_str(parts, separator=_UNIT).alias("key"))["key"]
    distinct = keys.unique().to_list()
    return _look_up(keys, distinct, (_place(key, parts, shape, domain) for key in distinct))


def _place(key: str, parts: list[str], shape: Shape, domain: DateDomain) -> int:
    moment = shape.moment(dict(zip(parts, key.split(_UNIT), strict=True)))
    if moment is None:
        return _NONE
    code, inside = domain.place(moment)
    return 2 * code + inside
