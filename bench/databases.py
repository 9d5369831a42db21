"""Databases: codes that stream out once, beside counting inside by GROUPING SETS, for all pairs of 43 attributes.

The table has rows drawn from Diabetes with every cell drawn anew at a chance of 0.1, as in :mod:`bench.large`. CPU time
is that of this process, and for PostgreSQL also that of the server, all of its processes. Bytes are those of binary
COPY, as they go over the wire: of the codes, and of the same columns as they are. By default 100,000 records;
``python -m bench.databases 1000000`` for more, ``--streams`` without counting inside.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.postgres import USER, Postgres, programs

from bench.large import make
from panbayes.schema.schema import Schema
from panbayes.tables.diabetes import diabetes_schema
from panbayes.tables.reading import read_records
from panbayes.tables.remote import remote_table
from panbayes.tables.sources.dispatch import open_source
from panbayes.tables.sql.coding import named_table
from panbayes.tables.sql.reading import raw_reading
from panbayes.tables.sql.table import UnderSchema

__all__ = ["run"]

RECORDS: Final = 100_000
_TICKS: Final = 100


def run() -> None:
    """Compare at the default size."""
    compare(RECORDS, inside=True)


def compare(records: int, *, inside: bool) -> None:
    """Print what both ways take, and the ratios."""
    schema = diabetes_schema()
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "large.parquet"
        make(table, records)
        print(f"{records:,} records, 43 attributes, all {43 * 42 // 2} pairs; CPU-s", flush=True)
        _compare("DuckDB", _duckdb(table), schema, time.process_time, 4, inside=inside)
        if programs() is None:
            print("PostgreSQL is not installed: left out")
            return
        server = Postgres()
        try:
            address = _postgresql(table, server)
            clock = _with_server(server)
            _compare("PostgreSQL", address, schema, clock, 15, inside=inside)
            _bytes(address, schema, server)
        finally:
            server.end()


def _duckdb(table: Path) -> str:
    import duckdb

    with duckdb.connect(str(table.with_suffix(".duckdb"))) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM read_parquet(?)", [str(table)])
    return f"duckdb://{table.with_suffix('.duckdb')}?table=people"


def _postgresql(table: Path, server: Postgres) -> str:
    import adbc_driver_postgresql.dbapi as driver
    import pyarrow.parquet as pq

    read: Any = pq.read_table(table)
    uri = f"postgresql://{USER}@127.0.0.1:{server.port}/postgres"
    with driver.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", read, mode="create")
        cursor.execute("ANALYZE people")
    return server.address()


def _with_server(server: Postgres) -> Callable[[], float]:
    """Return a clock of this process and all of the server's, living and ended."""
    first = int((server.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def clock() -> float:
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            if int(path.parent.name) == first:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == first:
                ticks += sum(map(int, fields[11:13]))
        return time.process_time() + ticks / _TICKS

    return clock


def _compare(name: str, address: str, schema: Schema, clock: Callable[[], float], target: int, *, inside: bool) -> None:
    pairs = list(itertools.combinations(range(len(schema)), 2))
    with read_records(address, schema) as warm:
        warm.count(pairs)
    start = clock()
    with read_records(address, schema) as read:
        middle = clock()
        streamed = read.count(pairs).flat
    stream = clock() - start
    print(f"{name}: codes streamed out in {middle - start:.2f}, with all pairs counted here {stream:.2f}", flush=True)
    if not inside:
        return
    with ExitStack() as stack:
        start = clock()
        counter = remote_table(f"{address}&pushdown=true", schema, argument="data", may_be_empty=False, stack=stack)
        assert counter is not None
        pushed = counter.count(pairs).flat
        within = clock() - start
    assert np.array_equal(streamed, pushed), "both ways count the same"
    print(f"{name}: counted inside {within:.2f}; the stream takes 1/{within / stream:.1f} of that (target 1/{target})")


def _bytes(address: str, schema: Schema, server: Postgres) -> None:
    """Print what goes over the wire."""
    with open_source(address, argument="data") as opened:
        under = opened.under(schema).opened
        assert isinstance(under, UnderSchema)
        coded, plain = under.reading, raw_reading(schema.names, under.session, named_table(["people"]))
    sizes = [_copied(reading.statement, server) for reading in (coded, plain)]
    print(
        f"bytes: {len(coded.words)} words a record, {sizes[0] / 1e6:.1f} MB against {sizes[1] / 1e6:.1f} MB of values: "
        f"1/{sizes[1] / sizes[0]:.1f} (target 1/10)"
    )


def _copied(statement: str, server: Postgres) -> int:
    there = programs()
    assert there is not None
    command: Sequence[str | Path] = [
        *(
            there / "psql",
            "-h",
            "127.0.0.1",
            "-p",
            str(server.port),
            "-U",
            USER,
            "-X",
            "-q",
            "-d",
            "postgres",
            "-f",
            "-",
        )
    ]
    asked = f"COPY ({statement}) TO STDOUT (FORMAT binary)"
    done = subprocess.run(command, input=asked.encode(), capture_output=True, check=True)
    return len(done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int, nargs="?", default=RECORDS)
    parser.add_argument("--streams", action="store_true", help="leave counting inside out")
    given = parser.parse_args()
    compare(given.records, inside=not given.streams)
