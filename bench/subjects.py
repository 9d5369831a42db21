"""What accuracy is measured on: a table's training and test records under a schema, and what to predict.

Names are those of :mod:`bench.stress_tables`, of a network that pgmpy's wheel carries (:data:`NETWORKS`, ``asia``),
``synthetic`` (the thesis's network, 40,000 records), ``diabetes`` (the split of :mod:`bench.quality`), or of a file
NAME.npz in one of the folders that :mod:`bench.real_tables` wrote. Real tables are shuffled by a fixed seed, four
fifths to learn from and the rest to test on; of made tables and networks 20,000 records are learned from, 5,000 tested
on.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from reproduction.synthetic import RECORDS, synthetic_network

from bench.data import diabetes
from bench.stress_tables import BESIDE, STRESS, make
from panbayes.bayesnet.network import Network
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.table import Table

__all__ = ["NETWORKS", "Subject", "as_table", "split", "subject"]

LEARNED_FROM: Final = 20_000
TESTED_ON: Final = 5_000
"""So many records of a made table are learned from and tested on."""

NETWORKS: Final = ("alarm", "child", "insurance", "hepar2", "win95pts", "water", "sachs")
"""Published networks; the first four were looked at while strategies were designed."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Records to learn from, records to test on, and the attribute that classifiers predict."""

    name: str
    training: Table
    test: Table
    target: int

    @property
    def schema(self) -> Schema:
        """The schema of both."""
        return self.training.schema


def split(table: Table, *, validation: bool = False) -> tuple[Table, Table]:
    """Return training and test records, or for validation 80 % of the training records and the rest of them."""
    order = np.random.default_rng(0).permutation(table.records)
    training, test = order[: int(0.8 * table.records)], order[int(0.8 * table.records) :]
    if validation:
        cut = int(0.8 * training.size)
        training, test = training[:cut], training[cut:]
    return table.select(np.sort(training)), table.select(np.sort(test))


def as_table(schema: Schema, codes: NDArray[np.integer]) -> Table:
    """Return codes as a table."""
    return Table(schema, np.ascontiguousarray(codes, dtype=code_type(schema)))


def _attribute(name: str, size: int, *, ordered: bool, missing: bool) -> Attribute:
    values = range(size - missing)
    return Attribute(
        name,
        categories=tuple(values) if ordered else tuple(f"v{value}" for value in values),
        missing="missing" if missing else None,
    )


def _drawn(name: str, law: Network, records: int) -> Subject:
    training, test = (
        law.sample_table(number, seed, independent=True) for number, seed in ((records, 1), (TESTED_ON, 2))
    )
    return Subject(name, training, test, len(law.schema) - 1)


def subject(name: str, folders: Sequence[Path] = ()) -> Subject:
    """Return a subject by name; real tables are looked for in the folders."""
    if name == "diabetes":
        whole = diabetes()
        return Subject(name, *split(whole), whole.schema.index("readmitted"))
    if name == "synthetic":
        return _drawn(name, synthetic_network(), RECORDS)
    if name in (*NETWORKS, "asia"):
        law: Network = importlib.import_module("bench.peers").example(name)  # loads pgmpy and pyAgrum
        return _drawn(name, law, LEARNED_FROM)
    if name in STRESS | BESIDE:
        codes, sizes = make(name)
        schema = Schema(
            name, tuple(_attribute(f"{name}{j}", size, ordered=False, missing=False) for j, size in enumerate(sizes))
        )
        table = as_table(schema, codes)
        training, test = table.select(slice(0, LEARNED_FROM)), table.select(slice(LEARNED_FROM, table.records))
        return Subject(name, training, test, len(sizes) - 1)
    found = [folder / f"{name}.npz" for folder in folders if (folder / f"{name}.npz").is_file()]
    if not found:
        raise SystemExit(f"{name}: no such table; bench/real_tables.py writes the real ones into a folder")
    data = np.load(found[0])
    columns = zip(data["names"].tolist(), data["sizes"].tolist(), data["ordered"], data["missing"], strict=True)
    schema = Schema(name, tuple(_attribute(key, size, ordered=bool(o), missing=bool(m)) for key, size, o, m in columns))
    return Subject(name, *split(as_table(schema, data["codes"])), int(data["target"]))
