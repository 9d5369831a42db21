"""The one text of every value, whatever it came in.

A value has the same text in a column of its own type, in a column of objects where it stands among others, and alone:
the integer 7, the float 7.0 and the decimal 7.00 are "7", a time stamp is "2020-01-01 12:00:00" in whatever unit it is
kept, and at midnight a day, "2020-01-01". So another value of a column, which may change the type of the column, cannot
change this value's text.

:func:`value_text` says what the text is, one value at a time; :func:`as_text` gives the same texts for a whole column,
fast where the column has a type. No value makes either of them fail.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Final

import numpy as np
import polars as pl

from panbayes.tables.quiet import quiet

__all__ = ["as_text", "short_time", "text_column", "value_text"]

_LONG: Final = 3_900
"""Python writes integers of at most 4,300 digits; longer ones are written in another way."""

_FRACTION: Final = re.compile(r"(:[0-9]{2})(\.[0-9]*?)0+(?=[+-]|$)")
_MIDNIGHT: Final = re.compile(r"(?<=[0-9]-[0-9]{2}-[0-9]{2}) 00:00:00$")
_NANOSECONDS: Final = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9} | {
    unit: 10 ** (9 - 3 * power) for power, unit in enumerate(("s", "ms", "us", "ns"))
}
_FIRST_DAY: Final = (dt.date.min - dt.date(1970, 1, 1)).days
_LAST_DAY: Final = (dt.date.max - dt.date(1970, 1, 1)).days
_PER_DAY: Final = {"ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_OUTSIDE: Final = "a time outside the years 1 to 9999"

_NOTHING: Final = frozenset({"NoneType", "NAType", "NaTType"})
"""None, and what pandas has for it."""


def value_text(value: object) -> str | None:
    """Write one value as text; None if it is missing.

    >>> [value_text(v) for v in (7, 7.0, Decimal("7.00"), 0.25, True, b"ab", float("nan"), dt.date(2020, 1, 1))]
    ['7', '7', '7', '0.25', 'true', 'ab', None, '2020-01-01']
    >>> value_text(dt.datetime(2020, 1, 1, 12, 0, 0, 500_000)), value_text(dt.timedelta(hours=25))
    ('2020-01-01 12:00:00.5', 'P1DT1H')
    """
    with suppress(Exception):
        return _text(value)
    return f"a {type(value).__name__}"  # an object that cannot even write itself


def _text(value: object) -> str | None:
    if isinstance(value, np.generic):
        if isinstance(value, np.datetime64 | np.timedelta64):
            return _numpy_time(value)
        value = float(value) if isinstance(value, np.longdouble) else value.item()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    match value:
        case str():
            return _unicode(value)
        case bool():
            return "true" if value else "false"
        case int():
            return _whole(int(value))
        case float():
            return _real(value)
        case Decimal():
            return _decimal(value)
        case bytes() | bytearray() | memoryview():
            return _bytes(bytes(value))
    if type(value).__name__ in _NOTHING:
        return None
    match value:
        case dt.datetime() | dt.time():
            return short_time(value.isoformat(sep=" ") if isinstance(value, dt.datetime) else value.isoformat())
        case dt.date():
            return value.isoformat()
        case dt.timedelta():
            micro = (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds
            return _duration(micro * 1000 + int(getattr(value, "nanoseconds", 0)))
    return _unicode(str(value))


def _unicode(text: str) -> str:
    """Write half characters (surrogates), which no file can hold, as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _whole(value: int) -> str:
    return str(value) if value.bit_length() < 3 * _LONG else hex(value)


def _real(value: float) -> str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return _whole(int(value)) if value.is_integer() else _decimal(Decimal(repr(value)))


def _decimal(value: Decimal) -> str | None:
    """Write a decimal exactly, without an exponent and without zeros at the end."""
    if not value.is_finite():
        return None if value.is_nan() else "inf" if value > 0 else "-inf"
    sign, digits, exponent = value.as_tuple()
    shown = "".join(map(str, digits)).lstrip("0")
    if not shown or not isinstance(exponent, int):
        return "0"
    kept = shown.rstrip("0")
    exponent += len(shown) - len(kept)
    minus = "-" if sign else ""
    if abs(exponent) + len(kept) > _LONG:
        return f"{minus}{kept}e{exponent}"
    if exponent >= 0:
        return minus + kept + "0" * exponent
    kept = kept.rjust(1 - exponent, "0")
    return f"{minus}{kept[:exponent]}.{kept[exponent:]}"


def _bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return repr(value)


def short_time(text: str) -> str:
    """Leave out the zeros at the end of a time's fraction of a second, and midnight after a day.

    >>> short_time("2020-01-01 12:00:00.500000+01:00"), short_time("2020-01-01 00:00:00.000"), short_time("a.00")
    ('2020-01-01 12:00:00.5+01:00', '2020-01-01', 'a.00')
    """
    return _MIDNIGHT.sub("", _FRACTION.sub(lambda found: found[1] + found[2].rstrip("."), text))


def _numpy_time(value: np.datetime64 | np.timedelta64) -> str | None:
    if np.isnat(value):
        return None
    unit, count = np.datetime_data(value.dtype)
    if isinstance(value, np.datetime64):
        if not 1 <= int(value.astype("datetime64[Y]").astype(np.int64)) + 1970 <= 9999:
            return _OUTSIDE
        finer = value.astype("datetime64[s]") if unit in ("Y", "M", "W", "D", "h", "m") else value
        return short_time(str(finer).replace("T", " "))
    if unit in _NANOSECONDS:
        return _duration(int(value.astype(np.int64)) * count * _NANOSECONDS[unit])
    return str(value)


def _duration(nanoseconds: int) -> str:
    """Write a duration as ISO 8601 has it, in days, hours, minutes and seconds.

    >>> _duration(0), _duration(-1_500_000_000), _duration(90_060 * 10**9)
    ('PT0S', '-PT1.5S', 'P1DT1H1M')
    """
    seconds, fraction = divmod(abs(nanoseconds), 10**9)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    shown = f"{seconds}.{fraction:09d}".rstrip("0").rstrip(".") if fraction else str(seconds)
    day = f"{days}D" if days else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else "", f"{shown}S" if shown != "0" else ""]
    time = "".join(parts) or ("" if days else "0S")
    return f"{'-' if nanoseconds < 0 else ''}P{day}{'T' if time else ''}{time}"


def text_column(name: str, values: Iterable[object]) -> pl.Series:
    """Write values of any kinds as a column of texts, one by one."""
    return pl.Series(name, map(value_text, values), dtype=pl.String)


def as_text(values: pl.Series) -> pl.Series:
    """Write a column as text, every value as :func:`value_text` does."""
    dtype = values.dtype
    if dtype == pl.String:
        return values
    if dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Null) or dtype.is_integer():
        return values.cast(pl.String)
    if dtype.is_float():
        return _float_texts(values.cast(pl.Float64))
    if dtype.is_decimal():
        text = values.cast(pl.String)
        return text.str.replace(r"(\.[0-9]*?)0+$", "$1").str.strip_suffix(".")
    if dtype == pl.Date:
        return _in_range(values, 1, lambda days: days.cast(pl.String))
    if isinstance(dtype, pl.Datetime):
        return _in_range(values, _PER_DAY[dtype.time_unit], lambda times: _stamp_texts(times, dtype.time_zone))
    if dtype == pl.Time:
        return values.dt.to_string("%H:%M:%S%.f").str.replace(r"(\.[0-9]*?)0+$", "$1")
    if isinstance(dtype, pl.Duration):
        return values.dt.to_string()
    return text_column(values.name, _python_values(values))


def _in_range(values: pl.Series, per_day: int, write: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Write days or time stamps; those outside the years 1 to 9999 have one text, for no calendar holds them all."""
    first, last = max(-(2**63), _FIRST_DAY * per_day), min(2**63 - 1, (_LAST_DAY + 1) * per_day - 1)
    inside = values.to_physical().is_between(first, last)
    if inside.all():
        return write(values)
    kept = values.zip_with(inside.fill_null(value=False), pl.Series([None], dtype=values.dtype))
    outside = pl.select(pl.when(pl.lit(~inside)).then(pl.lit(_OUTSIDE))).to_series()
    return write(kept).zip_with(inside.fill_null(value=True), outside).alias(values.name)


def _stamp_texts(values: pl.Series, time_zone: str | None) -> pl.Series:
    text = values.dt.to_string("%Y-%m-%d %H:%M:%S%.f").str.replace(r"(\.[0-9]*?)0+$", "$1")
    if time_zone is None:
        return text.str.strip_suffix(" 00:00:00")
    return text + values.dt.to_string("%::z").str.replace(r"^(.*:.*):00$", "$1")


def _python_values(values: pl.Series) -> Iterator[object]:
    """Yield values as Python has them, one by one if it does not have all of them."""
    failures = (Exception, pl.exceptions.PanicException)
    with quiet():
        try:
            whole: list[object] | None = values.to_list()
        except failures:
            whole = None
    if whole is not None:
        yield from whole
        return
    for place in range(values.len()):
        with quiet():
            try:
                value = values.slice(place, 1).to_list()[0]
            except failures:
                value = _OUTSIDE
        yield value


def _float_texts(values: pl.Series) -> pl.Series:
    numbers = values.fill_nan(None)
    plain = numbers.cast(pl.String).str.strip_suffix(".0")
    # Very large and very small numbers, which polars writes with an exponent, and zeros with a sign: all rare.
    odd = numbers.filter(plain.str.contains("e", literal=True) | (plain == "-0")).unique()
    if odd.len() == 0:
        return plain
    return plain.replace(odd.cast(pl.String).str.strip_suffix(".0"), text_column("", odd.to_list()))
