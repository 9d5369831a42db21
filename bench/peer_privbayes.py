"""PrivBayes of dpart and of DataSynthesizer, each in a process of its own inside ``.venv-peers``.

``python bench/peer_privbayes.py PEER FILE.csv`` learns at k = 1, ε = 1 from a file of text values and prints, as JSON,
the CPU seconds of learning alone, its own and those of the processes it started. Everything that is not needed to
learn (imports, and for dpart, which takes a data frame, reading the file) stays outside the clock. All attributes are
declared categorical, so that neither peer spends time guessing.

This file is also imported by ``python -m bench`` in the ordinary environment, where the peers are missing; so they are
imported where they are used.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

__all__ = ["PEERS", "PeerError", "environment", "peer_seconds"]

PEERS = ("dpart", "DataSynthesizer")
EPSILON = 1.0
DEGREE = 1


class PeerError(Exception):
    """A peer did not finish; the text says why."""


def environment() -> Path:
    """Return where the interpreter of the peers' environment is, or would be."""
    return Path(__file__).resolve().parents[1] / ".venv-peers" / "bin" / "python"


def peer_seconds(peer: str, file: Path, *, limit: float) -> float:
    """Return the CPU seconds a peer needs to learn from a CSV file; give up after ``limit`` seconds on the clock."""
    command = [str(environment()), "-P", str(Path(__file__).resolve()), peer, str(file)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=file.parent
    )
    try:
        out, err = child.communicate(timeout=limit)
    except BaseException as error:
        os.killpg(child.pid, signal.SIGKILL)  # with the pool that DataSynthesizer starts
        child.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise PeerError(f"did not finish within {limit:.0f} s") from None
        raise
    if child.returncode:
        raise PeerError(f"failed: {(err.strip().splitlines() or ['no message'])[-1]}")
    return float(json.loads(out.strip().splitlines()[-1])["seconds"])


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the finished ones that it started."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def _dpart(file: str) -> float:
    import pandas as pd
    from dpart.engines import PrivBayes

    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    model = PrivBayes(n_parents=DEGREE, epsilon=EPSILON)
    start = _cpu_seconds()
    model.fit(frame)
    return _cpu_seconds() - start


def _datasynthesizer(file: str) -> float:
    from DataSynthesizer.DataDescriber import DataDescriber

    with Path(file).open(encoding="utf-8") as lines:
        names = lines.readline().strip().split(",")
    describer = DataDescriber()
    start = _cpu_seconds()
    with contextlib.redirect_stdout(sys.stderr):
        describer.describe_dataset_in_correlated_attribute_mode(
            file,
            k=DEGREE,
            epsilon=EPSILON,
            attribute_to_datatype=dict.fromkeys(names, "String"),
            attribute_to_is_categorical=dict.fromkeys(names, True),
            attribute_to_is_candidate_key=dict.fromkeys(names, False),
        )
    return _cpu_seconds() - start


def _main(peer: str, file: str) -> None:
    warnings.simplefilter("ignore")
    learn = {"dpart": _dpart, "DataSynthesizer": _datasynthesizer}[peer]
    print(json.dumps({"peer": peer, "seconds": learn(file)}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
