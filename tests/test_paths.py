"""Whatever takes a path refuses one that no file can have, in words for users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from panbayes import (
    DensityEstimator,
    DistinctCounter,
    InputError,
    Network,
    Returning,
    Schema,
    StreamEstimator,
    Study,
    Table,
    learn,
    portfolio,
    read_bif,
)
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.stream.ids.feeding import batches
from panbayes.stream.state.inspection import inspect_state
from panbayes.tables.diabetes import load_diabetes
from tests.consortium.studies import SCHEMA, population

TAKERS: dict[str, Callable[[str], object]] = {
    "state to open": DensityEstimator.open,
    "state to estimate from": lambda path: DistinctCounter.open(path, writing=False),
    "state to make, density": lambda path: DensityEstimator.create(path, 100, epsilon=1),
    "state to make, distinct": lambda path: DistinctCounter.create(path, epsilon=1, expect=100),
    "state to make, statistic": lambda path: StreamEstimator.create(path, 100, Returning(), epsilon=1),
    "state to inspect": lambda path: inspect_state(Path(path)),
    "states of a portfolio": lambda path: portfolio([path]),
    "list of ids": lambda path: DensityEstimator(Path(path), epsilon=1),
    "list of ids, as text": lambda path: DensityEstimator(path, epsilon=1),
    "ids to feed": lambda path: list(batches(path)),
    "ids to feed, Parquet": lambda path: list(batches(f"{path}.parquet", column="id")),
    "ledger": Ledger.open,
    "ledger to make": lambda path: Ledger.open(path, create=True),
    "ledger to read": Ledger.read,
    "study": Study.load,
    "schema": Schema.load,
    "table": lambda path: Table.read(path, SCHEMA),
    "table to learn from": lambda path: learn(path, SCHEMA, epsilon=1),
    "schema to learn by": lambda path: learn([], path, epsilon=1),
    "folder of ledgers": lambda path: learn(population().sample(50, seed=1), SCHEMA, epsilon=1, state=path),
    "model": Network.load,
    "BIF": read_bif,
    "model to write": lambda path: population().save(path),
    "published table": load_diabetes,
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize("name", ["a\0b", "\0", "a/\0.ledger"])
def test_a_path_with_a_nul_is_an_error_about_the_input(
    take: Callable[[str], object], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"NUL|not a file"):
        take(name)
    assert not list(tmp_path.iterdir())
