"""Counting and scoring on Diabetes: pairs and triples against ``numpy.bincount``, linearity, peak memory.

Times are CPU time of one thread, medians of interleaved repetitions. The peer gets its codes as 64-bit integers once,
outside the clock, and computes the joint code of a pair once for all triples that share it.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.data import diabetes
from bench.memory import peak_memory
from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.tables.codes import Codes
from panbayes.tables.counting.count_tables import CountTables, all_pairs, all_triples
from panbayes.tables.table import Table

__all__ = ["run"]

LARGE = 2_000_000


def run() -> None:
    """Print the ratios, the linearity, the peak memory and the time to score all triples."""
    table = diabetes()
    codes, sizes = table.codes, table.schema.sizes
    print(f"Diabetes: {table.records:,} records, {len(sizes)} attributes with {min(sizes)} to {max(sizes)} values")
    wide = codes.astype(np.int64)
    pairs, triples = all_pairs(codes, sizes), all_triples(codes, sizes)  # also compiles
    np.testing.assert_array_equal(pairs.flat, np.concatenate([*bincount_pairs(wide, sizes)]))
    fast, peer = compare(lambda: all_pairs(codes, sizes), lambda: exhaust(bincount_pairs(wide, sizes)), 15, 5)
    report("pairs", pairs, fast, peer, "at least 4")
    fast, peer = compare(lambda: all_triples(codes, sizes), lambda: exhaust(bincount_triples(wide, sizes)), 9, 3)
    report("triples", triples, fast, peer, "at least 15")
    linearity(codes, sizes)
    memory(codes, sizes)
    scoring(table)


def bincount_pairs(codes: NDArray[np.int64], sizes: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Count all pairs with NumPy."""
    for i, j in itertools.combinations(range(len(sizes)), 2):
        yield np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j])


def bincount_triples(codes: NDArray[np.int64], sizes: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Count all triples with NumPy, one joint code for each pair."""
    for i, j in itertools.combinations(range(len(sizes)), 2):
        joint = codes[i] * sizes[j] + codes[j]
        for k in range(j + 1, len(sizes)):
            yield np.bincount(joint * sizes[k] + codes[k], minlength=sizes[i] * sizes[j] * sizes[k])


def exhaust(tables: Iterator[NDArray[np.int64]]) -> None:
    """Make every table and let it go."""
    for _ in tables:
        pass


def seconds(task: Callable[[], object]) -> float:
    """Return the CPU time of one call."""
    start = time.process_time()
    task()
    return time.process_time() - start


def compare(ours: Callable[[], object], theirs: Callable[[], object], many: int, few: int) -> tuple[float, float]:
    """Return the median CPU times of both sides, measured in turns: ``many`` and ``few`` times."""
    mine: list[float] = []
    peer: list[float] = []
    for _ in range(few):
        mine += [seconds(ours) for _ in range(many // few)]
        peer.append(seconds(theirs))
    return statistics.median(mine), statistics.median(peer)


def report(name: str, tables: CountTables, fast: float, peer: float, target: str) -> None:
    """Print one ratio."""
    print(
        f"all {len(tables):,} {name} ({tables.flat.size:,} cells): {fast * 1e3:.1f} ms, numpy.bincount "
        f"{peer * 1e3:.0f} ms, {peer / fast:.1f} times faster (target: {target})"
    )


def linearity(codes: Codes, sizes: Sequence[int]) -> None:
    """Print the cost of a record among many more records, relative to the cost among those of the table."""
    records = codes.shape[1]
    rows = np.random.default_rng(0).integers(records, size=LARGE)
    large: Codes = np.ascontiguousarray(codes[:, rows])
    for name, count in (("pairs", all_pairs), ("triples", all_triples)):
        small, big = compare(partial(count, codes, sizes), partial(count, large, sizes), 9, 3)
        ratio = big / LARGE / (small / records)
        print(f"{name} of {LARGE:,} resampled records: {big:.2f} s, {ratio:.2f} times the cost per record (linear: 1)")


def memory(codes: Codes, sizes: Sequence[int]) -> None:
    """Print the peak memory of a process of its own that counts all pairs and all triples."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, codes)
        command = [sys.executable, "-m", "bench.counting", str(path), json.dumps(list(sizes))]
        peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"peak memory of counting all pairs and triples: {peak / 1e6:.0f} MB (target: under 600)")


def count_and_print_peak(path: str, sizes: Sequence[int]) -> None:
    """Count the codes in a file; the process that :func:`memory` starts."""
    codes: Codes = np.load(path)
    counted = all_pairs(codes, sizes), all_triples(codes, sizes)
    assert all(tables.records == codes.shape[1] for tables in counted)
    print(peak_memory())


def scoring(table: Table) -> None:
    """Print the time to count and score the later attributes with every pair of the earlier ones as parents."""
    counts = ExactCounts(table)
    half = len(table.schema) // 2
    parents = list(itertools.combinations(range(half), 2))
    for score in scores().values():
        sizes = table.schema.sizes
        children = [child for child in range(half, len(sizes)) if not score.binary_child or sizes[child] == 2]
        score(counts, parents[:1], children[:1])
        elapsed = statistics.median(seconds(partial(score, counts, parents, children)) for _ in range(3))
        families = len(parents) * len(children)
        print(f"{score.name} of {families:,} families with two parents: {elapsed * 1e3:.0f} ms, counting included")


if __name__ == "__main__":
    count_and_print_peak(sys.argv[1], json.loads(sys.argv[2]))
