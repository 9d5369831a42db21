"""Kinds of values that a declared type of a database has, and what must be known of each to compile a column.

Values of an ordered kind lie on a line. What the ordinary encoder makes of them changes at few places of it, which
follow from the schema alone: :meth:`Line.at_least` finds the first value whose *number*, the 64-bit float that the
encoder compares, is not below an edge, and :meth:`Line.of_text` finds the value that is written as a text of the
schema. Nothing here looks at data.
"""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import polars as pl

from panbayes.tables.texts import as_text

__all__ = [
    "BEYOND",
    "Booleans",
    "Days",
    "Decimals",
    "Dynamic",
    "Floats",
    "Integers",
    "Kind",
    "Line",
    "Moments",
    "Other",
    "Stamps",
    "Texts",
    "Value",
]

Value: TypeAlias = int | float | bool | Decimal | str | dt.date | dt.datetime
"""A public constant: it comes from the schema, never from data."""

BEYOND: Final = 10_000
"""The first year that no calendar here holds."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts."""


@dataclass(frozen=True, slots=True)
class Booleans:
    """False and true."""


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A column in which every value has a type of its own (SQLite)."""


@dataclass(frozen=True, slots=True)
class Other:
    """Whatever is not compiled: its values are read as they are."""


class Line(ABC):
    """Values in an order, none of them twice."""

    @property
    @abstractmethod
    def dtype(self) -> pl.DataType:
        """What a data frame keeps them in."""

    @property
    @abstractmethod
    def lowest(self) -> Value:
        """The least of them."""

    @abstractmethod
    def after(self, value: Value) -> Value | None:
        """Return the next one, None after the last."""

    @abstractmethod
    def read(self, text: str) -> Value | None:
        """Return a value that may be written so."""

    def at_least(self, _number: float, /) -> Value | None:
        """Return the first value whose number is this or more, None if there is none or values have no numbers."""
        return None

    def series(self, values: list[Value]) -> pl.Series:
        """Return values as a column of a data frame."""
        return pl.Series("", values, dtype=self.dtype)

    def of_text(self, text: str) -> Value | None:
        """Return the value whose text this is.

        >>> Integers().of_text("7"), Integers().of_text("07"), Floats().of_text("0.25")
        (7, None, 0.25)
        """
        value = self.read(text)
        return value if value is not None and as_text(self.series([value])).to_list() == [text] else None


@dataclass(frozen=True, slots=True)
class Integers(Line):
    """Whole numbers from ``low`` to ``high``, of at most 64 bits."""

    low: int = -(2**63)
    high: int = 2**63 - 1

    @property
    def dtype(self) -> pl.DataType:
        """Signed where that is enough."""
        return pl.UInt64() if self.high >= 2**63 else pl.Int64()

    @property
    def lowest(self) -> int:
        """The least."""
        return self.low

    def after(self, value: Value) -> int | None:
        """Return the next."""
        return int(value) + 1 if isinstance(value, int) and value < self.high else None

    def read(self, text: str) -> int | None:
        """Read decimal digits."""
        digits = text.removeprefix("-")
        value = int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 21 else None
        return value if value is not None and self.low <= value <= self.high else None

    def at_least(self, number: float, /) -> int | None:
        """Search: rounding to a float keeps the order.

        >>> Integers().at_least(0.5), Integers().at_least(2.0**63), Integers().at_least(2.0**53 + 4)
        (1, 9223372036854775296, 9007199254740995)
        """
        low, high = self.low, self.high
        if float(high) < number:
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if float(middle) >= number else (middle + 1, high)
        return low


@dataclass(frozen=True, slots=True)
class Floats(Line):
    """Floating-point numbers of 64 bits (those of 32 are some of them); NaN is missing."""

    @property
    def dtype(self) -> pl.DataType:
        """64 bits."""
        return pl.Float64()

    @property
    def lowest(self) -> float:
        """The least."""
        return -math.inf

    def after(self, value: Value) -> float | None:
        """Return the next."""
        return math.nextafter(value, math.inf) if isinstance(value, float) and value < math.inf else None

    def read(self, text: str) -> float | None:
        """Read what Python reads, but for NaN."""
        try:
            value = float(text)
        except ValueError:
            return None
        return None if math.isnan(value) else value

    def at_least(self, number: float, /) -> float:
        """It is one of them."""
        return number


@dataclass(frozen=True, slots=True)
class Decimals(Line):
    """Decimal numbers with ``scale`` places after the point, ``precision`` digits in all."""

    precision: int
    scale: int

    @property
    def dtype(self) -> pl.DataType:
        """As wide as they come."""
        return pl.Decimal(38, self.scale)

    @property
    def _most(self) -> int:
        return int(10**self.precision) - 1

    def _value(self, units: int) -> Decimal:
        return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -self.scale))

    def _number(self, units: int) -> float:
        return float(Fraction(units, 10**self.scale))

    @property
    def lowest(self) -> Decimal:
        """The least."""
        return self._value(-self._most)

    def after(self, value: Value) -> Decimal | None:
        """Return the next."""
        units = int(Fraction(value) * 10**self.scale) if isinstance(value, Decimal) else self._most
        return self._value(units + 1) if units < self._most else None

    def read(self, text: str) -> Decimal | None:
        """Read digits with a point."""
        whole, _, fraction = text.removeprefix("-").partition(".")
        if not (whole + fraction).isascii() or not (whole + fraction).isdecimal() or len(fraction) > self.scale:
            return None
        units = int(whole + fraction.ljust(self.scale, "0")) * (-1 if text.startswith("-") else 1)
        return self._value(units) if abs(units) <= self._most else None

    def at_least(self, number: float, /) -> Decimal | None:
        """Search: rounding to a float keeps the order.

        >>> Decimals(10, 2).at_least(0.1), Decimals(10, 2).at_least(0.101), Decimals(3, 2).at_least(10.0)
        (Decimal('0.10'), Decimal('0.11'), None)
        """
        low, high = -self._most, self._most
        if self._number(high) < number:
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._number(middle) >= number else (middle + 1, high)
        return self._value(low)


@dataclass(frozen=True, slots=True)
class Days(Line):
    """Days of the years 1 to 9999; whatever else a database calls a day has one text (:mod:`..texts`)."""

    @property
    def dtype(self) -> pl.DataType:
        """Days."""
        return pl.Date()

    @property
    def lowest(self) -> dt.date:
        """The first day."""
        return dt.date.min

    def after(self, value: Value) -> dt.date | None:
        """Return the next."""
        return value + dt.timedelta(1) if isinstance(value, dt.date) and value < dt.date.max else None

    def read(self, text: str) -> dt.date | None:
        """Read an ISO date."""
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            return None

    def day(self, day: dt.date) -> Value:
        """Return when a day begins."""
        return day


@dataclass(frozen=True, slots=True)
class Stamps(Line):
    """Time stamps of the years 1 to 9999, to the microsecond; ``zoned`` ones are instants, taken in UTC."""

    zoned: bool = False

    @property
    def dtype(self) -> pl.DataType:
        """Microseconds."""
        return pl.Datetime("us", "UTC" if self.zoned else None)

    @property
    def _zone(self) -> dt.timezone | None:
        return dt.UTC if self.zoned else None

    @property
    def lowest(self) -> dt.datetime:
        """The first moment."""
        return dt.datetime.min.replace(tzinfo=self._zone)

    def after(self, value: Value) -> dt.datetime | None:
        """Return the next."""
        last = dt.datetime.max.replace(tzinfo=self._zone)
        return value + dt.timedelta(microseconds=1) if isinstance(value, dt.datetime) and value < last else None

    def read(self, text: str) -> dt.datetime | None:
        """Read an ISO date and time."""
        try:
            found = dt.datetime.fromisoformat(text)
        except ValueError:
            return None
        return found if (found.tzinfo is not None) == self.zoned else None

    def day(self, day: dt.date) -> Value:
        """Return when a day begins."""
        return dt.datetime.combine(day, dt.time(), tzinfo=self._zone)


Moments: TypeAlias = Days | Stamps
"""Kinds of which every value lies in a day."""

Kind: TypeAlias = Texts | Booleans | Integers | Floats | Decimals | Days | Stamps | Dynamic | Other
"""What values a column has, by its declared type."""
