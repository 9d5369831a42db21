"""Small declared datasets to ask about."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Unit
from panbayes.tables.sources.file import File

__all__ = ["DELTA", "account", "declare", "people"]

DELTA = Fraction(1, 10**6)
PATIENT = Unit("patient")


def people(records: int = 4000) -> pl.DataFrame:
    """Made-up people: ages around 55, two common jobs, one that seven have and one that a single person has."""
    generator = np.random.default_rng(7)
    jobs = generator.choice(["nurse", "baker"], records, p=[0.6, 0.4])
    jobs[:7], jobs[7:8] = "smith", "king"
    return pl.DataFrame(
        {
            "patient": np.arange(records),
            "age": np.clip(generator.normal(55, 15, records), 0, 100).astype(int),
            "ward": generator.choice(["north", "south"], records),
            "job": jobs,
            "seen": pl.Series(generator.integers(18_300, 18_600, records)).cast(pl.Date),
        }
    )


def account(state: Path, name: str = "clinic") -> Path:
    """The ledger of a dataset in a state folder."""
    return Cabinet.in_state(state).path(name)


def declare(
    state: Path,
    *,
    changing: bool = True,
    unit: Unit | None = PATIENT,
    cap: str = "1",
    delta: Fraction = DELTA,
    table: pl.DataFrame | str | None = None,
) -> Path:
    """Declare the dataset clinic of a state folder, beside its table, a frame or CSV text; return its ledger."""
    Cabinet.in_state(state).make_folder()
    source = state / "people.csv"
    if isinstance(table, str):
        source.write_text(table)
    else:
        (people() if table is None else table).write_csv(source)
    with Ledger.open(account(state), create=True) as ledger:
        ledger.set_cap(Pure(Fraction(cap)))
        with ledger.transaction() as transaction:
            transaction.dataset.declare(Dataset(File(str(source)), unit, changing=changing, delta=delta))
    return account(state)
