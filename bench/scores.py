"""Votes by mutual information, by R and by the linear score: ``python -m bench.scores [--runs 3] [--draw]``.

Learns by noisy majority voting with each score, and prints the mean bits of test records as a Markdown table; the runs
are kept in docs/figures/scores.json, the figure in docs/figures/scores.svg. With ``--draw`` nothing is measured. Noise
is simulated. Diabetes is left out unless PANBAYES_DIABETES names the file (:mod:`bench.data`).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from bench.methods import EPSILONS, FIGURES, Run, Style, dealt, draw, keep, kept, named, tabulated
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn

__all__ = ["main"]

SCORES: Final = {"mutual information": "I", "R": "R", "linear": "linear"}
STYLES: Final = {
    "mutual information": Style("#5b6770", "s"),
    "R": Style("#2a7f9e", "^"),
    "linear": Style("#c05a1c", "o"),
}
SINGLE: Final = (("synthetic", 3), ("synthetic", 10), ("dense", 3), ("dense", 10), ("alarm", 3), ("loops", 3))
NOMINAL: Final = (("latent", 3), ("chain", 3))
"""Attributes whose values have no order and hang together one by one: two sides see little of that."""

DOUBLE: Final = (("synthetic", 3), ("dense", 3))
"""Learned with two parents, too."""


def _panels() -> list[tuple[str, int]]:
    real = [("diabetes", 3)] if os.environ.get("PANBAYES_DIABETES") else []
    return [*SINGLE, *NOMINAL, *real]


def _runs(runs: int) -> Iterator[Run]:
    cases = [(table, holders, 1) for table, holders in _panels()] + [(table, holders, 2) for table, holders in DOUBLE]
    for table, holders, degree in cases:
        held = named(table)
        parts = dealt(held.training, holders)
        for epsilon in EPSILONS:
            for name, score in SCORES.items():
                for seed in range(runs):
                    study = Study(
                        f"scores {seed}",
                        held.schema,
                        "noisy-majority-voting",
                        Fraction(epsilon),
                        score=score,
                        degree=degree,
                    )
                    network = learn(study, parts, simulate=seed)
                    bits = float(network.log_prob(held.test).mean()) / -math.log(2)
                    label = table if degree == 1 else f"{table}, two parents"
                    yield Run(label, holders, epsilon, name, seed, bits)


def main(arguments: list[str]) -> int:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(prog="bench.scores", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args(arguments)
    path = FIGURES / "scores.json"
    found = kept(path) if given.draw else list(_runs(given.runs))
    keep(path, found)
    print("\n".join(tabulated(found)))
    panels = list(dict.fromkeys((run.table, run.holders) for run in found))
    draw(found, panels, STYLES, FIGURES / "scores.svg", most=2.2)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
