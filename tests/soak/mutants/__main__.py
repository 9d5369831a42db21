"""Try mutants, one after the other, and write down what became of each."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.mutants.catalogue import catalogue
from tests.soak.mutants.trees import Tree
from tests.soak.mutants.trials import Trial, Trials, generated, sampled, table


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.mutants", description=__doc__)
    parser.add_argument("room", nargs="?", default="", help="a folder of src/panbayes, such as dp or consortium/holder")
    parser.add_argument("file", nargs="*", help="only mutants of these modules, such as dp/sampler.py")
    parser.add_argument("--sample", type=int, help="only so many, at random")
    parser.add_argument("--seed", type=int, default=0, help="which ones at random")
    parser.add_argument("--catalogue", action="store_true", help="the catalogue of broken promises instead of a room")
    parser.add_argument("--named", default="", help="of the catalogue only those with this in their names")
    parser.add_argument(
        "--record", type=Path, help="a file that gets a line of JSON for each; what is in it is not tried again"
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began, done = time.monotonic(), list[Trial]()
    before = _recorded(asked.record)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trials = Trials(Tree(Path(folder) / "tree"))
        if asked.catalogue:
            named = [one for one in catalogue() if asked.named in one.name and one.name not in before]
            waiting = (trials.semantic(one) for one in named)
        else:
            chosen = sampled(generated(asked.room, asked.file), many=asked.sample, seed=asked.seed)
            waiting = (
                trials.generated(one)
                for one in chosen
                if " ".join((one.file, one.code, one.before, one.after)) not in before
            )
        for trial in waiting:
            done.append(trial)
            if asked.record is not None:
                with asked.record.open("a", encoding="utf-8") as record:
                    record.write(f"{trial.text()}\n")
            if trial.outcome != "killed":
                change = f"{trial.kind}: {trial.before} -> {trial.after}"
                _say(f"{trial.outcome} {trial.file}:{trial.line} {trial.function} {change} {trial.judged}".strip())
        trials.check(done)
    for line in (*table(done), f"{time.monotonic() - began:,.0f} seconds"):
        _say(line)


def _recorded(record: Path | None) -> set[str]:
    """Return what was tried before: names of the catalogue, and what generated mutants change."""
    if record is None or not record.exists():
        return set()
    found = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {one["kind"] for one in found} | {
        " ".join((one["file"], one["code"], one["before"], one["after"])) for one in found
    }


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
