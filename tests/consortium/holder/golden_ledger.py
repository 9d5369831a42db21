"""Ledgers written by every version, with the studies, the questions and the replies in them.

``golden/version-1.ledger`` was written by panbayes 0.1.0 through real gates: four studies of four strategies, one of
them with a delta, under two schemas, with caps of both privacy classes. ``version-1.json`` is what went out: every
question, its reply and its head. ``version-2.ledger`` has the same studies and caps, and at its end a look without
privacy and a study that was closed before it had spent everything. ``version-3.ledger`` has all that and answers that
failed: three to "spring", which the holder has looked at, one to "autumn", and three to "frost", which is paused.
``version-4.ledger`` is that one after its records came back: marked as records are since, beside the marks it had.
``version-5.ledger`` is that one after more has happened: "equinox" was approved, answered, asked for again, refused,
overran its time, was stopped and resumed; another study was declined, and strangers were not let in.
``version-6.ledger`` is that one after its dataset was declared, with a δ of its own, and a proposal was charged.

``grown-4.ledger`` is the one of the first version with an entry of each version from 2 to 4 after its own, each written
by a panbayes of that time.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.dp.secure import SecureNoise
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

EARLIER = (
    "an earlier version of panbayes began this study, and asked otherwise: finish it with that version, or "
    "have the holders close it (panbayes holder ledger close) and agree on a new one"
)
"""What is told of a study that was asked as later versions do not ask."""

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Exchange:
    """A question of a study and the reply it got."""

    study: Study
    question: bytes
    reply: bytes


@dataclass(frozen=True)
class Golden:
    """The ledger of one version, and what went out of it."""

    version: int

    @cached_property
    def released(self) -> dict[str, Any]:
        """What went out, as it was written down."""
        found: dict[str, Any] = json.loads((FOLDER / f"version-{self.version}.json").read_text(encoding="utf-8"))
        return found

    @property
    def first(self) -> str:
        """The head before the first entry."""
        return str(self.released["first"])

    @property
    def heads(self) -> list[str]:
        """The heads that went out."""
        return list(self.released["heads"])

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The questions and their replies."""
        return [
            Exchange(Study.load(FOLDER / f"{study}.toml"), bytes.fromhex(question), bytes.fromhex(reply))
            for study, question, reply in (entry.values() for entry in self.released["asked"])
        ]

    def copy(self, folder: Path) -> Path:
        """Copy the ledger, as its holder has it: for nobody else to read."""
        path = folder / "golden.ledger"
        shutil.copyfile(FOLDER / f"version-{self.version}.ledger", path)
        path.chmod(0o600)
        if self.version > 4:
            path.with_name(f"{path.name}-attempt").touch()
        return path


FIRST_VERSION = Golden(1)
EXCHANGES = FIRST_VERSION.exchanges
HEADS = FIRST_VERSION.heads


def golden(folder: Path) -> Path:
    """Copy the ledger of the first version."""
    return FIRST_VERSION.copy(folder)


def records(schema: Schema) -> Table:
    """Return the records the ledger belongs to, under one of its schemas."""
    rows = np.arange(60)
    codes = [(rows * (position + 3) + rows // 7) % size for position, size in enumerate(schema.sizes)]
    return Table(schema, np.stack(codes).astype(np.uint8))


def gate(ledger: Ledger, study: Study) -> Gate:
    """Return a gate to these records."""
    return Gate(records(study.schema), study, ledger, SecureNoise())


def layout(path: Path) -> set[tuple[str, str, str]]:
    """Return the tables, indices and triggers of a ledger, as SQLite keeps them, and its version."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return {*rows, ("version", "", str(version))}


def replay(ledger: Ledger, exchanges: Sequence[Exchange] = EXCHANGES) -> list[bytes]:
    """Ask every old question again."""
    return [gate(ledger, exchange.study).ask(exchange.question) for exchange in exchanges]
