"""Our strategies on the tables of :mod:`bench.rivals`, by the same measures, and both side by side.

``python -m bench.contest learn --tables FOLDER --out ours.json NAME...`` learns and appends one object per run to the
file. ``python -m bench.contest compare ours.json docs/figures/rivals.json`` prints for every table and ε the mean of
our seeds beside AIM's better setting, measure by measure, under (ε, 10⁻⁹), add-remove, for one holder. ``page`` prints
the same for docs/accuracy.md, with every ε, privacy and number of holders that was measured. Untouched tables are
learned from only when they are asked for by name and their folder is given.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measures import of_network
from bench.quality import DELTA, Method, learned
from bench.real_tables import DEVELOPMENT, UNTOUCHED
from bench.rivals import MADE
from bench.subjects import subject

__all__ = ["compare", "learn", "main", "page"]

LOWER: Final = ("bits", "pairs", "triples", "pairs_tenfold")
HIGHER: Final = ("accuracy", "auc", "accuracy_linear", "auc_linear")
SHOWN: Final = {"bits": 2, "pairs": 4, "triples": 4, "accuracy": 3, "auc": 3, "accuracy_linear": 3, "auc_linear": 3}
"""The measures of the page, and their digits."""


def learn(names: Sequence[str], folders: Sequence[Path], methods: Sequence[Method], out: Path) -> None:
    """Learn from every table by every method, unless that was done before, and write the measures down."""
    rows: list[dict[str, Any]] = json.loads(out.read_text()) if out.exists() else []
    known = {(row["table"], json.dumps(row["method"], sort_keys=True)) for row in rows}
    for name in names:
        held = subject(name, folders)
        for method in methods:
            facts = asdict(method)
            if (name, json.dumps(facts, sort_keys=True)) in known:
                continue
            start = time.process_time()
            network = learned(method, held.training)
            seconds = time.process_time() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row = {"table": name, "method": facts, "seconds": seconds, "megabytes": peak, **of_network(network, held)}
            rows.append(row)
            out.write_text(json.dumps(rows, indent=1) + "\n")
            print(json.dumps(row), flush=True)


def _better(rows: Sequence[dict[str, Any]], measure: str) -> float:
    """Return the best setting's mean over seeds; of two ways to take a rival's bits, the better one."""
    settings: dict[object, list[float]] = {}
    for row in rows:
        value = min(row["bits"], row.get("bits_refit", np.inf)) if measure == "bits" else row[measure]
        settings.setdefault(row.get("rounds"), []).append(value)
    means = [float(np.mean(values)) for values in settings.values()]
    return max(means) if measure in HIGHER else min(means)


def compare(ours: Sequence[dict[str, Any]], rivals: Sequence[dict[str, Any]]) -> list[str]:
    """Return lines: table, ε, and every measure as ours / AIM's better setting."""
    measures = (*LOWER, *HIGHER)
    lines = [f"{'table':12s} {'ε':>5s} " + " ".join(f"{measure:>17s}" for measure in measures)]
    same = [
        row
        for row in ours
        if (row["method"]["delta"], row["method"]["adjacency"], row["method"]["holders"])
        == (str(DELTA), "add-remove", 1)
    ]
    done = [row for row in rivals if "failed" not in row]
    for table, epsilon in dict.fromkeys((row["table"], row["epsilon"]) for row in done):
        mine = [row for row in same if (row["table"], row["method"]["epsilon"]) == (table, epsilon)]
        theirs = [row for row in done if (row["table"], row["epsilon"]) == (table, epsilon)]
        cells = []
        for measure in measures:
            digits = 3 if measure == "bits" else 4
            left = f"{_better(mine, measure):.{digits}f}" if mine else "-"
            cells.append(f"{left:>8s}/{_better(theirs, measure):8.{digits}f}")
        lines.append(f"{table:12s} {epsilon:>5s} " + " ".join(cells))
    return lines


def page(ours: Sequence[dict[str, Any]], rivals: Sequence[dict[str, Any]], names: Sequence[str]) -> list[str]:
    """Return a table in Markdown: our mean, beside AIM's better setting where that was run under the same privacy.

    The better mean is bold where it is better by more than two standard errors of ours.
    """
    head = ("", "privacy", "holders", *SHOWN)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    done = [row for row in rivals if "failed" not in row]
    settings = ("epsilon", "delta", "adjacency", "holders")
    kinds = dict.fromkeys(tuple(row["method"][key] for key in settings) for row in ours)
    for epsilon, delta, adjacency, holders in sorted(kinds, key=lambda kind: (kind[3], kind[1] == "0", float(kind[0]))):
        for name in names:
            mine = [
                row
                for row in ours
                if row["table"] == name
                and tuple(row["method"][key] for key in settings) == (epsilon, delta, adjacency, holders)
            ]
            theirs = [row for row in done if (row["table"], row["epsilon"]) == (name, epsilon)]
            theirs = theirs if (delta, adjacency, holders) == (str(DELTA), "add-remove", 1) else []
            private = f"{epsilon}, pure, {adjacency}" if delta == "0" else f"({epsilon}, 10⁻⁹), {adjacency}"
            if mine:
                cells = [_cell(mine, theirs, measure) for measure in SHOWN]
                lines.append("| " + " | ".join([name, private, str(holders), *cells]) + " |")
    return lines


def _cell(mine: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]], measure: str) -> str:
    values = [row[measure] for row in mine]
    left, digits = float(np.mean(values)), SHOWN[measure]
    if not theirs:
        return f"{left:.{digits}f}"
    right = _better(theirs, measure)
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    texts = [f"{left:.{digits}f}", f"{right:.{digits}f}"]
    if abs(left - right) > 2 * error:
        better = int((left > right) != (measure in HIGHER))
        texts[better] = f"**{texts[better]}**"
    return " / ".join(texts)


def main(arguments: list[str]) -> int:
    """Learn, or compare; see the module."""
    parser = argparse.ArgumentParser(prog="bench.contest", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    learning = verbs.add_parser("learn")
    learning.add_argument("names", nargs="*", default=[*DEVELOPMENT, *MADE])
    learning.add_argument(
        "--tables", type=Path, action="append", default=[], help="a folder of real tables; repeatable"
    )
    learning.add_argument("--out", type=Path, required=True)
    learning.add_argument("--strategy", default="adaptive")
    learning.add_argument("--epsilon", action="append", help="repeatable; by default 1")
    learning.add_argument("--delta", default=str(DELTA))
    learning.add_argument("--adjacency", default="add-remove", choices=("add-remove", "replace"))
    learning.add_argument("--holders", type=int, default=1)
    learning.add_argument("--seeds", type=int, default=3)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("ours", type=Path)
    comparing.add_argument("rivals", type=Path)
    paging = verbs.add_parser("page")
    paging.add_argument("ours", type=Path)
    paging.add_argument("rivals", type=Path)
    paging.add_argument("names", nargs="*", default=[*DEVELOPMENT, *UNTOUCHED])
    given = parser.parse_args(arguments)
    if given.verb == "page":
        print("\n".join(page(json.loads(given.ours.read_text()), json.loads(given.rivals.read_text()), given.names)))
        return 0
    if given.verb == "compare":
        print("\n".join(compare(json.loads(given.ours.read_text()), json.loads(given.rivals.read_text()))))
        return 0
    methods = [
        Method(given.strategy, epsilon, given.delta, given.adjacency, given.holders, seed)
        for epsilon in given.epsilon or ["1"]
        for seed in range(given.seeds)
    ]
    learn(given.names, given.tables, methods, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
