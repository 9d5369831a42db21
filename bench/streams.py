"""Streams: events per CPU-second, beside approximate distinct counts without privacy and a NumPy version.

One thread, secure coins, 10⁷ events in one batch of 64-bit ids; the sides take turns and medians are compared. The
peers are DuckDB's ``approx_count_distinct`` (on its own table) and polars' ``approx_n_unique``. The NumPy version is
``state[ids] = coins < threshold`` with the same coins, on one byte a user instead of one bit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from uuid import UUID

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.state.coins import BLOCK, system_coins

__all__ = ["run"]

EVENTS = 10**7
ROUNDS = 5
TEXTS = 2 * 10**6


def _race(sides: dict[str, Callable[[], object]], events: int) -> dict[str, float]:
    """Return million events per CPU-second of each side, measured in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(ROUNDS):
        for name, side in sides.items():
            start = time.process_time()
            side()
            seconds[name].append(time.process_time() - start)
    return {name: events / median(taken) / 1e6 for name, taken in seconds.items()}


def _numpy_version(ids: NDArray[np.int64], state: NDArray[np.bool_], threshold: int) -> None:
    coins = np.empty(4 * ids.size, dtype=np.uint8)
    for start in range(0, coins.size, BLOCK):
        system_coins(coins[start : start + BLOCK])
    state[ids] = coins.view(np.uint32) < threshold


def _count(database: duckdb.DuckDBPyConnection, table: str = "events") -> object:
    return database.table(table).aggregate("approx_count_distinct(id)").fetchall()


def _zipf(users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw ids with probability proportional to 1/rank, ranks shuffled over the ids."""
    cumulative = np.cumsum(1 / np.arange(1, users + 1))
    ranks = np.searchsorted(cumulative, rng.random(EVENTS) * cumulative[-1])
    return np.asarray(rng.permutation(users)[ranks])


def _integers(database: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(1)
    for users in (10**5, 10**7):
        for name, ids in (("uniform", rng.integers(0, users, EVENTS)), ("Zipf", _zipf(users, rng))):
            series = pl.Series("id", ids)
            frame = series.to_frame()
            database.execute("create or replace table events as select * from frame")
            estimator = DensityEstimator(users, epsilon=1)
            law = estimator.setup.calibration.law
            threshold = law.update[1] if isinstance(law, StateLaw) else 0
            state = np.zeros(users, dtype=np.bool_)

            rates = _race(
                {
                    "panbayes": partial(estimator.update, ids),
                    "DuckDB": partial(_count, database),
                    "polars": series.approx_n_unique,
                    "NumPy": partial(_numpy_version, ids, state, threshold),
                },
                EVENTS,
            )
            _show(f"integers, {users:.0e} users, {name}", rates)
            del frame


def _texts(database: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(2)
    pool = [".".join(map(str, octets)) for octets in rng.integers(0, 256, (10**5, 4)).tolist()]
    series = pl.Series("id", pool)[pl.Series(rng.integers(0, len(pool), TEXTS))]
    column = series.to_arrow()
    frame = series.to_frame()
    database.execute("create or replace table events as select * from frame")
    for name, universe, sample in (
        ("a sample of 10⁶ of all addresses", "ipv4", 10**6),
        ("all addresses", "ipv4", None),
    ):
        estimator = DensityEstimator(universe, epsilon=1, sample=sample)
        rates = _race(
            {
                "panbayes": partial(estimator.update, column),
                "DuckDB": partial(_count, database),
                "polars": series.approx_n_unique,
            },
            TEXTS,
        )
        _show(f"IPv4 texts from Arrow, {name}", rates)
    del frame


def _without_a_list(database: duckdb.DuckDBPyConnection) -> None:
    """Ids of any kind into a counter of 128 KB; DuckDB on its own table and on the same Arrow column."""
    rng = np.random.default_rng(4)
    octets = rng.integers(0, 256, (10**5, 4)).tolist()
    pools = {
        "UUIDs": [str(UUID(bytes=rng.bytes(16))) for _ in range(10**5)],
        "e-mail addresses": [
            f"user{a}.{b}@mail{c % 50}.example.org" for a, b, c, _ in rng.integers(0, 10**6, (10**5, 4))
        ],
        "IPv4 texts": [".".join(map(str, four)) for four in octets],
    }
    counter = DistinctCounter(epsilon=1)
    for name, pool in pools.items():
        series = pl.Series("id", pool)[pl.Series(rng.integers(0, len(pool), TEXTS))]
        column, frame = series.to_arrow(), series.to_frame()
        database.register("arrow", pa.table({"id": column}))
        database.execute("create or replace table events as select * from frame")
        rates = _race(
            {
                "panbayes": partial(counter.update, column),
                "panbayes from polars": partial(counter.update, series),
                "DuckDB": partial(_count, database),
                "DuckDB from Arrow": partial(_count, database, "arrow"),
                "polars": series.approx_n_unique,
            },
            TEXTS,
        )
        _show(f"{name} without a list", rates)
        del frame
    for users in (10**5, 10**7):
        series = pl.Series("id", rng.integers(0, users, EVENTS))
        frame, column = series.to_frame(), series.to_arrow()
        database.register("arrow", pa.table({"id": column}))
        database.execute("create or replace table events as select * from frame")
        rates = _race(
            {
                "panbayes": partial(counter.update, column),
                "DuckDB": partial(_count, database),
                "DuckDB from Arrow": partial(_count, database, "arrow"),
                "polars": series.approx_n_unique,
            },
            EVENTS,
        )
        _show(f"integers without a list, {users:.0e} users", rates)
        del frame


def _length() -> None:
    """Throughput must not depend on how much was fed before."""
    rng = np.random.default_rng(3)
    estimator = DensityEstimator(10**6, epsilon=1)
    ids = rng.integers(0, 10**6, 1 << 20)
    estimator.update(ids)
    rates = []
    for _ in range(60):
        start = time.process_time()
        estimator.update(ids)
        rates.append(ids.size / (time.process_time() - start) / 1e6)
    print(f"first 20 batches {median(rates[:20]):.0f}, last 20 of 60 {median(rates[-20:]):.0f} M events per CPU-s")


def _show(what: str, rates: dict[str, float]) -> None:
    ours = rates["panbayes"]
    shown = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
    ratios = ", ".join(f"{ours / rate:.2f}x {name}" for name, rate in rates.items() if name != "panbayes")
    print(f"{what}: {shown} M events per CPU-s; {ratios}")


def run() -> None:
    """Print the rates of every side and our ratio to each."""
    database = duckdb.connect()
    database.execute("set threads = 1")
    _integers(database)
    _texts(database)
    _without_a_list(database)
    _length()
