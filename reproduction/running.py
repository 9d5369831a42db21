"""Running an experiment into a folder: results, verdicts and pictures.

``NAME.csv`` holds the results, ``NAME.json`` what run they are of and the verdicts, ``*.png`` and ``*.svg`` the
pictures. While a run goes on, what it has is kept in ``NAME.partial.jsonl``: the same command goes on from there after
any interruption. Results that are there already are not computed again; those of another run are never replaced.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from panbayes._version import __version__
from panbayes.errors import InputError
from panbayes.files import write_text, writing
from reproduction.experiment import Cell, Experiment, Verdict, cell_key
from reproduction.kept import keeping
from reproduction.partition import TURNS, Partition
from reproduction.results import Results, Value, csv_text, parse_csv
from reproduction.workers import compute

__all__ = ["Outcome", "Run", "check_folder", "run_experiment"]

_FORMAT: Final = 1
_PARTIAL: Final = ".partial.jsonl"
_FEW: Final = 9


@dataclass(frozen=True, slots=True)
class Run:
    """How experiments are run: ``quick`` or as often as in the thesis, from which ``seed``, by how many ``workers``.

    ``partition`` is how holders come to their records, where an experiment has holders.
    """

    quick: bool = False
    seed: int = 0
    workers: int = 2
    partition: Partition = TURNS

    def facts(self, experiment: Experiment) -> dict[str, Value]:
        """What decides the results: everything but the number of workers."""
        facts: dict[str, Value] = {
            "format": _FORMAT,
            "experiment": experiment.name,
            "version": __version__,
            "quick": int(self.quick),
            "repetitions": experiment.repeated(quick=self.quick),
            "seed": self.seed,
        }
        return {**facts, "partition": self.partition} if experiment.partitioned else facts

    def cells(self, experiment: Experiment) -> list[Cell]:
        """Return the cells of an experiment in this run."""
        shared: Cell = {"partition": self.partition} if experiment.partitioned else {}
        return [{**shared, **cell} for cell in experiment.cells(self.quick)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment came to: ``files`` are the names of what was written, ``drawn`` tells of pictures."""

    experiment: Experiment
    results: Results
    verdicts: tuple[Verdict, ...]
    files: tuple[str, ...]
    drawn: bool


def check_folder(experiment: Experiment, folder: Path, run: Run) -> Results | None:
    """Return the results that this very run has left in a folder; refuse those of another run."""
    csv, facts, partial = (folder / f"{experiment.name}{suffix}" for suffix in (".csv", ".json", _PARTIAL))
    if partial.exists() or not (csv.exists() or facts.exists()):
        return None  # A run that was cut short at its very end may have left both or one of them.
    try:
        text, said = csv.read_bytes().decode(), json.loads(facts.read_bytes())
    except (OSError, ValueError):
        text, said = "", None
    if (
        not isinstance(said, dict)
        or said.get("csv_sha256") != _digest(text)
        or said.get("run") != run.facts(experiment)
    ):
        there = csv if csv.exists() else facts
        raise InputError(
            "--output",
            found=f"{there} is of another run, or not of this command",
            remedy="give another folder, or remove the file",
        )
    return parse_csv(text)


def run_experiment(
    experiment: Experiment, folder: Path, run: Run, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Outcome:
    """Compute what is not there yet, judge it, draw it; ``progress`` hears how many of all cells are done."""
    results = check_folder(experiment, folder, run) or _computed(experiment, folder, run, progress)
    verdicts = experiment.judged(results)
    write_text(folder / f"{experiment.name}.json", _account(experiment, run, results, verdicts))
    pictures = _draw(experiment, results, folder)
    files = (f"{experiment.name}.csv", f"{experiment.name}.json", *pictures)
    return Outcome(experiment, results, verdicts, files, bool(pictures))


def _computed(experiment: Experiment, folder: Path, run: Run, progress: Callable[[int, int], None]) -> Results:
    cells = run.cells(experiment)
    keys = [cell_key(cell) for cell in cells]
    path = folder / f"{experiment.name}{_PARTIAL}"
    with keeping(path, run.facts(experiment)) as kept:
        left = [cell for cell, key in zip(cells, keys, strict=True) if key not in kept.done]
        progress(len(cells) - len(left), len(cells))
        repetitions = experiment.repeated(quick=run.quick)
        # For a few cells a process takes longer to start than the work itself.
        workers = run.workers if len(left) > _FEW else 1
        for done, (number, rows) in enumerate(
            compute(experiment, left, repetitions=repetitions, seed=run.seed, workers=workers), start=1
        ):
            kept.add(cell_key(left[number]), rows)
            progress(len(cells) - len(left) + done, len(cells))
        # Read back, so that what is judged is what is written.
        text = csv_text([row for key in keys for row in kept.done[key]])
        results = parse_csv(text)
        write_text(folder / f"{experiment.name}.csv", text)
        write_text(folder / f"{experiment.name}.json", _account(experiment, run, results, experiment.judged(results)))
        with writing(path):
            path.unlink()
    return results


def _account(experiment: Experiment, run: Run, results: Results, verdicts: tuple[Verdict, ...]) -> str:
    judged = [
        {
            "label": claim.label,
            "sentence": claim.sentence,
            "confirmed": verdict.confirmed,
            "numbers": verdict.numbers,
            "reason": verdict.reason,
        }
        for claim, verdict in zip(experiment.claims, verdicts, strict=True)
    ]
    account = {"run": run.facts(experiment), "csv_sha256": _digest(csv_text(results.rows)), "verdicts": judged}
    return json.dumps(account, ensure_ascii=False, indent=2) + "\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _draw(experiment: Experiment, results: Results, folder: Path) -> tuple[str, ...]:
    """Draw the pictures, where matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return ()
    # Imported here: everything else works without matplotlib, and the import takes a second.
    from reproduction.drawing import draw

    return tuple(name for picture in experiment.pictures for name in draw(picture, results, folder))
