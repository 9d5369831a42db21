"""What noise costs ordered attributes, estimated along their order and as if they had none.

``python -m bench.singles --tables FOLDER NAME...`` adds Gaussian noise to the tables of all single attributes, which
deviates by 0.2, 1 and 5 % of the records in a cell where an attribute has a mean part of the grant, and estimates them
(:mod:`panbayes.consortium.analyst.adaptive.estimation`). It prints the bits that the estimates of ordered attributes
cost the records at hand, added up over these attributes, as a mean of several runs: without the order / with it.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Final

import numpy as np

from bench.subjects import subject
from panbayes.consortium.analyst.adaptive.estimation import Estimate, estimate_marginals
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.adaptive.shares import alone
from panbayes.tables.table import Table

__all__ = ["lost", "main"]

LEVELS: Final = (0.002, 0.01, 0.05)
RUNS: Final = 10


def lost(table: Table, level: float, *, runs: int = RUNS) -> tuple[float, float]:
    """Return the bits that noise of a ``level`` costs all ordered attributes, without their order and with it."""
    ordered = [attribute.regular if attribute.ordered else 0 for attribute in table.schema.attributes]
    counts = [
        np.bincount(codes, minlength=size).astype(np.float64)
        for codes, size in zip(table.codes, table.schema.sizes, strict=True)
    ]
    parts = np.array([alone(size) for size in table.schema.sizes])
    deviations = level * table.records * np.sqrt(parts.mean() / parts)
    laws = [NoiseLaw(True, ((float(deviation), 1),)) for deviation in deviations]
    found = np.zeros(2)
    for run in range(runs):
        g = np.random.default_rng(run)
        noisy = [
            count + g.normal(scale=scale, size=count.size) for count, scale in zip(counts, deviations, strict=True)
        ]
        for place, told in enumerate(([0] * len(counts), ordered)):
            estimates = estimate_marginals(noisy, laws, float(table.records), told)
            costs = map(_cost, counts, estimates)
            found[place] += sum(cost for cost, in_order in zip(costs, ordered, strict=True) if in_order) / runs
    return float(found[0]), float(found[1])


def _cost(counts: FloatArray, estimate: Estimate) -> float:
    """Return the bits that an estimate costs each of the records that were counted."""
    seen = counts > 0
    law = counts[seen] / counts.sum()
    return float((law * np.log(law / estimate.distribution[seen])).sum()) / math.log(2)


def main(arguments: list[str]) -> int:
    """Print a row for every table; see the module."""
    parser = argparse.ArgumentParser(prog="bench.singles", description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--tables", type=Path, action="append", default=[], help="a folder of real tables; repeatable")
    given = parser.parse_args(arguments)
    print("| | ordered attributes | " + " | ".join(f"{level:.1%}" for level in LEVELS) + " |")
    print("|---|---|" + "---|" * len(LEVELS))
    for name in given.names:
        table = subject(name, given.tables).training
        many = sum(attribute.ordered for attribute in table.schema.attributes)
        cells = [" / ".join(f"{bits:.4f}" for bits in lost(table, level)) for level in LEVELS]
        print(f"| {name} | {many} of {len(table.schema)} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
