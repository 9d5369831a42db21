"""What two keys of a study do to the adaptive strategy: how holders choose, and what is to be predicted.

``python -m bench.study_keys choices --tables FOLDER`` prints bits with ``choices = "turns"`` and ``"together"``, for
three holders, records dealt out evenly; ``python -m bench.study_keys target --tables FOLDER`` prints the measures of
:mod:`bench.measures` without and with each table's target, for one holder at (1, 10⁻⁹). Means of three seeds; bold is
better by more than two standard errors of the difference.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measures import bits, of_network
from bench.quality import DELTA
from bench.subjects import Subject, subject
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn
from panbayes.privacy.adjacency import Adjacency

__all__ = ["beside", "main"]

SEEDS: Final = 3
HOLDERS: Final = 3
SETTINGS: Final[tuple[tuple[str, Fraction, Adjacency], ...]] = (
    ("1", DELTA, "add-remove"),
    ("1", Fraction(0), "replace"),
    ("0.1", DELTA, "add-remove"),
)
CHOSEN: Final = ("alarm", "insurance", "child", "dense", "loops", "churn", "election")
PREDICTED: Final = ("churn", "crashes", "wages", "developers", "election", "families")
MEASURES: Final = {"bits": 2, "accuracy": 3, "auc": 3, "accuracy_linear": 3, "auc_linear": 3}


def _runs(held: Subject, holders: int, **keys: Any) -> list[dict[str, float]]:
    """Learn with every seed; return bits, and all measures where one holder learns."""
    study = Study("keys", held.schema, "adaptive", **keys)
    found = []
    for seed in range(SEEDS):
        parts = {f"h{part}": held.training.select(slice(part, None, holders)) for part in range(holders)}
        network = learn(study, parts, simulate=seed)
        found.append(of_network(network, held) if holders == 1 else {"bits": bits(network, held.test)})
    return found


def beside(first: Sequence[float], second: Sequence[float], digits: int, *, higher: bool) -> str:
    """Write two means, the better one bold if it is so beyond two standard errors of the difference.

    >>> beside([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], 1, higher=False)
    '**1.0** / 2.0'
    """
    means = [float(np.mean(values)) for values in (first, second)]
    error = math.sqrt(sum(float(np.var(values, ddof=1)) / len(values) for values in (first, second)))
    texts = [f"{mean:.{digits}f}" for mean in means]
    if abs(means[0] - means[1]) > 2 * error:
        better = int((means[1] > means[0]) == higher)
        texts[better] = f"**{texts[better]}**"
    return " / ".join(texts)


def choices(folders: Sequence[Path]) -> list[str]:
    """Return the lines of the table of choices: turns / together."""
    lines = ["| turns / together, bits | " + " | ".join(CHOSEN) + " |", "|---" * (len(CHOSEN) + 1) + "|"]
    held = {name: subject(name, folders) for name in CHOSEN}
    for epsilon, delta, adjacency in SETTINGS:
        cells = []
        for name in CHOSEN:
            both = [
                [
                    run["bits"]
                    for run in _runs(
                        held[name], HOLDERS, epsilon=Fraction(epsilon), delta=delta, adjacency=adjacency, choices=how
                    )
                ]
                for how in ("turns", "together")
            ]
            cells.append(beside(both[0], both[1], 2, higher=False))
        private = f"({epsilon}, 10⁻⁹), {adjacency}" if delta else f"{epsilon}, pure, {adjacency}"
        lines.append(f"| {private} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def target(folders: Sequence[Path]) -> list[str]:
    """Return the lines of the table of targets: without / with."""
    lines = ["| without / with a target | " + " | ".join(MEASURES) + " |", "|---" * (len(MEASURES) + 1) + "|"]
    for name in PREDICTED:
        held = subject(name, folders)
        keys = {"epsilon": Fraction(1), "delta": DELTA, "adjacency": "add-remove"}
        without, pulled = _runs(held, 1, **keys), _runs(held, 1, **keys, target=held.schema.names[held.target])
        cells = [
            beside([run[key] for run in without], [run[key] for run in pulled], digits, higher=key != "bits")
            for key, digits in MEASURES.items()
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main(arguments: list[str]) -> int:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(prog="bench.study_keys", description=__doc__)
    parser.add_argument("key", choices=("choices", "target"))
    parser.add_argument("--tables", type=Path, action="append", default=[], help="a folder of real tables; repeatable")
    given = parser.parse_args(arguments)
    print("\n".join((choices if given.key == "choices" else target)(given.tables)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
