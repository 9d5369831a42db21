"""Large tables: reading, encoding, fingerprint, all pairs and `adaptive`, beside the version before there was a spool.

The table has rows drawn from Diabetes with every cell drawn anew at a chance of 0.1: 31 columns of text and 12 of
integers in one Parquet file (zstd). Each measurement is a process of its own, CPU time of all its threads and the
largest memory it held; both sides take turns. The earlier side is the code of commit 6346db5, taken from this
repository into a temporary folder. By default 1,000,000 records; ``python -m bench.large 10000000`` for more,
``--ours`` without the earlier side (which takes 6.5 GB at ten million records).
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import polars as pl

from bench.memory import peak_memory

__all__ = ["run"]

BEFORE: Final = "6346db5"
"""The last version that read tables whole."""

RECORDS: Final = 1_000_000
CHUNK: Final = 500_000
RESAMPLED: Final = 0.1
ROUNDS: Final = 3

SHOWN: Final = (
    ("read", "read"),
    ("encode", "encode"),
    ("fingerprint", "fingerprint"),
    ("pairs", "all pairs"),
)


def run() -> None:
    """Compare both sides at the default size."""
    compare(RECORDS, rounds=ROUNDS)


def make(path: Path, records: int) -> None:
    """Write the table, a chunk at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from panbayes.tables.diabetes import diabetes_frame, diabetes_schema

    schema = diabetes_schema()
    frame = diabetes_frame(_published())
    numbers = [a.name for a in schema.attributes if a.numeric]
    frame = frame.with_columns(pl.col(name).cast(pl.Int64, strict=False) for name in numbers)
    rng = np.random.default_rng(7)
    writer: pq.ParquetWriter | None = None
    for start in range(0, records, CHUNK):
        many = min(CHUNK, records - start)
        rows = rng.integers(frame.height, size=many)
        drawn = {}
        for name in frame.columns:
            anew = rng.random(many) < RESAMPLED
            drawn[name] = frame[name].gather(np.where(anew, rng.integers(frame.height, size=many), rows))
        part: pa.Table = pl.DataFrame(drawn).to_arrow()
        writer = writer or pq.ParquetWriter(path, part.schema, compression="zstd")
        writer.write_table(part)
    if writer is not None:
        writer.close()


def _published() -> Path | None:
    """Return where the Diabetes archive is, if nobody says; see :mod:`bench.data`."""
    shared = Path(__file__).resolve().parents[2] / "shared" / "data" / "dataset_diabetes.zip"
    return shared if "PANBAYES_DIABETES" not in os.environ and shared.is_file() else None


def compare(records: int, *, rounds: int, earlier: bool = True) -> None:
    """Print what both sides take, and the ratios."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PANBAYES_SPOOL")) as name:
        folder = Path(name)
        table = folder / "large.parquet"
        make(table, records)
        print(f"{records:,} records, 43 attributes, {table.stat().st_size / 1e6:.0f} MB of Parquet; CPU-s", flush=True)
        before = _before(folder) if earlier else None
        found: dict[str, list[dict[str, float]]] = {"earlier": [], "now": []}
        for _ in range(rounds):
            if before is not None:
                found["earlier"].append(_measure("earlier", table, before))
            found["now"].append(_measure("now", table, None))
        sides = {side: _middle(measured) for side, measured in found.items() if measured}
        _print(sides)


def _before(folder: Path) -> Path | None:
    """Unpack the earlier version; None, with a message, where the repository does not have it."""
    here = Path(__file__).resolve().parents[1]
    git = shutil.which("git") or "git"
    packed = subprocess.run([git, "-C", str(here), "archive", BEFORE, "src"], capture_output=True, check=False)
    if packed.returncode:
        print(f"commit {BEFORE} is not in this clone: the earlier side is left out")
        return None
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder / "before", filter="data")
    return folder / "before" / "src"


def _measure(side: str, table: Path, source: Path | None) -> dict[str, float]:
    here = Path(__file__).resolve().parents[1]
    path = [str(source or here / "src"), str(here)]
    command = [sys.executable, "-m", "bench.large", "--side", side, str(table)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(path)}, check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _middle(measured: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.median([one[key] for one in measured])) for key in measured[0]}


def _print(sides: dict[str, dict[str, float]]) -> None:
    for side, found in sides.items():
        parts = ", ".join(f"{label} {found[key]:.2f}" for key, label in SHOWN)
        print(
            f"{side}: {parts}; together {_total(found):.2f}; counting inside adaptive {found['adaptive']:.2f}; peak "
            f"{found['peak'] / 1e6:.0f} MB until the pairs are counted, {found['peak_all'] / 1e6:.0f} MB in all"
        )
    if len(sides) == 2:
        now, before = sides["now"], sides["earlier"]
        print(
            f"now against earlier (targets at ten million records): read to pairs {_total(now) / _total(before):.3f} "
            f"(0.25), encoding {now['encode'] / before['encode']:.3f} (0.1), peak memory "
            f"{now['peak'] / before['peak']:.3f} (0.125), counting inside adaptive "
            f"{now['adaptive'] / before['adaptive']:.3f} (0.9)"
        )


def _total(found: dict[str, float]) -> float:
    return sum(found[key] for key, _ in SHOWN)


class _Clock:
    """CPU time of this process, summed by name."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Add the time that the block takes."""
        start = time.process_time()
        yield
        self.found[name] = self.found.get(name, 0.0) + time.process_time() - start

    def around(self, name: str, task: Callable[..., Any]) -> Callable[..., Any]:
        """Return the task with the time of every call added."""

        def timed(*args: Any, **named: Any) -> Any:
            with self.time(name):
                return task(*args, **named)

        return timed


def side(name: str, table: Path) -> None:
    """Measure one side, in a process of its own, and print it as JSON."""
    clock = _Clock()
    (_now if name == "now" else _earlier)(table, clock)
    clock.found["peak_all"] = peak_memory()
    print(json.dumps(clock.found))


def _small() -> pl.DataFrame:
    """Return Diabetes itself, to load every library and compile every kernel with."""
    from panbayes.tables.diabetes import diabetes_frame

    return diabetes_frame(_published())


def _warmed(path: Path) -> Path:
    """Write the small table into a file beside the large one, unless it is there."""
    small = path.with_name("small.parquet")
    if not small.exists():
        _small().write_parquet(small)
    return small


def _now(path: Path, clock: _Clock) -> None:
    from panbayes.consortium.holder.ledger.fingerprints import fingerprint
    from panbayes.consortium.local.learn import learn
    from panbayes.tables.counter import BlockCounter
    from panbayes.tables.diabetes import diabetes_schema
    from panbayes.tables.encoder import BatchEncoder
    from panbayes.tables.reading import read_records

    schema = diabetes_schema()
    pairs = list(itertools.combinations(range(len(schema)), 2))
    small = _warmed(path)
    learn(small, schema, epsilon=1, simulate=1)
    with read_records(small, schema) as warm:
        fingerprint(warm)
        warm.count(pairs)
    working, encode = cast(Any, BatchEncoder), BatchEncoder.encode
    working.encode = clock.around("encode", encode)
    with clock.time("all"), read_records(path, schema) as read:
        with clock.time("fingerprint"):
            fingerprint(read)
        with clock.time("pairs"):
            read.count(pairs)
        clock.found["peak"] = peak_memory()
    working.encode = encode
    clock.found["read"] = clock.found["all"] - sum(clock.found[key] for key in ("encode", "fingerprint", "pairs"))
    counting = cast(Any, BlockCounter)
    counting.count = clock.around("adaptive", BlockCounter.count)
    counting.parities = clock.around("adaptive", BlockCounter.parities)
    with clock.time("learn"):
        learn(path, schema, epsilon=1, simulate=1)


def _earlier(path: Path, clock: _Clock) -> None:
    """Do the same with the code of before, whose functions are looked up by name: they are not those of today."""
    named = importlib.import_module
    schema = named("panbayes.tables.diabetes").diabetes_schema()
    learn = named("panbayes.consortium.local.learn").learn
    encode_column = named("panbayes.tables.encoding").encode_column
    fingerprint = named("panbayes.consortium.holder.ledger.binding").fingerprint
    all_pairs = named("panbayes.tables.counting.count_tables").all_pairs
    tables = named("panbayes.tables.table")
    small = _warmed(path)
    learn(small, schema, epsilon=1, simulate=1)
    warm = tables.Table.read(small, schema)
    all_pairs(warm.checked, schema.sizes)
    vars(tables)["encode_column"] = clock.around("encode", encode_column)
    with clock.time("all"):
        table = tables.Table.read(path, schema)
        with clock.time("fingerprint"):
            fingerprint(table)
        with clock.time("pairs"):
            all_pairs(table.checked, schema.sizes)
    clock.found["peak"] = peak_memory()
    clock.found["read"] = clock.found["all"] - sum(clock.found[key] for key in ("encode", "fingerprint", "pairs"))
    for handler in ("grouped_tables", "table_choice"):
        module = named(f"panbayes.consortium.holder.handlers.{handler}")
        for name in ("count_grouped", "count_parities"):
            if hasattr(module, name):
                setattr(module, name, clock.around("adaptive", getattr(module, name)))
    with clock.time("learn"):
        learn(table, schema, epsilon=1, simulate=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", help="a number of records, or with --side a file")
    parser.add_argument("--side", choices=["now", "earlier"])
    parser.add_argument("--ours", action="store_true", help="leave the earlier side out")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    if given.side:
        side(given.side, Path(given.what))
    else:
        compare(int(given.what), rounds=given.rounds, earlier=not given.ours)
