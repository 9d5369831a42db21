"""Bits of the adaptive strategy over ε, holders and records, on tables of many kinds, with the laws it is held against.

``python -m bench.curves measure --tables FOLDER --out docs/figures/bits.json SET...`` learns what is missing of a set
of runs and keeps one object per run in the file, so that a long list can be continued. Sets:

=============== ======================================================================================================
``diabetes``    the split of :mod:`bench.quality`: one and three holders, (ε, δ) add-remove and pure replace, ε = 0.1, 1
``made``        made tables and networks at ε = 0.1, 1, 10, 100
``edge``        the same and some real tables at ε = 0.005 to 0.1, beside private independence
``epsilon``     some tables at ε = 0.005 to 100, one holder, both kinds of privacy
``holders``     some tables dealt out among 1, 3 and 10 holders
``records``     some tables cut down to fewer records
``small``       small schemas under pure privacy, among many holders, beside private independence and votes
``bounds``      laws without privacy: uniform, independent, Chow–Liu, penalised greedy with up to two and three parents
``cost``        CPU-seconds and memory of learning, every run in a process of its own
=============== ======================================================================================================

Real tables need the folder that ``make bench-tables`` writes. Means are over three seeds of the simulated noise, which
has the law of the secure one. :mod:`bench.curves_page` makes tables and figures of the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from bench.measures import bits, references
from bench.quality import DELTA, Method, learned
from bench.stress_tables import STRESS
from bench.subjects import NETWORKS, Subject, subject
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.division import Grant
from panbayes.privacy.adjacency import Adjacency
from panbayes.tables.table import Table

__all__ = ["Point", "main", "points"]

SETS: Final = ("diabetes", "made", "edge", "epsilon", "holders", "records", "small", "bounds", "cost")
SEEDS: Final = 3
PRIVATE: Final = ((str(DELTA), "add-remove"), ("0", "replace"))
CONCENTRATED: Final = PRIVATE[:1]
CURVED: Final = ("diabetes", "election", "churn", "alarm", "dense", "loops")
EDGE: Final = ("0.005", "0.01", "0.02", "0.05", "0.1")
EPSILONS: Final = ("0.005", "0.02", "0.1", "0.3", "1", "3", "10", "100")
AT_THE_EDGE: Final = (
    "diabetes",
    "election",
    "churn",
    "developers",
    "alarm",
    "child",
    "chain",
    "latent",
    "dense",
    "loops",
    "independent",
)
HOLDERS: Final = (1, 3, 10)
COSTLY: Final = ("diabetes", "wide", "dense")
RECORDS: Final = (1_000, 3_000, 10_000)
SMALL: Final = {
    "synthetic": (1, 5, 10, 20),
    "dense": (1, 3, 10),
    "xor": (1, 3, 10),
    "parity": (1, 3, 10),
    "asia": (1, 3, 10),
    "rare": (1, 3, 10),
}
SMALL_EPSILONS: Final = ("0.02", "0.05", "0.1", "0.3", "1")
SMALL_STRATEGIES: Final = ("adaptive", "independent", "noisy-majority-voting linear")


@dataclass(frozen=True, slots=True)
class Point:
    """One run; ``records`` is how many are learned from, 0 for all."""

    table: str
    strategy: str
    epsilon: str
    delta: str
    adjacency: str
    holders: int = 1
    records: int = 0
    seed: int = 0


def points(name: str) -> Iterator[Point]:
    """Yield the runs of a set, seed by seed."""
    for seed in range(SEEDS):
        match name:
            case "diabetes":
                for epsilon in ("1", "0.1"):
                    for holders in (1, 3):
                        for private in PRIVATE:
                            yield Point("diabetes", "adaptive", epsilon, *private, holders, seed=seed)
            case "made":
                for epsilon in ("1", "0.1", "10", "100"):
                    for table in (*STRESS, *NETWORKS):
                        yield Point(table, "adaptive", epsilon, *CONCENTRATED[0], seed=seed)
                for table in (*STRESS, *NETWORKS):
                    yield Point(table, "adaptive", "1", *PRIVATE[1], seed=seed)
            case "edge":
                for private in PRIVATE:
                    for epsilon in EDGE:
                        for table in AT_THE_EDGE:
                            for strategy in ("adaptive", "independent" if private[0] == "0" else "alone"):
                                yield Point(table, strategy, epsilon, *private, seed=seed)
            case "epsilon":
                for private in PRIVATE:
                    for table in CURVED:
                        for epsilon in EPSILONS:
                            yield Point(table, "adaptive", epsilon, *private, seed=seed)
            case "holders":
                for table in CURVED:
                    for holders in HOLDERS:
                        yield Point(table, "adaptive", "1", *CONCENTRATED[0], holders, seed=seed)
            case "records":
                for table in CURVED:
                    for records in (*RECORDS, 0):
                        yield Point(table, "adaptive", "1", *CONCENTRATED[0], records=records, seed=seed)
            case "small":
                for table, shared in SMALL.items():
                    for epsilon in SMALL_EPSILONS:
                        for holders in shared:
                            for strategy in SMALL_STRATEGIES:
                                yield Point(table, strategy, epsilon, *PRIVATE[1], holders, seed=seed)
            case "cost":
                for table in COSTLY:
                    yield Point(table, "adaptive", "1", *CONCENTRATED[0], seed=seed)


@lru_cache(maxsize=24)
def _held(table: str, folders: tuple[Path, ...]) -> Subject:
    return subject(table, folders)


def measured(point: Point, folders: list[Path]) -> dict[str, float]:
    """Learn and return bits, CPU-seconds and the peak of this process's memory."""
    held = _held(point.table, tuple(folders))
    training = held.training
    if point.records:
        order = np.random.default_rng(1000 + point.seed).permutation(training.records)[: point.records]
        training = training.select(np.sort(order))
    method = Method(point.strategy, point.epsilon, point.delta, point.adjacency, point.holders, point.seed)
    start = time.process_time()
    network = alone(method, training) if point.strategy == "alone" else learned(method, training)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"bits": bits(network, held.test), "seconds": seconds, "megabytes": peak}


def alone(method: Method, training: Table) -> Network:
    """Measure all single attributes under (ε, δ) and take the noisy counts as they are, cut off at 0, plus one half.

    The strategy ``independent`` does the same under pure privacy, which is all it has.
    """
    study = Study(
        "alone",
        training.schema,
        "adaptive",
        Fraction(method.epsilon),
        delta=Fraction(method.delta),
        adjacency=cast(Adjacency, method.adjacency),
    )
    sizes, g = training.schema.sizes, np.random.default_rng(method.seed)
    deviation = Grant.of(study).law(Fraction(1, len(sizes))).deviation
    tables = []
    for codes, size in zip(training.codes, sizes, strict=True):
        noisy = np.bincount(codes, minlength=size) + g.normal(0, deviation, size)
        counts = np.maximum(noisy, 0) + 0.5
        tables.append(counts / counts.sum())
    return Network(training.schema, Structure.independent(len(sizes)), tuple(tables))


def _apart(point: Point) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "bench.curves", "one", json.dumps(asdict(point))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(names: list[str], folders: list[Path], out: Path) -> None:
    """Measure what is missing of some sets, and write it down run by run."""
    kept: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"bounds": {}, "runs": [], "cost": []}
    for name in names:
        if name == "bounds":
            for table in dict.fromkeys((*CURVED, *AT_THE_EDGE, *STRESS, *NETWORKS)):
                if table not in kept["bounds"]:
                    found = references(subject(table, folders), only_bits=True)
                    kept["bounds"][table] = {law: measures["bits"] for law, measures in found.items()}
                    _write(kept, out)
            continue
        rows = kept["cost" if name == "cost" else "runs"]
        if name == "cost":
            _apart(Point("dense", "adaptive", "1", *CONCENTRATED[0]))  # compiles the kernels
        known = {Point(**{key: row[key] for key in Point.__dataclass_fields__}) for row in rows}
        for point in points(name):
            if point not in known:
                known.add(point)
                row = asdict(point) | (_apart(point) if name == "cost" else measured(point, folders))
                rows.append(row)
                _write(kept, out)
                print(json.dumps(row), flush=True)


def _write(kept: dict[str, Any], out: Path) -> None:
    """Write one run on one line."""
    parts = []
    for key, held in kept.items():
        if isinstance(held, dict):
            lines = [f"{json.dumps(name)}: {json.dumps(laws, ensure_ascii=False)}" for name, laws in held.items()]
            parts.append(f'"{key}": {{\n' + ",\n".join(lines) + "\n}")
        else:
            parts.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in held) + "\n]")
    out.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def main(arguments: list[str]) -> int:
    """Measure; see the module."""
    parser = argparse.ArgumentParser(prog="bench.curves", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("names", nargs="+", choices=SETS)
    measuring.add_argument(
        "--tables", type=Path, action="append", default=[], help="a folder of real tables; repeatable"
    )
    measuring.add_argument("--out", type=Path, default=Path("docs/figures/bits.json"))
    one = verbs.add_parser("one", help="measure one point, for the set cost")
    one.add_argument("point", type=json.loads)
    given = parser.parse_args(arguments)
    if given.verb == "one":
        print(json.dumps(measured(Point(**given.point), [])))
        return 0
    measure(given.names, given.tables, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
