"""The strongest public system beside ours: dpmm's AIM on many tables, by the measures of :mod:`bench.measures`.

``python -m bench.rivals --tables FOLDER --keep FOLDER --out FILE [NAME...]`` runs AIM under (ε, δ = 10⁻⁹), add-remove,
at 2 and at 16 rounds per attribute (dpmm's default is 16), each run in a process of its own with half an hour of CPU
time, one after the other and at low priority. What a run made is kept, so that a list of runs can be continued and
measured again; results go to FILE, one object per run. ``make peers`` installs dpmm.

AIM's ``bits`` are those of its fitted graphical model itself. Beside them ``bits_refit`` are those of a network (BIC,
at most two parents, smoothed) fitted to ten times as many synthetic records: better where the model, which smooths
nothing, gives a rare record next to no probability. A comparison should take the lower of the two.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measures import bits, distance, of_records
from bench.real_tables import DEVELOPMENT, UNTOUCHED
from bench.subjects import Subject, as_table, subject
from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.learning.search import penalised_greedy
from panbayes.bayesnet.table_counts import ExactCounts

__all__ = ["Run", "main", "measured", "performed"]

MADE: Final = ("dense", "latent", "loops", "chain", "xor", "independent")
DELTA: Final = Fraction(1, 10**9)
LIMIT: Final = 1800
"""CPU-seconds that a run may take."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of AIM."""

    table: str
    epsilon: str
    rounds: int
    seed: int

    @property
    def key(self) -> str:
        """The name of its files."""
        return f"{self.table}-{self.epsilon}-{self.rounds}-{self.seed}"


def performed(run: Run, held: Subject, interpreter: str, keep: Path) -> dict[str, Any]:
    """Run AIM unless that was done before; return what it took, or why it failed."""
    facts, made = keep / f"{run.key}.json", keep / f"{run.key}.npz"
    if not facts.exists():
        script = Path(__file__).with_name("quality_peer.py")
        with tempfile.TemporaryDirectory() as folder:
            given = Path(folder) / "given.npz"
            np.savez(given, codes=held.training.codes, test=held.test.codes, sizes=np.array(held.schema.sizes))
            settings = ["dpmm AIM", run.epsilon, str(DELTA), run.seed, given, made, run.rounds, LIMIT]
            done = subprocess.run(
                [interpreter, str(script), *map(str, settings)],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                preexec_fn=lambda: os.nice(10),
            )
        if done.returncode:
            said = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:200]
            late = -done.returncode in (signal.SIGXCPU, signal.SIGKILL)
            outcome = {"failed": f"not done within {LIMIT} CPU-seconds" if late else said}
        else:
            outcome = json.loads(done.stdout.strip().splitlines()[-1])
        facts.write_text(json.dumps(outcome))
    found: dict[str, Any] = json.loads(facts.read_text())
    return found


def measured(run: Run, held: Subject, keep: Path) -> dict[str, float]:
    """Return the measures of what a run made."""
    made = np.load(keep / f"{run.key}.npz")
    many, few = as_table(held.schema, made["codes"]), as_table(held.schema, made["few"])
    counts = ExactCounts(many)
    refit = fit(held.schema, penalised_greedy(counts, min(2, len(held.schema) - 1)), counts, smoothing=0.5)
    return {
        "bits": float(made["log_prob"].mean()) / -math.log(2),
        "bits_refit": bits(refit, held.test),
        **of_records(few, held),
        "pairs_tenfold": distance(many, held.training),
    }


def main(arguments: list[str]) -> int:
    """Run, measure and write down, one run after the other."""
    parser = argparse.ArgumentParser(prog="bench.rivals", description=__doc__)
    parser.add_argument("names", nargs="*", default=[*DEVELOPMENT, *MADE, *UNTOUCHED, "diabetes"])
    parser.add_argument("--tables", type=Path, action="append", default=[], help="a folder of real tables; repeatable")
    parser.add_argument("--dpmm", default=".venv-dpmm/bin/python", help="the interpreter that has dpmm")
    parser.add_argument("--keep", type=Path, required=True, help="the folder for what runs make")
    parser.add_argument("--out", type=Path, required=True, help="the file for results")
    parser.add_argument("--epsilon", action="append", help="repeatable; by default 1")
    parser.add_argument("--rounds", type=int, action="append", help="per attribute; repeatable; by default 2 and 16")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only-kept", action="store_true", help="measure what was run before, run nothing")
    given = parser.parse_args(arguments)
    given.keep.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = json.loads(given.out.read_text()) if given.out.exists() else []
    known = {(row["table"], row["epsilon"], row["rounds"], row["seed"]) for row in rows}
    for name in given.names:
        held = None
        for seed in range(given.seeds):
            for epsilon in given.epsilon or ["1"]:
                for rounds in given.rounds or [2, 16]:
                    run = Run(name, epsilon, rounds, seed)
                    kept = (given.keep / f"{run.key}.json").exists()
                    if (name, epsilon, rounds, seed) in known or (given.only_kept and not kept):
                        continue
                    held = held or subject(name, given.tables)
                    row = {**asdict(run), **performed(run, held, given.dpmm, given.keep)}
                    if "failed" not in row:
                        row |= measured(run, held, given.keep)
                    rows.append(row)
                    given.out.write_text(json.dumps(rows, indent=1) + "\n")
                    print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
