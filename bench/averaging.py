"""One structure against an average of structures: ``python -m bench.averaging [--runs 2] [--draw]``.

============================== =======================================================================================
``one tree``                   noisy sufficient statistics as they are
``its parts averaged``         the same tree, averaged over all its sub-structures (:mod:`bench.substructure_average`)
``all trees averaged``         the average of all trees in closed form (:mod:`bench.tree_average`), same releases
``local models``               the noisy model: records of the holders' models pooled, and one network learned of them
``local models averaged``      the mixture of the holders' own networks, by their numbers of records
``adaptive``                   the adaptive strategy
``adaptive, averaged``         the mean of its replicates' laws
============================== =======================================================================================

Averages know the variance of the noise, and so take counts that are not clipped. Mean bits of test records are printed
as a Markdown table; the runs are kept in docs/figures/averaging.json, the figure in docs/figures/averaging.svg. With
``--draw`` nothing is measured. Noise is simulated. Diabetes is left out unless PANBAYES_DIABETES names the file.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bench.methods import EPSILONS, FIGURES, Run, Style, dealt, draw, keep, kept, named, tabulated
from bench.subjects import Subject
from bench.substructure_average import averaged_tables
from bench.tree_average import TreeAverage
from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.learning.search import chow_liu
from panbayes.bayesnet.markov.chordal import network_of
from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.pooled_counts import PooledCounts
from panbayes.consortium.local.learn import learn
from panbayes.dp.simulated import SimulatedNoise
from panbayes.tables.counting.count_tables import contingencies
from panbayes.tables.table import Table

__all__ = ["main"]

STYLES: Final = {
    "one tree": Style("#5b6770", "s"),
    "its parts averaged": Style("#5b6770", "s", "--"),
    "all trees averaged": Style("#c05a1c", "o", "--"),
    "local models": Style("#2a7f9e", "^"),
    "local models averaged": Style("#2a7f9e", "^", "--"),
    "adaptive": Style("#2f7d4f", "D"),
    "adaptive, averaged": Style("#2f7d4f", "D", "--"),
}
PANELS: Final = (("synthetic", 3), ("dense", 3), ("dense", 10), ("latent", 3), ("alarm", 3))
TESTED: Final = 500
_SMOOTHING: Final = 0.3


def _panels() -> list[tuple[str, int]]:
    return [*PANELS, *([("diabetes", 3)] if os.environ.get("PANBAYES_DIABETES") else [])]


def _bits(logarithms: FloatArray) -> float:
    return float(logarithms.mean()) / -math.log(2)


def _study(held: Subject, strategy: str, epsilon: str, seed: int) -> Study:
    return Study(f"averaging {strategy} {seed}", held.schema, strategy, Fraction(epsilon))


def _statistics(held: Subject, parts: Mapping[str, Table], epsilon: str, seed: int) -> Iterator[tuple[str, float]]:
    sizes = held.schema.sizes
    pairs = list(combinations(range(len(sizes)), 2))
    scale = 2 * len(pairs) / Fraction(epsilon)
    noise = SimulatedNoise(1000 + seed)
    known: dict[tuple[int, ...], NDArray[np.int64]] = {
        pair: np.zeros([sizes[a] for a in pair], dtype=np.int64) for pair in pairs
    }
    for table in parts.values():
        counted = contingencies(table.checked, sizes, pairs)
        for pair in pairs:
            own = counted[pair]
            known[pair] += own + noise.discrete_laplace(own.size, scale=scale).reshape(own.shape)
    counts = PooledCounts(sizes, float(held.training.records), known)
    cell = 2.0 * len(parts) * float(scale) ** 2

    def variance(attributes: tuple[int, ...]) -> float:
        if tuple(sorted(attributes)) in known:
            return cell
        others = (sizes[b if a == attributes[0] else a] for a, b in pairs if attributes[0] in (a, b))
        return cell / sum(1 / other for other in others)

    yield (
        "one tree",
        _bits(
            learn(_study(held, "noisy-sufficient-statistics", epsilon, seed), parts, simulate=seed).log_prob(held.test)
        ),
    )
    structure = chow_liu(counts)
    network = Network(held.schema, structure, averaged_tables(structure, counts, variance=variance))
    yield "its parts averaged", _bits(network.log_prob(held.test))
    yield "all trees averaged", _bits(TreeAverage.of(counts, variance=variance).log_prob(held.test.codes))


def _local(held: Subject, parts: Mapping[str, Table], epsilon: str, seed: int) -> Iterator[tuple[str, float]]:
    fused = learn(_study(held, "noisy-model", epsilon, seed), parts, simulate=seed)
    yield "local models", _bits(fused.log_prob(held.test))
    own = [
        learn(_study(held, "privbayes", epsilon, seed), table, simulate=100 * seed + place).log_prob(held.test)
        for place, table in enumerate(parts.values())
    ]
    weights = np.log([table.records / held.training.records for table in parts.values()])
    yield "local models averaged", _bits(logsumexp(np.array(own) + weights[:, None], axis=0))


def _adaptive(held: Subject, parts: Mapping[str, Table], epsilon: str, seed: int) -> Iterator[tuple[str, float]]:
    network = learn(_study(held, "adaptive", epsilon, seed), parts, simulate=seed)
    yield "adaptive", _bits(network.log_prob(held.test))
    replicates = network.error
    if replicates is None:
        return
    found = []
    for parameters in replicates.field_parameters:
        law = network_of(replicates.field, parameters, records=held.training.records, smoothing=_SMOOTHING)
        found.append(Network(held.schema, law[0], tuple(law[1])).log_prob(held.test))
    yield "adaptive, averaged", _bits(logsumexp(found, axis=0) - math.log(len(found)))


def _runs(runs: int) -> Iterator[Run]:
    for table, holders in _panels():
        whole = named(table)
        held = Subject(table, whole.training, whole.test.select(slice(0, TESTED)), whole.target)
        parts = dealt(held.training, holders)
        for epsilon in EPSILONS:
            for seed in range(runs):
                for measure in (_statistics, _local, _adaptive):
                    for method, bits in measure(held, parts, epsilon, seed):
                        yield Run(table, holders, epsilon, method, seed, bits)


def main(arguments: list[str]) -> int:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(prog="bench.averaging", description=__doc__)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args(arguments)
    path = FIGURES / "averaging.json"
    found = kept(path) if given.draw else []
    for run in () if given.draw else _runs(given.runs):
        found.append(run)
        keep(path, found)
    print("\n".join(tabulated(found)))
    draw(found, _panels(), STYLES, FIGURES / "averaging.svg", most=1.8)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
