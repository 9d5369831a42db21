"""Streams from files, one id a call, and few events in a large file.

Rows per CPU-second of ``panbayes stream feed`` beyond its start-up, beside DuckDB's ``approx_count_distinct`` of the
same column of the same file, one thread each: the CPU time of a process that reads a file of :data:`ROWS` rows (of
Parquet four times as many) less that of one that reads a few, the sides in turn, medians. One id a call: ids per
CPU-second of ``add``. Few events: bytes that reach the disk for 1,000 random users of 10⁹.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from uuid import UUID

import numpy as np
import polars as pl

from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.estimator import DensityEstimator

__all__ = ["run"]

ROWS = 8 * 10**6
USERS = 10**6
ROUNDS = 5
CALLS = 100_000

_TIMES = {".csv": 1, ".ndjson": 1, ".parquet": 4}
"""How many times over the rows are in a file of each format."""

DUCK = (
    "import duckdb, sys; c = duckdb.connect(); c.execute('set threads = 1');"
    "c.execute(f\"select approx_count_distinct(user) from '{sys.argv[1]}'\").fetchall()"
)


def _cpu(command: list[str]) -> float:
    """Return the CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "POLARS_MAX_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _write(frame: pl.DataFrame, path: Path) -> Path:
    match path.suffix:
        case ".csv":
            frame.write_csv(path)
        case ".ndjson":
            frame.write_ndjson(path)
        case _:
            # Over in no time: so many rows that their time stands out from that of starting up.
            pl.concat([frame.lazy()] * _TIMES[path.suffix]).sink_parquet(path)
    return path


def _formats(folder: Path) -> None:
    rng = np.random.default_rng(1)
    users = pl.Series("user", rng.integers(0, USERS, ROWS))
    pages = pl.Series("page", [f"/a/{i}" for i in range(1000)])[pl.Series(rng.integers(0, 1000, ROWS))]
    frame = pl.DataFrame({"t": np.arange(ROWS), "user": users, "page": pages})
    state = folder / "s.state"
    DensityEstimator.create(state, USERS, epsilon=1).close()
    for suffix in (".csv", ".ndjson", ".parquet"):
        whole = _write(frame, folder / f"whole{suffix}")
        few = _write(frame.head(10), folder / f"few{suffix}")
        sides = {
            "panbayes": ["-m", "panbayes", "stream", "feed", str(state), "--column", "user"],
            "DuckDB": ["-c", DUCK],
        }
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, side in sides.items():
                taken = [_cpu([sys.executable, *side, str(path)]) for path in (whole, few)]
                seconds[name].append(taken[0] - taken[1])
        rates = {name: ROWS * _TIMES[suffix] / max(median(each), 1e-3) / 1e6 for name, each in seconds.items()}
        ratio = rates["panbayes"] / rates["DuckDB"]
        shown = ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
        print(f"{suffix[1:]}: {shown} M rows per CPU-s; {ratio:.2f}x DuckDB", flush=True)
        whole.unlink()


def _one_by_one() -> None:
    names = [f"user-{i}@example.org" for i in range(5000)]
    addresses = [f"10.0.{i // 250}.{i % 250}" for i in range(5000)]
    for what, estimator, ids in (
        ("integers", DensityEstimator(USERS, epsilon=1), list(range(5000))),
        ("integers, a sample", DensityEstimator(USERS, epsilon=1, sample=USERS // 10), list(range(5000))),
        ("texts of a list", DensityEstimator(names, epsilon=1), names),
        ("IPv4 texts, a sample", DensityEstimator("ipv4", epsilon=1, sample=USERS), addresses),
        ("integers without a list", DistinctCounter(epsilon=1), list(range(5000))),
        ("e-mail addresses without a list", DistinctCounter(epsilon=1), names),
        ("UUIDs without a list", DistinctCounter(epsilon=1), [str(UUID(int=i << 64 | i * i)) for i in range(5000)]),
    ):
        seconds = []
        for _ in range(5):
            start = time.process_time()
            for i in range(CALLS):
                estimator.add(ids[i % 5000])
            seconds.append(time.process_time() - start)
        print(f"one id a call, {what}: {CALLS / median(seconds) / 1e3:.0f} thousand per CPU-s", flush=True)


def _written() -> int:
    """Return the bytes that every disk has been given so far."""
    rows = [line.split() for line in Path("/proc/diskstats").read_text().splitlines()]
    return sum(512 * int(row[9]) for row in rows if Path(f"/sys/block/{row[2]}").exists())


def _few_events(folder: Path) -> None:
    path = folder / "large.state"
    with DensityEstimator.create(path, 10**9, epsilon=1) as estimator:
        ids = np.random.default_rng(2).integers(0, 10**9, 1000)
        os.sync()
        before = _written()
        estimator.update(ids)
        size = path.stat().st_size
        print(f"1,000 events of 10⁹ users: {(_written() - before) / 1e6:.1f} MB of {size / 1e6:.0f} to the disk")


def run() -> None:
    """Print rates beside DuckDB's, ids one by one, and bytes written."""
    _one_by_one()
    with tempfile.TemporaryDirectory() as folder:
        if Path("/proc/diskstats").exists():
            _few_events(Path(folder))
        _formats(Path(folder))
