"""The patients of the demo: a made-up population, written down as a Bayesian network and drawn from a seed.

Nobody in it is real, so it needs no privacy; the demo treats it as if it did.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

__all__ = ["clinic_network", "clinic_schema"]

_ATTRIBUTES: Final = (
    Attribute("age", bins=(0, 30, 45, 60, 75, 120)),
    Attribute("sex", categories=("F", "M")),
    Attribute("smoker", categories=("no", "yes"), missing="missing"),
    Attribute("weight", categories=("normal", "over", "obese")),
    Attribute("diagnosis", categories=("diabetes", "circulatory", "respiratory", "injury"), other="other"),
    Attribute("admission", categories=("emergency", "urgent", "elective")),
    Attribute("a1c", categories=("not measured", "normal", ">7", ">8")),
    Attribute("insulin", categories=("No", "Steady", "Up", "Down")),
    Attribute("days", bins=(1, 3, 6, 15)),
    Attribute("readmitted", categories=("NO", ">30", "<30")),
)


def clinic_schema() -> Schema:
    """Return the public schema of the demo's hospitals."""
    return Schema("clinic", _ATTRIBUTES)


def clinic_network() -> Network:
    """Return the population that the demo's patients are drawn from."""
    schema = clinic_schema()
    age, sex, smoker, weight, diagnosis, admission, a1c, insulin, days, readmitted = range(len(schema))
    structure = Structure.of(
        [
            (age, ()),
            (sex, ()),
            (smoker, (sex,)),
            (weight, (age,)),
            (diagnosis, (age, smoker)),
            (admission, (diagnosis,)),
            (a1c, (diagnosis,)),
            (insulin, (a1c,)),
            (days, (admission, age)),
            (readmitted, (insulin, days)),
        ]
    )
    old = np.arange(5)
    tables = {
        age: _rows([8, 14, 25, 33, 20]),
        sex: _rows([54, 46]),
        smoker: _rows([[72, 18, 10], [58, 30, 12]]),
        weight: _rows(np.stack([np.array([60, 40, 38, 45, 62]), 25 + 2 * old, np.array([15, 33, 34, 24, 10])], axis=1)),
        diagnosis: _rows(
            [[[10 + 7 * a, 4 + 9 * a + 8 * s, 8 + 3 * a + 12 * s, 50 - 9 * a, 14] for s in (0, 1, 0)] for a in range(5)]
        ),
        admission: _rows([[35, 30, 35], [60, 25, 15], [65, 25, 10], [85, 10, 5], [40, 25, 35]]),
        a1c: _rows([[25, 15, 25, 35], [70, 17, 9, 4], [78, 15, 5, 2], [86, 9, 3, 2], [74, 15, 7, 4]]),
        insulin: _rows([[70, 22, 4, 4], [55, 33, 5, 7], [25, 45, 20, 10], [10, 34, 42, 14]]),
        days: _rows([*([[50 - 5 * a, 34 + a, 16 + 4 * a] for a in range(5)] for _ in range(2)), [[68, 26, 6]] * 5]),
        readmitted: _rows(
            [
                [[74 - 6 * d, 20 + 3 * d, 6 + 3 * d] for d in range(3)],
                [[60 - 6 * d, 30 + 3 * d, 10 + 3 * d] for d in range(3)],
                [[45 - 7 * d, 35 + 3 * d, 20 + 4 * d] for d in range(3)],
                [[48 - 6 * d, 36 + 3 * d, 16 + 3 * d] for d in range(3)],
            ]
        ),
    }
    return Network(schema, structure, tuple(tables[child] for child in range(len(schema))))


def _rows(weights: object) -> NDArray[np.float64]:
    """Turn weights into conditional distributions: parents first, the child on the last axis."""
    table = np.array(weights, dtype=np.float64)
    return np.asarray(table / table.sum(axis=-1, keepdims=True))
