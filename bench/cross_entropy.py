"""Test cross entropies of every strategy on Diabetes: ``python -m bench.cross_entropy [--runs R]``.

Each run splits the table at random, 80 % to learn from and 20 % to test on, and gives the records of the first part to
one holder or, in turns, to three. Printed are the mean over the runs and its standard error, in bits per record, lower
is better, as a Markdown table. Noise is simulated: it has the same law as the secure one.

Thesis: section "Evaluation Metric"; see errata 6, whose figures stand in the last columns.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from bench.data import diabetes
from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import Clip, Learner
from panbayes.consortium.analyst.result import SMOOTHING
from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError
from panbayes.tables.table import Table

__all__ = ["main"]

EPSILONS: Final = (Fraction(1, 10), Fraction(1), Fraction(10))
TRAINING: Final = 0.8


@dataclass(frozen=True)
class Case:
    """One row: a way to learn, and what errata 6 reports for it at each ε, if anything."""

    strategy: str
    holders: int
    score: str = "I"
    clip: Clip = "holder"
    learner: Learner = "greedy"
    degree: int = 1
    reported: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """What the row is called."""
        options = [
            *(["score R"] if self.score == "R" else []),
            *(["clipped by the analyst"] if self.clip == "analyst" else []),
            *([f"{self.learner}, degree {self.degree}"] if self.strategy == "non-private" else []),
        ]
        return self.strategy + (f" ({', '.join(options)})" if options else "")

    def study(self, table: Table, epsilon: Fraction | None, run: int) -> Study:
        """Return the study of one run; its name makes ties and samples of the analyst differ between runs."""
        return Study(
            f"cross entropy {run}",
            table.schema,
            self.strategy,
            epsilon=epsilon,
            score=self.score,
            clip=self.clip,
            learner=self.learner,
            degree=self.degree,
        )


PRIVATE: Final = (
    Case("privbayes", 1),
    Case("privbayes", 1, score="R"),
    Case("independent", 1),
    Case("noisy-sufficient-statistics", 3, reported=(148, 78, 62)),
    Case("noisy-sufficient-statistics", 3, clip="analyst"),
    Case("noisy-majority-voting", 3, reported=(78, 56, 48.6)),
    Case("noisy-majority-voting", 3, score="R"),
    Case("noisy-majority-voting", 3, clip="analyst"),
    Case("noisy-model", 3, reported=(70, 53, 49.1)),
    Case("noisy-model", 3, score="R"),
    Case("independent", 3),
    Case("independent", 3, clip="analyst"),
)
BOUNDS: Final = (
    (Case("non-private", 1), "46.1"),
    (Case("non-private", 1, degree=2), "54.3"),
    (Case("non-private", 1, learner="penalised", degree=2), "45.4"),
)
INDEPENDENT: Final = "every attribute alone, without privacy"


def _bits(network: Network, test: Table) -> float:
    """Return the cross entropy, in bits per record."""
    return float(network.log_prob(test).mean()) / -math.log(2)


def _split(table: Table, run: int) -> tuple[Table, Table]:
    order = np.random.default_rng(run).permutation(table.records)
    cut = round(TRAINING * table.records)
    return table.select(order[:cut]), table.select(order[cut:])


def _holders(training: Table, holders: int) -> dict[str, Table]:
    return {f"holder {j}": training.select(slice(j, None, holders)) for j in range(holders)}


def _measure(table: Table, runs: int) -> tuple[dict[str, list[float]], dict[tuple[Case, Fraction], list[float]]]:
    bounds: dict[str, list[float]] = {label: [] for label in (INDEPENDENT, *(case.label for case, _ in BOUNDS))}
    private: dict[tuple[Case, Fraction], list[float]] = {(case, e): [] for case in PRIVATE for e in EPSILONS}
    for run in range(runs):
        training, test = _split(table, run)
        alone = fit(table.schema, Structure.independent(len(table.schema)), ExactCounts(training), smoothing=SMOOTHING)
        bounds[INDEPENDENT].append(_bits(alone, test))
        for case, _ in BOUNDS:
            bounds[case.label].append(_bits(learn(case.study(table, None, run), training), test))
        for (case, epsilon), found in private.items():
            study = case.study(table, epsilon, run)
            found.append(_bits(learn(study, _holders(training, case.holders), simulate=run), test))
        print(f"run {run + 1} of {runs} done", file=sys.stderr, flush=True)
    return bounds, private


def _shown(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.2f} ± {error:.2f}"


def _print_bounds(bounds: Mapping[str, Sequence[float]]) -> None:
    reported = dict(zip(bounds, ("49.1, 49.3", *(text for _, text in BOUNDS)), strict=True))
    print("| without privacy | bits | reported |\n|---|---|---|")
    for label, values in bounds.items():
        print(f"| {label} | {_shown(values)} | {reported[label]} |")


def _print_private(private: Mapping[tuple[Case, Fraction], Sequence[float]]) -> None:
    head = " | ".join(f"ε = {float(epsilon):g}" for epsilon in EPSILONS)
    print(f"\n| strategy | holders | {head} | reported |\n|---|---|{'---|' * len(EPSILONS)}---|")
    for case in PRIVATE:
        cells = " | ".join(_shown(private[case, epsilon]) for epsilon in EPSILONS)
        print(f"| {case.label} | {case.holders} | {cells} | {', '.join(f'{x:g}' for x in case.reported)} |")


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.cross_entropy", description="Cross entropies on Diabetes.")
    parser.add_argument("--runs", type=int, default=10, help="random splits (default: 10)")
    runs = parser.parse_args(arguments).runs
    if runs < 1:
        parser.error("argument --runs: give 1 or more")
    try:
        table = diabetes()
    except InputError as error:
        parser.error(str(error))
    start = time.process_time()
    bounds, private = _measure(table, runs)
    print(
        f"Diabetes, {table.records:,} records, 80/20, k = 1 unless stated, {runs} runs, mean ± standard error, bits\n"
    )
    _print_bounds(bounds)
    _print_private(private)
    print(f"\n({time.process_time() - start:.0f} CPU-s)")


if __name__ == "__main__":
    main(sys.argv[1:])
