"""Columns and frames of polars and pandas feed a state, with the fields that it looks at."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import polars as pl
import pytest

import panbayes.stream.frames as frames
from panbayes import DensityEstimator, DistinctCounter
from panbayes.errors import InputError
from tests.running import environment

USERS = 20_000
CERTAIN = 60
"""An E at which noise hardly shows."""

Data: TypeAlias = dict[str, list[Any]]
Make: TypeAlias = Callable[[Data], Any]
MADE: dict[str, Make] = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
}


def log() -> Data:
    return {
        "user": list(range(USERS)),
        "kind": ["buy" if i % 4 == 0 else "look" for i in range(USERS)],
        "price": [i % 7 for i in range(USERS)],
        "note": ["x"] * USERS,
    }


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_frame_feeds_one_column(make: Make) -> None:
    with DensityEstimator(2 * USERS, epsilon=CERTAIN) as estimator:
        assert make(log()).panbayes.feed(estimator, column="user") is None
        assert estimator.estimate().density == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([*range(USERS), None]),
        pl.Series([*map(str, range(USERS)), None, "nobody"]),
        pd.Series([*range(USERS), None], dtype="Int64"),
        pd.Series([*map(str, range(USERS)), None, "nobody"]),
    ],
    ids=["polars", "polars texts", "pandas", "pandas texts"],
)
def test_a_column_feeds_itself(column: Any) -> None:
    with DensityEstimator(2 * USERS, epsilon=CERTAIN) as estimator:
        assert column.panbayes.feed(estimator) is None
        assert estimator.estimate().density == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_fields_are_columns_of_the_frame(make: Make) -> None:
    with DistinctCounter(epsilon=CERTAIN, expect=USERS, where=["price>=3", "kind=buy"]) as buyers:
        make(log()).panbayes.feed(buyers, column="user")
        truth = sum(i % 4 == 0 and i % 7 >= 3 for i in range(USERS))
        assert buyers.estimate().users == pytest.approx(truth, rel=0.05)
    with DistinctCounter(epsilon=CERTAIN, expect=USERS, where=["user!=7"]) as others:
        make(log()).panbayes.feed(others, column="user")
        assert others.estimate().users == pytest.approx(USERS, rel=0.05)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_not_in_the_frame_is_named(make: Make) -> None:
    frame = make({"user": [1234], "other": [5678]})
    with DistinctCounter(epsilon=CERTAIN, expect=100, where=["kind=buy"]) as buyers:
        with pytest.raises(InputError, match="column: found 'visitor'; name a column of the frame: user, other"):
            frame.panbayes.feed(buyers, column="visitor")
        with pytest.raises(InputError, match="frame: it has no column kind"):
            frame.panbayes.feed(buyers, column="user")
    with DistinctCounter(epsilon=CERTAIN, expect=100) as everybody:
        with pytest.raises(InputError, match="ids: found") as caught:
            make({"user": [1234.5]}).panbayes.feed(everybody, column="user")
        assert "1234" not in str(caught.value)


class Watched(DensityEstimator):
    """An estimator that writes down how many ids came at once."""

    def update(self, ids: object) -> None:
        assert isinstance(ids, pl.Series)
        SIZES.append(len(ids))
        super().update(ids)


SIZES: list[int] = []


def test_a_query_is_run_some_rows_at_a_time_and_only_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect, kept = pl.LazyFrame.collect, list[int]()

    def watched(query: pl.LazyFrame, **options: Any) -> Any:
        found = collect(query, **options)
        kept.append(found.height)
        return found

    monkeypatch.setattr(pl.LazyFrame, "collect", watched)
    pl.DataFrame(log()).write_parquet(tmp_path / "log.parquet", row_group_size=1_000)
    query: Any = pl.scan_parquet(tmp_path / "log.parquet")
    with Watched(USERS, epsilon=CERTAIN) as estimator:
        query.filter(pl.col("kind") == "buy").panbayes.feed(estimator, column="user")
        assert estimator.estimate().density == pytest.approx(0.25, abs=0.002)
    assert sum(SIZES) == USERS / 4
    assert max(SIZES) < USERS / 8
    # No row is gathered beside.
    assert kept == [0]
    # A column that cannot be computed does no harm unless it is asked for.
    broken: Any = pl.LazyFrame(log()).with_columns(pl.col("kind").cast(pl.Int64).alias("number"))
    with DensityEstimator(USERS, epsilon=CERTAIN, releases=2) as fed:
        broken.panbayes.feed(fed, column="user")
        assert fed.estimate().density == pytest.approx(1, abs=0.002)
        with pytest.raises(InputError, match="frame: polars cannot compute its columns") as caught:
            broken.panbayes.feed(fed, column="number")
        assert "buy" not in str(caught.value)
        assert caught.value.__cause__ is None
        with pytest.raises(InputError, match="frame: polars cannot compute its columns"):
            frames.FedQuery(pl.scan_parquet(tmp_path / "missing.parquet")).feed(fed, column="user")


def test_pandas_need_not_be_there(tmp_path: Path) -> None:
    """As on a machine where only what the package needs is installed."""
    program = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pandas': raise ModuleNotFoundError(name)\n"
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'pandas' else find(name, *rest)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "import polars as pl, panbayes.stream.frames, panbayes.stream.duckdb_function\n"
        "assert 'duckdb' not in sys.modules and 'pandas' not in sys.modules\n"
        "assert hasattr(pl.Series([1]), 'panbayes')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
