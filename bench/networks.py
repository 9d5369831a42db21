"""Networks: inference against pgmpy and pyAgrum, sampling rate, greedy search against numpy.bincount.

Every ratio compares two sides measured in turns in one run, in CPU time. Diabetes is used where it is at hand, else a
table of the same size drawn from a random network.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ParamSpec

import numpy as np
from numpy.typing import NDArray

from bench.peers import EXAMPLES, PgmpyPeer, PyagrumPeer, example
from panbayes.bayesnet.counts import CountArray, Counts
from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.learning.scores.score import table_by_table
from panbayes.bayesnet.learning.search import greedy, penalised_greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.diabetes import load_diabetes
from panbayes.tables.table import Table

__all__ = ["run"]


Arguments = ParamSpec("Arguments")


def _seconds(function: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs) -> float:
    start = time.process_time()
    function(*args, **kwargs)
    return time.process_time() - start


def _evidence(network: Network, queries: int, seed: int) -> list[dict[int, int]]:
    """Draw evidence of 0 to 7 random attributes, with values from the network, so that it is possible."""
    rng = np.random.default_rng(seed)
    codes = network.sample_table(queries, rng, independent=True).codes
    size = len(network.schema)
    return [
        {int(v): int(codes[v, i]) for v in rng.choice(size, int(rng.integers(0, 8)), replace=False)}
        for i in range(queries)
    ]


def _inference() -> None:
    print("posteriors of all attributes given random evidence, ms per query (CPU):")
    for name in EXAMPLES:
        network = example(name)
        lazy, shenoy = PyagrumPeer(network), PyagrumPeer(network, shafer_shenoy=True)
        pgmpy = PgmpyPeer(network)
        network.engine.posteriors({})
        times: dict[str, list[float]] = {"panbayes": [], "pyAgrum lazy": [], "pyAgrum Shafer-Shenoy": [], "pgmpy": []}
        sides: Sequence[tuple[str, Callable[[Mapping[int, int]], object]]] = (
            ("panbayes", network.engine.posteriors),
            ("pyAgrum lazy", lazy.infer),
            ("pyAgrum Shafer-Shenoy", shenoy.infer),
        )
        for number, evidence in enumerate(_evidence(network, 60, seed=1)):
            for side, infer in sides:
                times[side].append(_seconds(infer, evidence))
            if number < 5:
                times["pgmpy"].append(_seconds(pgmpy.posteriors, evidence))
        ours = statistics.median(times["panbayes"])
        peers = {side: statistics.median(values) for side, values in times.items() if side != "panbayes"}
        listed = ", ".join(f"{side} {1e3 * value:.2f}" for side, value in peers.items())
        ratio = min(peers.values()) / ours
        print(f"  {name:<10} panbayes {1e3 * ours:.3f}, {listed}; faster than the fastest peer by {ratio:.1f}")


@dataclass(frozen=True)
class _BincountCounts:
    """The obvious way: one numpy.bincount per table. Satisfies Counts."""

    table: Table

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.table.schema.sizes

    @property
    def total(self) -> float:
        return float(self.table.records)

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[NDArray[np.int64]]:
        result = []
        for attributes in sets:
            shape = [self.sizes[a] for a in attributes]
            joint = np.zeros(self.table.records, dtype=np.int64)
            for a, size in zip(attributes, shape, strict=True):
                joint = joint * size + self.table.codes[a]
            result.append(np.bincount(joint, minlength=math.prod(shape)).reshape(shape))
        return result


def _plain_information(table: CountArray) -> float:
    """The mutual information in a few NumPy calls."""
    p = table.reshape(table.shape[0], -1) / table.sum()
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    kept = p > 0
    return float(np.dot(p[kept], np.log(p[kept] / outer[kept])))


def random_network(schema: Schema, degree: int, seed: int) -> Network:
    """Return a network with random arrows and skewed random tables."""
    rng = np.random.default_rng(seed)
    sizes = schema.sizes
    parents = [tuple(int(p) for p in rng.choice(c, min(c, degree), replace=False)) for c in range(len(schema))]
    structure = Structure(tuple(enumerate(parents)))
    tables = tuple(rng.dirichlet(np.full(sizes[c], 0.3), [sizes[p] for p in parents[c]]) for c in range(len(schema)))
    return Network(schema, structure, tables)


def _table() -> tuple[str, Table]:
    try:
        return "Diabetes", load_diabetes()
    except InputError:
        sizes = [2] * 12 + [4] * 15 + [8] * 10 + [16, 17, 21, 26, 33, 39]
        attributes = tuple(Attribute(f"x{i}", categories=tuple(range(size))) for i, size in enumerate(sizes))
        return "a random table", random_network(Schema("random", attributes), 2, 1).sample_table(
            71_518, 1, independent=True
        )


def _search(name: str, table: Table) -> None:
    counts: Counts = ExactCounts(table)
    plain: Counts = _BincountCounts(table)
    greedy(counts, 2)
    ours, theirs = [], []
    for _ in range(3):
        ours.append(_seconds(greedy, counts, 2))
        theirs.append(_seconds(greedy, plain, 2, score=table_by_table(_plain_information)))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"greedy search on {name}, {table.records} records, {len(table.schema)} attributes (CPU-s):")
    print(
        f"  k = 2: panbayes {statistics.median(ours):.2f}, numpy.bincount {statistics.median(theirs):.2f}; {ratio:.3f}"
    )
    print(f"  k = 3: panbayes {_seconds(greedy, counts, 3):.2f}")
    print(f"  penalised, up to 2 parents: panbayes {_seconds(penalised_greedy, counts, 2):.2f}")


def _sampling(table: Table) -> None:
    counts = ExactCounts(table)
    network = fit(table.schema, penalised_greedy(counts, 2), counts, smoothing=0.5)
    network.sample_table(10, 0)
    times = [_seconds(network.sample_table, 1_000_000, 1) for _ in range(3)]
    name = network.schema.names[-1]
    given = {name: network.schema.attributes[-1].labels[0]}
    network.sample_table(10, 0, given=given)
    print(f"prior sampling of 1,000,000 records: {statistics.median(times):.2f} CPU-s")
    print(f"conditional sampling of 100,000: {_seconds(network.sample_table, 100_000, 1, given=given):.2f} CPU-s")
    print(f"log-probability of {table.records} records: {_seconds(network.log_prob, table):.3f} CPU-s")
    print(f"classification of {table.records} records: {_seconds(network.classify_table, table, name):.3f} CPU-s")


def run() -> None:
    """Print the figures."""
    _inference()
    name, table = _table()
    _search(name, table)
    _sampling(table)


if __name__ == "__main__":
    run()
