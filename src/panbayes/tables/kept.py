"""Codes of records kept in a file, for as long as somebody needs them to stay what they are.

A file is the line ``panbayes codes 1``, a line of JSON (what it was kept for, the hash of the schema, how many
attributes, records and persons there are and how wide a code is), the codes record by record, and the SHA-256 of all
that. It is written whole or not at all, for its owner only, and has no name before it is whole: who is killed leaves no
records behind. One that is cut short or damaged, or was
kept for something else, is no such file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Final

import numpy as np

from panbayes.files import nameless_file
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, code_type
from panbayes.tables.counter import BlockCounter, Facts
from panbayes.tables.sources.dispatch import FrameKind
from panbayes.tables.spool import BLOCK_RECORDS, Spool

__all__ = ["KeptTable", "read_codes", "write_codes"]

_BEGINNING: Final = b"panbayes codes 1\n"
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptTable(BlockCounter):
    """Records whose codes were kept; close it, or use it in a ``with`` block, to let go of them."""

    schema: Schema
    spool: Spool
    persons: int | None

    kind: ClassVar[FrameKind] = "polars"
    """The library in which frames are given back."""

    origin: ClassVar[None] = None
    """Values are no longer known, and so not how they fit."""

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""
        return Facts(self.schema, self.spool.records, self.persons)

    def blocks(self, rows: Sequence[int] | None = None, most: int = BLOCK_RECORDS) -> Iterator[Codes]:
        """Yield the codes of the chosen attributes, C-contiguous, at most ``most`` records at a time."""
        return self.spool.blocks(rows, most)

    def close(self) -> None:
        """Let go of the records."""
        self.spool.close()

    def __enter__(self) -> KeptTable:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """Show what is public."""
        return f'Table under schema "{self.schema.name}", kept; records are not shown'


def write_codes(path: Path, records: BlockCounter, *, purpose: str) -> None:
    """Keep the codes of records in a file, in the place of one that was there; they are on disk when this returns.

    Nobody else may be keeping the same: the ledger's transaction sees to that.
    Raises :class:`OSError` as the system does.
    """
    facts = records.facts
    width = np.dtype(code_type(facts.schema)).itemsize
    said = {
        "purpose": purpose,
        "schema": facts.schema.hash,
        "attributes": len(facts.schema),
        "records": facts.records,
        "persons": facts.persons,
        "width": width,
    }
    path.unlink(missing_ok=True)
    with nameless_file(path) as file:
        digest = hashlib.sha256()
        for data in (_BEGINNING, f"{json.dumps(said, sort_keys=True)}\n".encode()):
            digest.update(data)
            file.write(data)
        for block in records.blocks():
            data = np.ascontiguousarray(block.T, dtype=f"<u{width}").tobytes()
            digest.update(data)
            file.write(data)
        file.write(digest.digest())


def read_codes(path: Path, schema: Schema, *, purpose: str) -> KeptTable | None:
    """Return the records that were kept for a ``purpose`` under a schema; None if there are none that are sound."""
    try:
        with path.open("rb") as file:
            return _read(file, schema, purpose)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _read(file: IO[bytes], schema: Schema, purpose: str) -> KeptTable | None:
    beginning, line = file.readline(len(_BEGINNING)), file.readline(10_000)
    said = json.loads(line)
    width, attributes = np.dtype(code_type(schema)).itemsize, len(schema)
    expected = (_BEGINNING, purpose, schema.hash, width, attributes)
    if (beginning, said["purpose"], said["schema"], said["width"], said["attributes"]) != expected:
        return None
    digest = hashlib.sha256(beginning + line)
    records, persons = int(said["records"]), said["persons"]
    spool = Spool(attributes, code_type(schema))
    for start in range(0, records, BLOCK_RECORDS):
        size = min(BLOCK_RECORDS, records - start)
        data = file.read(size * attributes * width)
        if len(data) != size * attributes * width:
            return None
        digest.update(data)
        spool.append(np.frombuffer(data, dtype=f"<u{width}").reshape(size, attributes).T)
    if file.read(_DIGEST_BYTES + 1) != digest.digest():
        return None
    return KeptTable(schema, spool, persons)
