"""How the adaptive strategy fares where three holders differ: uneven splits of Diabetes.

``python -m bench.quality_other`` prints test cross entropies in bits, means of five runs on the validation part. The
uneven splits give three holders 70, 20 and 10 % of the records, or each the records with one value of ``readmitted``,
or each a third by age.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from bench.data import diabetes
from bench.measures import bits
from bench.quality import DELTA
from bench.subjects import split
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn
from panbayes.privacy.adjacency import Adjacency
from panbayes.tables.table import Table

__all__ = ["main"]

RUNS: Final = 5
SETTINGS: Final = (
    ("adaptive", "replace", Fraction(0)),
    ("adaptive", "add-remove", DELTA),
    ("independent", "replace", Fraction(0)),
)


def main() -> int:
    """Print the table."""
    training, test = split(diabetes(), validation=True)
    print("split of Diabetes among three, ε = 1   adaptive, pure  adaptive, (ε, 1e-9), add-remove  independent")
    for name, parts in _splits(training).items():
        holders = {f"h{j}": training.select(part) for j, part in enumerate(parts)}
        found = [_mean(holders, test, "1", *setting) for setting in SETTINGS]
        print(f"{name:38s} {found[0]:14.2f} {found[1]:31.2f} {found[2]:12.2f}", flush=True)
    return 0


def _mean(holders: dict[str, Table], test: Table, epsilon: str, name: str, adjacency: str, delta: Fraction) -> float:
    schema = test.schema
    study = Study(
        "other",
        schema,
        name,
        Fraction(epsilon),
        adjacency=cast(Adjacency, adjacency),
        delta=delta,
    )
    return float(np.mean([bits(learn(study, holders, simulate=seed), test) for seed in range(RUNS)]))


def _splits(table: Table) -> dict[str, list[NDArray[np.intp]]]:
    order = np.random.default_rng(3).permutation(table.records)
    label = table.codes[table.schema.index("readmitted")]
    by_age = np.argsort(table.codes[table.schema.index("age")], kind="stable")
    cuts = [int(0.7 * table.records), int(0.9 * table.records)]
    return {
        "even": [np.sort(part) for part in np.array_split(order, 3)],
        "70, 20 and 10 % of the records": [np.sort(part) for part in np.split(order, cuts)],
        "by readmitted": [np.flatnonzero(label == value) for value in range(3)],
        "by age": [np.sort(part) for part in np.array_split(by_age, 3)],
    }


if __name__ == "__main__":
    sys.exit(main())
