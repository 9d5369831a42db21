"""Accuracy of every strategy on the Diabetes table, side by side with public systems: ``make bench-quality``.

``python -m bench.quality`` prints one table: test cross entropy in bits, mean total variation distance over all pairs
of attributes between as many synthetic records and the training records, CPU-seconds and peak memory; the mean over
several seeds, the same 80/20 split for all. ``--validation`` takes a fifth of the training records instead of the test
records, for choosing between variants.

Every method runs in a process of its own (its memory is its own). Noise is simulated: it has the law of the secure one,
and a seed. Peers are run once each by interpreters of their own (``make peers``); they are given the same codes, ε, δ
and domains and hand back synthetic records; their bits are those of a network (BIC, at most two parents) fitted without
privacy to ten times as many of them. DataSynthesizer is left out: 43 attributes take it hours.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final, cast

import numpy as np

from bench.data import diabetes
from bench.measures import bits, distance
from bench.subjects import as_table, split
from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.learning.search import chow_liu, penalised_greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn
from panbayes.privacy.adjacency import Adjacency
from panbayes.tables.table import Table

__all__ = ["Method", "Outcome", "main", "measure"]

DELTA: Final = Fraction(1, 10**9)
PEERS: Final[dict[str, tuple[Fraction, str]]] = {
    "dpmm AIM": (DELTA, "add-remove"),
    "dpmm MST": (DELTA, "add-remove"),
    "dpart independent": (Fraction(0), "replace"),
    "dpart PrivBayes k = 1": (Fraction(0), "replace"),
}
ALONE: Final = ("independent", "privbayes")
TOGETHER: Final = ("independent", "noisy-majority-voting", "noisy-model")


@dataclass(frozen=True, slots=True)
class Method:
    """What is run: a strategy (or a peer, or a bound without privacy) at its privacy, for so many holders."""

    name: str
    epsilon: str = "1"
    delta: str = "0"
    adjacency: str = "replace"
    holders: int = 1
    seed: int = 0
    validation: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out."""

    bits: float
    distance: float
    seconds: float
    megabytes: float


def learned(method: Method, training: Table) -> Network:
    """Learn by a strategy, or a bound without privacy; a second word in the name is the score."""
    schema = training.schema
    match method.name:
        case "no privacy, independent":
            return fit(schema, Structure.independent(len(schema)), ExactCounts(training), smoothing=0.5)
        case "no privacy, Chow–Liu":
            counts = ExactCounts(training)
            return fit(schema, chow_liu(counts), counts, smoothing=0.5)
        case "no privacy, BIC k ≤ 2":
            counts = ExactCounts(training)
            return fit(schema, penalised_greedy(counts, 2), counts, smoothing=0.5)
    strategy, _, score = method.name.partition(" ")
    study = Study(
        "quality",
        schema,
        strategy,
        Fraction(method.epsilon),
        adjacency=cast(Adjacency, method.adjacency),
        delta=Fraction(method.delta),
    )
    if score:
        study = replace(study, score=score)
    parts = np.array_split(np.random.default_rng(method.seed).permutation(training.records), method.holders)
    holders = {f"holder {j}": training.select(np.sort(part)) for j, part in enumerate(parts)}
    return learn(study, holders, simulate=method.seed)


def measure(method: Method) -> Outcome:
    """Run one method in this process."""
    training, test = split(diabetes(), validation=method.validation)
    start = time.process_time()
    network = learned(method, training)
    seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Outcome(
        bits(network, test), distance(network.sample_table(training.records, 1), training), seconds, megabytes
    )


def measure_peer(method: Method, interpreter: str) -> Outcome | None:
    """Run a peer by its interpreter; None if it is not installed or fails."""
    training, test = split(diabetes(), validation=method.validation)
    script = Path(__file__).with_name("quality_peer.py")
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.npz", Path(folder) / "made.npz"
        np.savez(given, codes=training.codes, sizes=np.array(training.schema.sizes))
        arguments = [method.name, method.epsilon, method.delta, str(method.seed), str(given), str(made)]
        done = subprocess.run([interpreter, str(script), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["failed"])[-1][:100]
            print(f"{method.name}: not measured ({reason})", flush=True)
            return None
        facts = json.loads(done.stdout.strip().splitlines()[-1])
        synthetic = np.load(made)
        many, few = (as_table(training.schema, synthetic[key]) for key in ("codes", "few"))
    counts = ExactCounts(many)
    network = fit(training.schema, penalised_greedy(counts, 2), counts, smoothing=0.5)
    return Outcome(bits(network, test), distance(few, training), facts["seconds"], facts["megabytes"])


def apart(method: Method) -> Outcome:
    """Run one method in a process of its own."""
    command = [sys.executable, "-m", "bench.quality", "--one", json.dumps(asdict(method))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Outcome(**json.loads(done.stdout))


def methods(epsilons: list[str]) -> Iterator[Method]:
    """Yield the rows of the table, without seeds."""
    for name in ("no privacy, independent", "no privacy, Chow–Liu", "no privacy, BIC k ≤ 2"):
        yield Method(name, epsilon="-")
    for epsilon in epsilons:
        for holders in (1, 3):
            for delta in ("0", str(DELTA)):
                for adjacency in ("replace", "add-remove"):
                    yield Method("adaptive", epsilon, delta, adjacency, holders)
            for name in ALONE if holders == 1 else TOGETHER:
                yield Method(name, epsilon, holders=holders)


def row(method: Method, outcomes: list[Outcome]) -> str:
    """Write one line of the table."""
    mean = [float(np.mean([getattr(o, key) for o in outcomes])) for key in ("bits", "distance", "seconds", "megabytes")]
    spread = float(np.std([o.bits for o in outcomes]))
    guarantee = f"({method.epsilon}, 1e-9)" if method.delta != "0" else method.epsilon
    return (
        f"{method.name:24s} {method.holders:7d} {guarantee:>12s} {method.adjacency:10s} "
        f"{mean[0]:7.2f} ±{spread:5.2f} {mean[1]:8.4f} {mean[2]:8.1f} {mean[3]:6.0f}"
    )


def main(arguments: list[str]) -> int:
    """Print the table; see the module."""
    parser = argparse.ArgumentParser(prog="bench.quality", description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", action="append", help="repeatable; by default 1 and 0.1")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--dpmm", default=".venv-dpmm/bin/python", help="the interpreter that has dpmm")
    parser.add_argument("--dpart", default=".venv-peers/bin/python", help="the interpreter that has dpart")
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(asdict(measure(Method(**json.loads(given.one))))))
        return 0
    epsilons = given.epsilon or ["1", "0.1"]
    print("method                   holders            ε adjacency     bits         pair TVD    CPU-s     MB")
    for method in methods(epsilons):
        seeds = 1 if method.epsilon == "-" else given.seeds
        runs = [Method(**{**asdict(method), "seed": seed, "validation": given.validation}) for seed in range(seeds)]
        print(row(method, [apart(run) for run in runs]), flush=True)
    for name, (delta, adjacency) in PEERS.items():
        interpreter = given.dpmm if name.startswith("dpmm") else given.dpart
        if not Path(interpreter).exists():
            print(f"{name}: not installed ({interpreter}); make peers puts peers into environments of their own")
            continue
        for epsilon in epsilons:
            peer = Method(name, epsilon, str(delta), adjacency, validation=given.validation)
            found = measure_peer(peer, interpreter)
            if found:
                print(row(peer, [found]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
