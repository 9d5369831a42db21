"""What a network answers with: posteriors, most probable configurations, classifications.

All of them carry the attributes they speak of, so that a number is never separated from its label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.questions import code_of
from panbayes.display import Card
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute, Scalar
from panbayes.tables.table import Codes

__all__ = ["Classification", "Configuration", "Posterior"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Posterior:
    """The joint distribution of some attributes given evidence.

    ``probabilities`` has one axis per attribute, in order, indexed by its codes, and sums to one.

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
        wanted = labels if isinstance(labels, tuple) else (labels,)
        names = ", ".join(attribute.name for attribute in self.attributes)
        if len(wanted) != len(self.attributes):
            raise InputError("labels", found=f"found {len(wanted)}", remedy=f"give one for each of: {names}")
        place = tuple(
            code_of(attribute, label, argument="labels")
            for attribute, label in zip(self.attributes, wanted, strict=True)
        )
        return float(self.probabilities[place])

    def _card(self) -> Card:
        names = (attribute.name for attribute in self.attributes)
        return Card((*names, "probability"), [(*labels, f"{chance:.4f}") for labels, chance in self.rows()])

    def __repr__(self) -> str:
        """Show the first values and their probabilities."""
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classification:
    """The value of a target attribute for every record of a table.

    ``codes[i]`` is the most probable code of record i (the lowest on a tie); ``probabilities[i, c]`` is the
    probability of code c given the record's other attributes.

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

        >>> rain = Attribute("rain", categories=("yes", "no"))
        >>> Classification(rain, np.array([1], dtype=np.uint8), np.array([[0.4, 0.6]])).decoded().rows()
        [('no', 0.6)]
        """
        chosen = self.probabilities[np.arange(self.codes.size), self.codes]
        return pl.DataFrame({"predicted": pl.Series(self.labels(), dtype=pl.String), "probability": chosen})

    def _card(self) -> Card:
        numbers = np.bincount(self.codes, minlength=self.target.size).tolist()
        rows = [(label, f"{number:,}") for label, number in zip(self.target.labels, numbers, strict=True)]
        return Card(("predicted", "records"), rows, title=f"{self.target.name} for {self.codes.size:,} records")

    def __repr__(self) -> str:
        """Show how often each value is predicted."""
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()
