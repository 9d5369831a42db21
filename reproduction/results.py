"""The results of an experiment: rows of named values, as a CSV file holds them.

Numbers are written so that they are read back as they were, to the last bit: verdicts and pictures made from a file
are those made from the run itself.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Results", "Row", "Value", "csv_text", "parse_csv"]

Value: TypeAlias = str | int | float
Row: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Results:
    """Rows that all have the same columns.

    >>> found = Results(({"epsilon": 0.1, "mse": 4.0}, {"epsilon": 0.2, "mse": 1.0}))
    >>> found.numbers("mse"), found.where(epsilon=0.2).number("mse")
    (array([4., 1.]), 1.0)
    """

    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        """Refuse rows of different kinds, and none at all."""
        if not self.rows or any(list(row) != list(self.rows[0]) for row in self.rows):
            raise ValueError("results are rows of the same columns, at least one")

    def where(self, **values: Value) -> Results:
        """Return the rows with these values."""
        return Results(tuple(row for row in self.rows if all(row[name] == value for name, value in values.items())))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers."""
        return np.array([float(row[name]) for row in self.rows])

    def number(self, name: str) -> float:
        """Return the one number of a column of a single row."""
        (row,) = self.rows
        return float(row[name])

    def texts(self, name: str) -> list[str]:
        """Return the different texts of a column, in their order."""
        return list(dict.fromkeys(str(row[name]) for row in self.rows))

    def levels(self, name: str) -> list[float]:
        """Return the different numbers of a column, in their order."""
        return list(dict.fromkeys(float(row[name]) for row in self.rows))


def csv_text(rows: Sequence[Row]) -> str:
    """Write rows as CSV with a header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([str(value) for value in row.values()] for row in rows)
    return buffer.getvalue()


def parse_csv(text: str) -> Results:
    """Read what :func:`csv_text` wrote.

    >>> parse_csv(csv_text([{"name": "dwork", "m": 10, "mse": 0.1}])).rows
    ({'name': 'dwork', 'm': 10, 'mse': 0.1},)
    """
    lines: Iterable[list[str]] = csv.reader(io.StringIO(text))
    header, *rows = lines
    return Results(tuple(dict(zip(header, map(_value, row), strict=True)) for row in rows))


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
