"""What a network answers with: posteriors, most probable configurations, classifications.

All of them carry the attributes they speak of, so that a number is never separated from its label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute
from panbayes.tables.table import Codes

__all__ = ["Classification", "Configuration", "FloatArray", "Posterior"]

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The joint distribution of some attributes given evidence.

    ``probabilities`` has one axis per attribute, in order, indexed by its codes, and sums to one.
    """

    attributes: tuple[Attribute, ...]
    probabilities: FloatArray

    def rows(self) -> list[tuple[tuple[str, ...], float]]:
        """List every combination of labels with its probability, in code order."""
        labels = product(*(attribute.labels for attribute in self.attributes))
        return list(zip(labels, self.probabilities.ravel().tolist(), strict=True))

    def __getitem__(self, labels: str | tuple[str, ...]) -> float:
        """Return the probability of one label, or of one label per attribute."""
        wanted = (labels,) if isinstance(labels, str) else labels
        place = tuple(a.labels.index(label) for a, label in zip(self.attributes, wanted, strict=True))
        return float(self.probabilities[place])


@dataclass(frozen=True, slots=True)
class Configuration:
    """One value for every attribute: ``codes`` in schema order, ``values`` by name.

    ``log_prob`` is the natural logarithm of the probability of the whole configuration, evidence included.
    """

    codes: tuple[int, ...]
    values: Mapping[str, str]
    log_prob: float


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """The value of a target attribute for every record of a table.

    ``codes[i]`` is the most probable code of record i (the lowest on a tie); ``probabilities[i, c]`` is the
    probability of code c given the record's other attributes.
    """

    target: Attribute
    codes: Codes
    probabilities: FloatArray

    def labels(self) -> list[str]:
        """Return the chosen label of every record."""
        names = self.target.labels
        return [names[code] for code in self.codes.tolist()]
