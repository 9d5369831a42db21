"""Spark: all pairs of 43 attributes, with files as schedule and by the DataFrame, beside one process.

The table is that of :mod:`bench.large`, in row groups of 500,000 records. Each side is a process of its own that first
does the same with a smaller table, so that libraries, kernels and both workers are there; then CPU time is counted
of the process and of all that it started, Spark's machine and its Python workers (``/proc``). One process reads,
encodes and counts; with the DataFrame, Spark besides counts every attribute, to know how many records there are. By
default 1,000,000 records; ``python -m bench.spark 10000000`` for more.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench.large import make

__all__ = ["run"]

RECORDS: Final = 1_000_000
SIDES: Final = {"one": "one process", "files": "files as schedule", "frame": "DataFrame"}
_TICK: Final = os.sysconf("SC_CLK_TCK")


def run() -> None:
    """Compare at the default size."""
    compare(RECORDS)


def compare(records: int) -> None:
    """Print what each side takes, and the ratios to one process."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        print("Spark or Java is not here: nothing is measured")
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("PANBAYES_SPOOL")) as name:
        table = Path(name) / "large.parquet"
        make(table, records)
        make(Path(name) / "small.parquet", 1_200_000)  # for both workers
        print(f"{records:,} records, 43 attributes, local[2]; CPU-s", flush=True)
        alone = 0.0
        for side, words in SIDES.items():
            found = _measured(side, table)
            total = found["python"] + found["java"]
            alone = alone or total
            print(
                f"{words}: {total:.2f} (Python {found['python']:.2f}, Java {found['java']:.2f}), "
                f"{total / alone:.2f} of one process; a further question {found['again']:.2f}",
                flush=True,
            )


def _measured(side: str, table: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.spark", "--side", side, str(table)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _times() -> tuple[float, float]:
    """Return the CPU seconds so far of this process and all that it started: those of Python, and those of Java."""
    parents, spent, names = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, tail = (entry / "stat").read_text().rpartition(")")
            except OSError:  # it has ended
                continue
            fields = tail.split()
            parents[int(entry.name)] = int(fields[1])
            names[int(entry.name)] = head.partition("(")[2]
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / _TICK
    tree, grown = {os.getpid()}, True
    while grown:
        more = {process for process, parent in parents.items() if parent in tree} - tree
        tree |= more
        grown = bool(more)
    java = sum(spent[process] for process in tree if names[process] == "java")
    return sum(spent[process] for process in tree) - java, java


def side(name: str, table: Path) -> None:
    """Measure one side and print it as JSON."""
    from panbayes.tables.counter import Counter
    from panbayes.tables.diabetes import diabetes_schema
    from panbayes.tables.reading import read_records
    from panbayes.tables.remote import remote_table
    from panbayes.tables.spark.session import without_warnings

    schema = diabetes_schema()
    pairs = list(itertools.combinations(range(len(schema)), 2))
    with ExitStack() as stack:
        session = None
        if name != "one":
            from pyspark.sql import SparkSession

            os.environ["PYSPARK_PYTHON"] = sys.executable
            with without_warnings():
                session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
            stack.callback(session.stop)

        def opened(path: Path) -> Counter:
            if session is None:
                return stack.enter_context(read_records(path, schema))
            data = f"spark:///?path={path}" if name == "files" else session.read.parquet(str(path))
            found = remote_table(data, schema, argument="data", may_be_empty=False, stack=stack)
            assert found is not None
            return found

        for _ in range(2):
            opened(table.with_name("small.parquet")).count(pairs)
        before = _times()
        counter = opened(table)
        counter.count(pairs)
        after = _times()
        counter.count(pairs)
        again = sum(_times()) - sum(after)
    print(json.dumps({"python": after[0] - before[0], "java": after[1] - before[1], "again": again}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", help="a number of records, or with --side a file")
    parser.add_argument("--side", choices=list(SIDES))
    given = parser.parse_args()
    if given.side:
        side(given.side, Path(given.what))
    else:
        compare(int(given.what))
