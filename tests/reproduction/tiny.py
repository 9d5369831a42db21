"""A small experiment for tests, found by the command as the real ones are, and a script that runs the command with it.

Its cells take as long as the environment says, some for ever, so that a run can be stopped in the middle.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["EXPERIMENT", "write_script"]

EXPERIMENT = """
import os
import time

import numpy as np

from reproduction.experiment import Claim, Experiment, Picture, Verdict


def run(cell, repetitions, seed):
    stops = cell["number"] >= int(os.environ.get("TINY_STOPS", "99"))
    time.sleep(600 if stops else float(os.environ.get("TINY_PAUSE", "0")))
    drawn = np.random.default_rng(seed).normal(size=repetitions)
    return [{**cell, "part": part, "mean": float(drawn.mean()) + part} for part in range(2)]


def draw(found, figure):
    figure.subplots().plot(found.numbers("number"), found.numbers("mean"))


TINY = Experiment(
    name="tiny",
    title="Means of normal numbers",
    section="none",
    cells=lambda quick: [{"number": number} for number in range(4 if quick else 16)],
    run=run,
    claims=(Claim("none", "The mean is below 1.", lambda f: Verdict(bool(f.numbers("mean").mean() < 1), "so it is")),),
    pictures=(Picture("none", "tiny-means", draw),),
    repetitions=50,
    quick_repetitions=5,
)
"""

SCRIPT = """
import sys

import reproduction.experiments

reproduction.experiments.__path__.append({folder!r})

if __name__ == "__main__":
    from reproduction.command import main

    main()
"""


def write_script(folder: Path) -> list[str]:
    """Write the experiment and the script, and return how the script is called."""
    place = folder / "found"
    place.mkdir()
    (place / "tiny_experiment.py").write_text(EXPERIMENT, encoding="utf-8")
    script = folder / "tiny_script.py"
    script.write_text(SCRIPT.format(folder=str(place)), encoding="utf-8")
    return [sys.executable, str(script)]
