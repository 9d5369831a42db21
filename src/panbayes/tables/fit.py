"""How a table fits a schema. What it says is read off the data: it is for the holder's eyes only.

It is tallied while the table is encoded (:mod:`panbayes.tables.encoder`), over all records of the file, also those that
a privacy unit leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.encoder import MISSING, OUTSIDE

__all__ = ["AttributeFit", "Fit", "fit_of", "misfit_lines"]


_SHOWN: Final = 2
"""So many further values are named that misfits of an attribute are counted as."""


@dataclass(frozen=True, slots=True)
class AttributeFit:
    """How one column fits: how many values are outside or missing, where those go, and which labels never occur.

    A misfit is a value without a place of its own: outside the schema, or missing where there is no ``missing``.
    ``targets`` are the values that misfits are counted as, each with their number, the largest first, and ``share`` is
    the part of all records that are misfits.
    """

    name: str
    size: int
    outside: int
    outside_to: str
    missing: int
    missing_to: str
    unused: tuple[str, ...]
    targets: tuple[tuple[str, int], ...] = ()
    share: float = 0.0


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
        return not any(a.targets for a in self.attributes)

    @property
    def share(self) -> float:
        """The largest share of misfits of an attribute."""
        return max((a.share for a in self.attributes), default=0.0)


def misfit_lines(fit: Fit) -> list[str]:
    """Say of every attribute with misfits what they would be counted as, the largest share first.

    >>> sex = AttributeFit("sex", 2, 3, "M", 1, "F", (), (("M", 3), ("F", 1)), 1.0)
    >>> misfit_lines(Fit(4, 0, None, 4, (sex,)))
    ['sex: 3 of 4 would be counted as M, 1 as F']
    """
    odd = sorted((found for found in fit.attributes if found.targets), key=lambda found: -found.share)
    return [f"{found.name}: {_counted_as(found.targets, fit.records)}" for found in odd]


def _counted_as(targets: Sequence[tuple[str, int]], records: int) -> str:
    (label, number), *others = targets
    shown = "".join(f", {many:,} as {other}" for other, many in others[:_SHOWN])
    rest = sum(many for _, many in others[_SHOWN:])
    return f"{number:,} of {records:,} would be counted as {label}{shown}" + (f", {rest:,} otherwise" if rest else "")


def fit_of(schema: Schema, tallies: Sequence[NDArray[np.int64]]) -> Fit:
    """Return how a table fits, from the tallies of its values; without a privacy unit, all its records are kept."""
    records = int(tallies[0].sum())
    fits = tuple(_attribute_fit(a, tally, records) for a, tally in zip(schema.attributes, tallies, strict=True))
    return Fit(records, 0, None, records, fits)


def _attribute_fit(attribute: Attribute, tally: NDArray[np.int64], records: int) -> AttributeFit:
    seen = tally.sum(axis=0)
    # "other" is there for the rest of the world; its absence is no news, nor is that of missing values.
    unused = tuple(attribute.labels[c] for c in np.flatnonzero(seen[: attribute.regular] == 0))
    last = attribute.labels[attribute.outside_code]
    ends = "the end bins" if attribute.bins else "the end periods" if attribute.period else last
    misfits = tally[OUTSIDE] + tally[MISSING] * (attribute.missing is None)
    found = [(attribute.labels[c], int(misfits[c])) for c in np.flatnonzero(misfits)]
    return AttributeFit(
        name=attribute.name,
        size=attribute.size,
        outside=int(tally[OUTSIDE].sum()),
        outside_to=attribute.other or ends,
        missing=int(tally[MISSING].sum()),
        missing_to="missing" if attribute.missing is not None else attribute.labels[attribute.missing_code],
        unused=unused,
        targets=tuple(sorted(found, key=lambda target: -target[1])),
        share=float(Fraction(int(misfits.sum()), records)) if records else 0.0,
    )
