"""What the ordinary encoder makes of every value of a kind, as few public branches.

A *cell* is a code together with what becomes of the value: it has a place of its own, lies outside the schema, or is
missing (:mod:`panbayes.tables.encoder`). The cell of a value of a declared type is found in this order:

1. a missing value (NULL, NaN) has the cell of a missing value;
2. *points*, values that are written as some text of the schema, have cells of their own;
3. a text without the blanks around it may be one of the *bare* ones;
4. days and hours that come again lie on a *cycle*;
5. on a line, the last *step* at or below the value says its cell, and all values between two steps have one.

That these are all the places where a cell can change follows from the rules of :mod:`panbayes.tables.encoding`: numbers
are compared with edges and categories, days with the first days of periods, and texts, exactly or without blanks, with
texts of the schema. Which cell it is between them is not derived here: the encoder itself is asked, with one value of
each part. Where this cannot be said exactly (a number out of a text, say), there are no branches, and the values are
read as they are. The schema and the declared type decide that, never the data.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import polars as pl

from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import BLANKS, stripped
from panbayes.schema.code_map import CodeMap
from panbayes.schema.periods import DateDomain
from panbayes.tables.encoder import MISSING, OUTSIDE, OWN
from panbayes.tables.encoding import encode_values, known_texts
from panbayes.tables.sql.kinds import Booleans, Days, Dynamic, Kind, Line, Moments, Other, Stamps, Texts, Value
from panbayes.tables.texts import as_text

__all__ = ["MOST_BRANCHES", "Branches", "Cell", "Cells", "Cycle", "branches_of"]

MOST_BRANCHES: Final = 8192
"""Attributes with more are read as they are: a statement has to be understood by the database."""

_AFTER_ALL: Final = (dt.date.max - dt.date(1970, 1, 1)).days + 1
"""A day that no calendar here holds, counted from 1970."""

Cell: TypeAlias = tuple[int, int]
"""A code, and what becomes of the value."""

Cycle: TypeAlias = Literal["weekday", "hour"]
"""What comes again: days from Monday on, hours from midnight on."""


class Cells:
    """The cells that values of a column can have, each with a text that the encoder puts there (None: nothing)."""

    def __init__(self, attribute: Attribute, missing_values: tuple[str, ...]) -> None:
        """Begin with the cell of a missing value."""
        self._attribute, self._missing = attribute, missing_values
        self._places: dict[Cell, int] = {}
        self._texts: list[str | None] = []
        (self.null,) = self.of(pl.Series([None], dtype=pl.String))

    def _encode(self, values: pl.Series) -> list[Cell]:
        found = encode_values(values, self._attribute, self._missing)
        fates = [
            MISSING if missing else OUTSIDE if outside else OWN
            for outside, missing in zip(found.outside.tolist(), found.missing.tolist(), strict=True)
        ]
        return list(zip(found.codes.tolist(), fates, strict=True))

    def of(self, values: pl.Series) -> list[int]:
        """Return the number of the cell of every value."""
        if values.len() == 0:
            return []
        for cell, text in zip(found := self._encode(values), as_text(values).to_list(), strict=True):
            if cell not in self._places:
                self._places[cell] = len(self._places)
                self._texts.append(text)
        return [self._places[cell] for cell in found]

    @property
    def codes(self) -> tuple[int, ...]:
        """The code of every cell."""
        return tuple(code for code, _ in self._places)

    @property
    def texts(self) -> pl.Series:
        """A text of every cell."""
        return pl.Series("", self._texts, dtype=pl.String)

    @property
    def sound(self) -> bool:
        """Whether each text is indeed put where it stands for."""
        return self._encode(self.texts) == list(self._places)


@dataclass(frozen=True, slots=True)
class Branches:
    """The cell of every value that is there; see the module. ``steps`` ascend, and ``base`` lies before the first."""

    base: int
    points: Mapping[Value, int] = field(default_factory=dict)
    bare: Mapping[str, int] = field(default_factory=dict)
    steps: Sequence[tuple[Value, int]] = ()
    cycle: tuple[Cycle, tuple[int, ...]] | None = None

    @property
    def many(self) -> int:
        """How many branches there are."""
        return len(self.points) + len(self.bare) + len(self.steps)


def branches_of(kind: Kind, attribute: Attribute, missing_values: tuple[str, ...], cells: Cells) -> Branches | None:
    """Return what becomes of the values of a kind; None if it cannot be said exactly."""
    if isinstance(kind, Other | Dynamic):
        return None
    texts = known_texts(attribute, missing_values)
    if isinstance(kind, Booleans):
        no, yes = cells.of(pl.Series([False, True]))
        return Branches(cells.null, {False: no, True: yes})
    if isinstance(attribute.domain, CodeMap):
        return None
    if isinstance(kind, Texts):
        return None if attribute.numeric or isinstance(attribute.domain, DateDomain) else _of_texts(texts, cells)
    if isinstance(kind, Days | Stamps):
        found = _of_moments(kind, attribute, texts, cells)
    elif isinstance(attribute.domain, DateDomain):
        return None  # 20200131 may be a date; rare enough to be read as it is
    else:
        edges = _number_edges(attribute) if attribute.numeric else []
        starts = [start for start in map(kind.at_least, edges) if start is not None]
        marks = {*missing_values, *map(stripped, missing_values)}
        # Numbers are compared as numbers, so that of all texts only those of missing values are looked at.
        found = _on_line(kind, starts, _points(kind, marks if attribute.numeric else texts, cells), cells)
    return found if found.many <= MOST_BRANCHES and cells.sound else None


def _of_texts(texts: frozenset[str], cells: Cells) -> Branches | None:
    """Look a text up as it is, then without blanks: with some around it that no text of the schema has."""
    exact = sorted(texts)
    longest = max(map(len, exact), default=0)
    bare = [text for text in exact if text == stripped(text)]
    padding = BLANKS[0] * (longest + 1)
    points: dict[Value, int] = dict(zip(exact, cells.of(pl.Series(exact, dtype=pl.String)), strict=True))
    trimmed = dict(zip(bare, cells.of(pl.Series([text + padding for text in bare], dtype=pl.String)), strict=True))
    (base,) = cells.of(pl.Series(["x" * (longest + 1)]))
    # What has the cell of all other texts needs no branch, unless it hides another branch.
    points = {
        text: cell for text, cell in points.items() if cell != base or trimmed.get(stripped(str(text)), base) != base
    }
    trimmed = {text: cell for text, cell in trimmed.items() if cell != base}
    found = Branches(base, points, trimmed)
    return found if found.many <= MOST_BRANCHES and cells.sound else None


def _number_edges(attribute: Attribute) -> list[float]:
    """Return every number at which a code can change."""
    if attribute.bins:
        edges = [float(edge) for edge in attribute.bins]
        return [*edges, math.nextafter(edges[-1], math.inf)]
    return sorted({edge for one in attribute.numbers for edge in (one, math.nextafter(one, math.inf))})


def _points(kind: Line, texts: Iterable[str], cells: Cells) -> dict[Value, int]:
    values = [value for value in map(kind.of_text, sorted(texts)) if value is not None]
    return dict(zip(values, cells.of(kind.series(values)), strict=True))


def _inside(kind: Line, start: Value, points: Mapping[Value, int]) -> Value | None:
    """Return a value from ``start`` on that is no point."""
    value: Value | None = start
    while value is not None and value in points:
        value = kind.after(value)
    return value


def _on_line(kind: Line, starts: Iterable[Value], points: Mapping[Value, int], cells: Cells) -> Branches:
    order = dict.fromkeys(kind.series([kind.lowest, *starts]).unique().sort().to_list())
    chosen = {start: value for start in order if (value := _inside(kind, start, points)) is not None}
    places = cells.of(kind.series(list(chosen.values())))
    return _settled(list(zip(chosen, places, strict=True)), points)


def _settled(steps: list[tuple[Value, int]], points: Mapping[Value, int]) -> Branches:
    """Leave out steps at which nothing changes."""
    base = steps[0][1]
    kept: list[tuple[Value, int]] = []
    for start, cell in steps[1:]:
        if cell != (kept[-1][1] if kept else base):
            kept.append((start, cell))
    return Branches(base, points, {}, tuple(kept))


def _of_moments(kind: Moments, attribute: Attribute, texts: Iterable[str], cells: Cells) -> Branches:
    """Return the branches of days or time stamps; before the first of the years 1 to 9999 and after the last: base."""
    (outside,) = cells.of(pl.Series([_AFTER_ALL], dtype=pl.Int32).cast(pl.Date))
    points = _points(kind, texts, cells)
    domain = attribute.domain
    days: set[int] = set()
    cycle = None
    if isinstance(domain, DateDomain):
        spans = [domain.days(code) for code in range(len(domain.labels))]
        days = {day for span in spans if span is not None for day in span if 1 <= day <= dt.date.max.toordinal()}
        if None in spans and not (domain.by_hour and isinstance(kind, Days)):
            cycle = _cycle(kind, domain, points, cells)
    found = _on_line(kind, [kind.day(dt.date.fromordinal(day)) for day in days], points, cells)
    return Branches(outside, points, {}, ((kind.lowest, found.base), *found.steps), cycle)


def _cycle(
    kind: Moments, domain: DateDomain, points: Mapping[Value, int], cells: Cells
) -> tuple[Cycle, tuple[int, ...]]:
    """Ask for a week of days, or a day of hours, that no text of the schema names."""
    many, step = (24, dt.timedelta(hours=1)) if domain.by_hour else (7, dt.timedelta(1))
    first = dt.datetime(2001, 1, 1)  # a Monday
    while True:
        moments = [first + number * step for number in range(many)]
        values: list[Value] = [
            moment.date() if isinstance(kind, Days) else moment.replace(tzinfo=dt.UTC if kind.zoned else None)
            for moment in moments
        ]
        if not any(value in points for value in values):
            return "hour" if domain.by_hour else "weekday", tuple(cells.of(kind.series(values)))
        first += dt.timedelta(7)
