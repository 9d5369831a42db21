"""What runs give of what ``panbayes plan`` predicts: errors of marginals, pairs and scores, traffic, time.

Errors are total variation distances from the records of all holders together: the mean over attributes, and over the
pairs that the learned network links. That of scores is the root of the mean square, over all pairs, of the mutual
information of noisy tables less that of the records, in bits. Noise is simulated, and records are dealt to the holders
in turns. Time is CPU time of this process, both sides together, with secure noise and ledgers on disk, after the
compiled functions are warm.

``python -m bench planned_runs`` prints the tables of ``docs/planning.md``.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from reproduction.synthetic import RECORDS, synthetic_network

from bench.data import diabetes
from bench.stress_tables import make
from bench.subjects import as_table
from panbayes.bayesnet.learning.scores.mutual_information import INFORMATION
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.strategies import sufficient_statistics
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.analyst.pooled_counts import ask_tables
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Query
from panbayes.planning.forecast import Setting, forecast
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

__all__ = ["Measured", "errors", "measure", "run", "score_error", "subject_table"]

CASES: Final = (("synthetic", ("0.1", "1", "10")), ("latent", ("0.3", "3")), ("diabetes", ("0.1", "1", "10")))
STRATEGIES: Final = (
    "independent",
    "noisy-sufficient-statistics",
    "noisy-majority-voting",
    "noisy-model",
    "adaptive",
)
HOLDERS: Final = 3
SEEDS: Final = (3, 4)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run gave: errors as shares, traffic of one holder, round trips, seconds."""

    marginals: float
    pairs: float | None
    trips: int
    messages: int
    bytes: int
    seconds: float


class _Counting(Federation):
    """A federation that counts how often holders were waited for."""

    trips = 0

    def ask_each(self, queries: Mapping[str, Query], *, round_number: int) -> dict[str, Release]:
        """Count, and ask."""
        self.trips += 1
        return super().ask_each(queries, round_number=round_number)


def subject_table(name: str, *, records: int = RECORDS, seed: int = 1) -> Table:
    """Return the records of a subject: of the synthetic network, a made table, or Diabetes (all of them)."""
    if name == "diabetes":
        return diabetes()
    if name == "synthetic":
        return synthetic_network().sample_table(records, np.random.default_rng(seed), independent=True)
    codes, sizes = make(name, records, seed)
    attributes = (Attribute(f"a{i}", categories=tuple(map(str, range(size)))) for i, size in enumerate(sizes))
    return as_table(Schema(name, tuple(attributes)), codes)


def _dealt(table: Table, holders: int) -> dict[str, Table]:
    return {f"holder {j}": table.select(slice(j, None, holders)) for j in range(holders)}


def run() -> None:
    """Print what was predicted beside what runs gave."""
    for name, epsilons in CASES:
        table = subject_table(name)
        sizes = f"{table.records:,} records, {len(table.schema)} attributes, {HOLDERS} holders"
        print(f"\n{name}: {sizes}; predicted / measured\n")
        print("| strategy | ε | marginals | pairs | scores, bits | bytes | round trips | seconds |")
        print("|---|---|---|---|---|---|---|---|")
        for strategy in STRATEGIES:
            for epsilon in epsilons:
                print(_row(Study("planned", table.schema, strategy, Fraction(epsilon)), table), flush=True)


def _row(study: Study, table: Table) -> str:
    found = forecast(Setting(study, HOLDERS, table.records))
    runs = [measure(study, table, holders=HOLDERS, seed=seed) for seed in SEEDS]
    with tempfile.TemporaryDirectory() as state:
        timed = measure(study, table, holders=HOLDERS, state=Path(state))
    scores = "–"
    if found.errors.scores is not None and found.errors.scores.expected is not None:
        measured = float(np.mean([score_error(study, table, holders=HOLDERS, seed=seed) for seed in SEEDS]))
        scores = f"{found.errors.scores.expected:.2g} / {measured:.2g}"
    pairs = [one.pairs for one in runs if one.pairs is not None]
    linked = "none" if found.errors.pairs is None or not pairs else _shares(found.errors.pairs, float(np.mean(pairs)))
    alone = _shares(found.errors.marginals, float(np.mean([one.marginals for one in runs])))
    return (
        f"| {study.strategy} | {float(study.epsilon or 0):g} | {alone} "
        f"| {linked} | {scores} | {found.bytes.expected:,.0f} / {runs[0].bytes:,} "
        f"| {found.trips.expected:.0f} / {runs[0].trips} | {found.seconds:.2f} / {timed.seconds:.2f} |"
    )


def _shares(predicted: float, measured: float) -> str:
    return f"{100 * predicted:.2g} / {100 * measured:.2g} %"


def measure(
    study: Study, table: Table, *, holders: int, seed: int | None = None, state: Path | None = None
) -> Measured:
    """Run a study with noise of this ``seed``, or secure noise and ledgers in ``state``; compare with the records."""
    with open_gates(study, _dealt(table, holders), state=state, simulate=seed) as gates:
        federation = _Counting(study, gates, simulated=seed is not None)
        start = time.process_time()
        network = learn_from(federation)
        seconds = time.process_time() - start
    each = max(federation.traffic.values(), key=lambda found: found.bytes_sent + found.bytes_received)
    marginals, pairs = errors(network, table)
    sent = each.bytes_sent + each.bytes_received
    return Measured(marginals, pairs, federation.trips, each.messages, sent, seconds)


def errors(network: Network, table: Table) -> tuple[float, float | None]:
    """Return the mean distance of single attributes, and of pairs that the network links (None if it links none)."""
    exact, names = ExactCounts(table), network.schema.names
    singles = exact.tables([(a,) for a in range(len(names))])
    found = network.posteriors()
    alone = [0.5 * np.abs(found[name] - one / table.records).sum() for name, one in zip(names, singles, strict=True)]
    edges = network.structure.edges
    linked = []
    for (parent, child), counts in zip(edges, exact.tables([tuple(edge) for edge in edges]), strict=True):
        joint = network.engine.posterior((parent, child), {})
        linked.append(0.5 * np.abs(joint - counts / table.records).sum())
    return float(np.mean(alone)), float(np.mean(linked)) if linked else None


def score_error(study: Study, table: Table, *, holders: int, seed: int) -> float:
    """Return the error of the mutual information of noisy tables of all pairs, in bits."""
    sets = tuple(combinations(range(len(table.schema)), 2))
    with open_gates(study, _dealt(table, holders), simulate=seed) as gates:
        federation = Federation(study, gates, simulated=True)
        _, counts = ask_tables(federation, sufficient_statistics.tables(study), sets, round_number=0)
    exact = ExactCounts(table)
    apart = [
        INFORMATION.value(np.maximum(noisy, 0)) - INFORMATION.value(true)
        for noisy, true in zip(counts.tables(sets), exact.tables(sets), strict=True)
    ]
    return math.sqrt(float(np.mean(np.square(apart)))) / math.log(2)
