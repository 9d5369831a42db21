"""How a table fits a schema. What it says is read off the data: it is for the holder's eyes only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from panbayes.schema.schema import Schema
from panbayes.tables.encoding import encode_column, missing_mask, outside_mask
from panbayes.tables.sources.dispatch import read_columns
from panbayes.tables.units import first_records, no_id

__all__ = ["AttributeFit", "Fit", "check_table"]


@dataclass(frozen=True, slots=True)
class AttributeFit:
    """How one column fits: how many values are outside or missing, where those go, and which labels never occur."""

    name: str
    size: int
    outside: int
    outside_to: str
    missing: int
    missing_to: str
    unused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """How a table fits a schema. ``unnamed`` records have no id where the schema names a unit, and are left out."""

    records: int
    unnamed: int
    persons: int | None
    kept: int
    attributes: tuple[AttributeFit, ...]

    @property
    def clean(self) -> bool:
        """Whether every value has a place of its own: nothing outside, nothing missing without ``missing``."""
        return all(not a.outside and (not a.missing or a.missing_to == "missing") for a in self.attributes)


def check_table(source: object, schema: Schema, *, argument: str = "data") -> Fit:
    """Compare a file or data frame with a schema."""
    unit = schema.unit
    names = [*schema.names, *([unit.column] if unit else [])]
    frame = read_columns(source, names, argument=str(source) if isinstance(source, str | Path) else argument)
    records = frame.height
    persons, unnamed = None, 0
    if unit is not None:
        unnamed = int(no_id(frame[unit.column], schema.missing_values).sum())
        kept, persons = first_records(frame[unit.column], unit.max_records, schema.missing_values)
        frame = frame[kept]
    fits = []
    for attribute in schema.attributes:
        values = frame[attribute.name]
        codes = encode_column(values, attribute, schema.missing_values)
        seen = np.bincount(codes, minlength=attribute.size)
        gone = missing_mask(values, attribute, schema.missing_values)
        # "other" is there for the rest of the world; its absence is no news, nor is that of missing values.
        unused = tuple(attribute.labels[c] for c in np.flatnonzero(seen[: attribute.regular] == 0))
        ends = "the end bins" if attribute.bins else attribute.labels[attribute.outside_code]
        fits.append(
            AttributeFit(
                name=attribute.name,
                size=attribute.size,
                outside=int(outside_mask(values, attribute, schema.missing_values).sum()),
                outside_to=attribute.other or ends,
                missing=int(gone.sum()),
                missing_to="missing" if attribute.missing is not None else attribute.labels[attribute.missing_code],
                unused=unused,
            )
        )
    return Fit(records, unnamed, persons, frame.height, tuple(fits))
