"""What a network answers with: posteriors, expectations, most probable configurations, classifications.

All of them carry the attributes they speak of, so that a number is never separated from its label, and where the
network knows how wrong it may be, an interval for every number. Intervals are computed when they are first looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Final

import numpy as np
import polars as pl

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.questions import code_of
from panbayes.bayesnet.uncertainty.bounds import NOT_KEPT, Bounds
from panbayes.display import Card
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.domains import Scalar
from panbayes.tables.codes import Codes

__all__ = ["INTERVAL", "Classification", "Configuration", "Expectation", "Posterior"]

INTERVAL: Final = "90 % interval"
"""What the column of intervals is called."""


def _unknown() -> Bounds:
    return Bounds(None, (NOT_KEPT,))


def _same(bounds: Bounds) -> Bounds:
    return bounds


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The joint distribution of some attributes given evidence.

    ``probabilities`` has one axis per attribute, in order, indexed by its codes, and sums to one. ``bounds`` computes
    the intervals; :attr:`low`, :attr:`high` and :attr:`remarks` are what it finds.

    >>> rain = Attribute("rain", categories=("yes", "no"))
    >>> posterior = Posterior((rain,), np.array([0.25, 0.75]))
    >>> posterior
    rain  probability
    yes   0.2500
    no    0.7500
    >>> posterior["yes"]
    0.25
    """

    attributes: tuple[Attribute, ...]
    probabilities: FloatArray
    bounds: Callable[[], Bounds] = _unknown

    @cached_property
    def _bounds(self) -> Bounds:
        return self.bounds()

    @property
    def low(self) -> FloatArray | None:
        """The lower ends of the 90 % intervals of all probabilities; None if no error is known.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> Posterior((rain,), np.array([0.25, 0.75])).low is None
        True
        """
        return None if self._bounds.limits is None else self._bounds.limits[0]

    @property
    def high(self) -> FloatArray | None:
        """The upper ends of the 90 % intervals of all probabilities; None if no error is known."""
        return None if self._bounds.limits is None else self._bounds.limits[1]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What widens the intervals, or why there are none.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> Posterior((rain,), np.array([0.25, 0.75])).remarks
        ('No error is known: the model does not keep what its measurements would also allow.',)
        """
        return self._bounds.remarks

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the intervals themselves, not what they are computed from."""
        return Posterior, (self.attributes, self.probabilities, partial(_same, self._bounds))

    def interval(self, labels: Scalar | tuple[Scalar, ...]) -> tuple[float, float] | None:
        """Return the 90 % interval of the probability that ``self[labels]`` is; None if no error is known.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> limits = (np.array([0.2, 0.7]), np.array([0.3, 0.8]))
        >>> Posterior((rain,), np.array([0.25, 0.75]), lambda: Bounds(limits, ())).interval("no")
        (0.7, 0.8)
        """
        limits = self._bounds.limits
        place = self._place(labels)
        return None if limits is None else (float(limits[0][place]), float(limits[1][place]))

    def rows(self) -> list[tuple[tuple[str, ...], float]]:
        """List every combination of labels with its probability, in code order.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> Posterior((rain,), np.array([0.25, 0.75])).rows()
        [(('yes',), 0.25), (('no',), 0.75)]
        """
        labels = product(*(attribute.labels for attribute in self.attributes))
        return list(zip(labels, self.probabilities.ravel().tolist(), strict=True))

    def __getitem__(self, labels: Scalar | tuple[Scalar, ...]) -> float:
        """Return the probability of one label or value, or of one per attribute.

        >>> age = Attribute("age", bins=(0, 40, 120))
        >>> sex = Attribute("sex", categories=("F", "M"))
        >>> joint = Posterior((age, sex), np.array([[0.1, 0.2], [0.3, 0.4]]))
        >>> joint["[40, 120]", "F"], joint[70, "F"]
        (0.3, 0.3)
        """
        return float(self.probabilities[self._place(labels)])

    def _place(self, labels: Scalar | tuple[Scalar, ...]) -> tuple[int, ...]:
        wanted = labels if isinstance(labels, tuple) else (labels,)
        names = ", ".join(attribute.name for attribute in self.attributes)
        if len(wanted) != len(self.attributes):
            raise InputError("labels", found=f"found {len(wanted)}", remedy=f"give one for each of: {names}")
        return tuple(
            code_of(attribute, label, argument="labels")
            for attribute, label in zip(self.attributes, wanted, strict=True)
        )

    def interval_texts(self) -> list[str]:
        """Write the interval of every combination of labels, in code order; nothing if no error is known.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> limits = (np.array([0.2, 0.7]), np.array([0.3, 0.8]))
        >>> Posterior((rain,), np.array([0.25, 0.75]), lambda: Bounds(limits, ())).interval_texts()
        ['0.2000 to 0.3000', '0.7000 to 0.8000']
        """
        if self._bounds.limits is None:
            return []
        ends = (limit.ravel().tolist() for limit in self._bounds.limits)
        return [f"{low:.4f} to {high:.4f}" for low, high in zip(*ends, strict=True)]

    def _card(self) -> Card:
        names = [attribute.name for attribute in self.attributes]
        rows = [(*labels, f"{chance:.4f}") for labels, chance in self.rows()]
        intervals = self.interval_texts()
        if not intervals:
            # That a network keeps no error is true of all its answers; that this one has none is said with it.
            below = tuple(found for found in self.remarks if found != NOT_KEPT)
            return Card((*names, "probability"), rows, below=below)
        wider = [(*row, interval) for row, interval in zip(rows, intervals, strict=True)]
        return Card((*names, "probability", INTERVAL), wider, below=self.remarks)

    def __repr__(self) -> str:
        """Show the first values and their probabilities."""
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()


@dataclass(frozen=True, slots=True, repr=False)
class Expectation:
    """The mean of a numeric attribute, its 90 % ``interval`` (None if no error is known), and ``remarks``.

    Bins count as their middle; ``other`` and ``missing`` values are left out.

    >>> Expectation(Attribute("age", bins=(0, 40, 120)), 52.3, (51.9, 52.8))
    mean of age: 52.30 (90 % interval 51.90 to 52.80)
    """

    attribute: Attribute
    mean: float
    interval: tuple[float, float] | None = None
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show the mean and its interval."""
        if self.interval is None:
            return f"mean of {self.attribute.name}: {self.mean:.5g}"
        low, high = self.interval
        digits = max(0, 1 - math.floor(math.log10(high - low))) if high > low else 4
        return (
            f"mean of {self.attribute.name}: {self.mean:.{digits}f} ({INTERVAL} {low:.{digits}f} to {high:.{digits}f})"
        )


@dataclass(frozen=True, slots=True)
class Configuration:
    """One value for every attribute: ``codes`` in schema order, ``values`` by name.

    ``log_prob`` is the natural logarithm of the probability of the whole configuration, evidence included.

    >>> Configuration((1, 0), {"rain": "no", "grass": "wet"}, log_prob=-0.5).values["rain"]
    'no'
    """

    codes: tuple[int, ...]
    values: Mapping[str, str]
    log_prob: float


@dataclass(frozen=True, eq=False, repr=False)
class Classification:
    """The value of a target attribute for every record of a table.

    ``codes[i]`` is the most probable code of record i (the lowest on a tie); ``probabilities[i, c]`` is the
    probability of code c given the record's other attributes. ``bounds`` computes the intervals; :attr:`low` and
    :attr:`high` are what it finds.

    >>> rain = Attribute("rain", categories=("yes", "no"))
    >>> Classification(rain, np.array([1, 0, 1], dtype=np.uint8), np.array([[0.4, 0.6], [0.9, 0.1], [0.2, 0.8]]))
    rain for 3 records
    predicted  records
    yes        1
    no         2
    """

    target: Attribute
    codes: Codes
    probabilities: FloatArray
    bounds: Callable[[], Bounds] = _unknown

    @cached_property
    def _bounds(self) -> Bounds:
        return self.bounds()

    @property
    def low(self) -> FloatArray | None:
        """The lower ends of the 90 % intervals of all probabilities; None if no error is known."""
        return None if self._bounds.limits is None else self._bounds.limits[0]

    @property
    def high(self) -> FloatArray | None:
        """The upper ends of the 90 % intervals of all probabilities; None if no error is known."""
        return None if self._bounds.limits is None else self._bounds.limits[1]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What widens the intervals, or why there are none."""
        return self._bounds.remarks

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the intervals themselves, not what they are computed from."""
        return Classification, (self.target, self.codes, self.probabilities, partial(_same, self._bounds))

    def labels(self) -> list[str]:
        """Return the chosen label of every record.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> Classification(rain, np.array([1], dtype=np.uint8), np.array([[0.4, 0.6]])).labels()
        ['no']
        """
        names = self.target.labels
        return [names[code] for code in self.codes.tolist()]

    def decoded(self) -> pl.DataFrame:
        """Return the chosen label and its probability for every record, as a polars data frame.

        Where an error is known, its 90 % interval goes from ``low`` to ``high``.

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> Classification(rain, np.array([1], dtype=np.uint8), np.array([[0.4, 0.6]])).decoded().rows()
        [('no', 0.6)]
        """
        columns = {"probability": self.probabilities, "low": self.low, "high": self.high}
        chosen = {
            name: values[np.arange(self.codes.size), self.codes]
            for name, values in columns.items()
            if values is not None
        }
        return pl.DataFrame({"predicted": pl.Series(self.labels(), dtype=pl.String), **chosen})

    def _card(self) -> Card:
        numbers = np.bincount(self.codes, minlength=self.target.size).tolist()
        rows = [(label, f"{number:,}") for label, number in zip(self.target.labels, numbers, strict=True)]
        return Card(("predicted", "records"), rows, title=f"{self.target.name} for {self.codes.size:,} records")

    def __repr__(self) -> str:
        """Show how often each value is predicted."""
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()
