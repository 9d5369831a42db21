"""From a source to codes, batch by batch: nothing but the codes is ever whole, and from some size on not even those.

A source is opened, its batches are encoded (:mod:`panbayes.tables.encoder`) and put away
(:mod:`panbayes.tables.spool`); under a privacy unit each person's first records are kept
(:mod:`panbayes.tables.units`). How the values fit is tallied in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, code_type
from panbayes.tables.counter import BlockCounter, Facts
from panbayes.tables.encoder import BatchEncoder
from panbayes.tables.fit import Fit, fit_of
from panbayes.tables.marks import mark_of
from panbayes.tables.ranks import rank_count, record_ranks
from panbayes.tables.sources.batch import Column
from panbayes.tables.sources.dispatch import FrameKind, check_columns, frame_kind, open_source
from panbayes.tables.sources.file import name_of
from panbayes.tables.spool import BLOCK_RECORDS, SPOOL_RECORDS, Spool
from panbayes.tables.units import FirstRecords, PersonHashes

__all__ = ["Admit", "Origin", "SpooledTable", "read_records"]

Admit: TypeAlias = Callable[[Column], NDArray[np.bool_]]
"""Says of the ids of some records whose are read."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Origin:
    """Where records were read: how the file fits, and what all of it is known by.

    ``whole`` is the mark of all records of the file where some of them may have been left out, so that the file is
    known again in whichever order it comes. ``fit`` is for the holder's eyes only.
    """

    kind: FrameKind
    fit: Fit
    whole: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpooledTable(BlockCounter):
    """Records encoded by a schema, in blocks that lie in memory or, if they are many, in an unnamed file.

    It counts as a :class:`~panbayes.tables.table.Table` does, whatever the number of records, in the same memory. Close
    it, or use it in a ``with`` block, to let go of the file.
    """

    schema: Schema
    spool: Spool
    persons: int | None
    origin: Origin

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""
        return Facts(self.schema, self.spool.records, self.persons)

    @property
    def kind(self) -> FrameKind:
        """The library of the data frame it was read from."""
        return self.origin.kind

    def blocks(self, rows: Sequence[int] | None = None, most: int = BLOCK_RECORDS) -> Iterator[Codes]:
        """Yield the codes of the chosen attributes, C-contiguous, at most ``most`` records at a time."""
        return self.spool.blocks(rows, most)

    def close(self) -> None:
        """Let go of the records."""
        self.spool.close()

    def __enter__(self) -> SpooledTable:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """Show what is public."""
        return f'Table under schema "{self.schema.name}", in blocks; records are not shown'


def read_records(
    source: object,
    schema: Schema,
    *,
    argument: str = "data",
    every_record: bool = False,
    may_be_empty: bool = False,
    keep: int | None = None,
    marked: bool = True,
    admit: Admit | None = None,
) -> SpooledTable:
    """Encode a file or a data frame, in memory up to ``keep`` records (SPOOL_RECORDS), beyond that in a file.

    The arguments are those of :meth:`panbayes.tables.table.Table.read`; without ``marked`` the file as a whole gets no
    mark. Only people whom ``admit`` lets in are read: the others are left out with all their records, as if they were
    not in the file.
    """
    unit = None if every_record else schema.unit
    names = [*schema.names, *([unit.column] if unit else [])]
    argument = name_of(source, argument)
    keep = SPOOL_RECORDS if keep is None else keep
    spool = Spool(len(schema), code_type(schema), keep=keep)
    with open_source(source, argument=argument) as opened:
        check_columns(opened, names, argument=argument)
        opened = opened.under(schema)
        order_by = opened.order_by
        ranked = 0 if order_by is None else rank_count(schema.sizes, order_by)
        hashes = PersonHashes(schema.missing_values, keep=keep, ranks=ranked) if unit else None
        encoder = BatchEncoder(schema, decimal_comma=opened.decimal_comma)
        for batch in opened.batches([*names, *((order_by or ()) if unit else ())]):
            codes = encoder.encode(batch)
            if hashes is not None and unit is not None:
                ids, ranks = batch.columns[unit.column], None
                if order_by is not None:
                    ranks = record_ranks(codes, schema.sizes, batch, order_by, argument=argument)
                if admit is not None:
                    admitted = admit(ids)
                    codes, ids = codes[:, admitted], ids.filtered(admitted)
                    ranks = None if ranks is None else ranks[:, admitted]
                hashes.append(ids, ranks)
            spool.append(codes)
            if spool.records > MAX_RECORDS:
                raise InputError(argument, found=f"has over {MAX_RECORDS:,} records", remedy="give fewer records")
    if spool.records == 0 and not may_be_empty:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    origin = Origin(frame_kind(source), fit_of(schema, encoder.tallies))
    read = SpooledTable(schema, spool, None, origin)
    if hashes is None or unit is None:
        return read
    first = hashes.first_records(unit.max_records)
    whole = mark_of(read) if marked else None
    fit = replace(origin.fit, unnamed=first.unnamed, persons=first.persons, kept=first.kept)
    return SpooledTable(schema, _kept(spool, first, keep=keep), first.persons, replace(origin, fit=fit, whole=whole))


def _kept(spool: Spool, first: FirstRecords, *, keep: int) -> Spool:
    """Return the records that are kept; the others are let go."""
    if first.kept == spool.records:
        return spool
    kept = Spool(spool.rows, spool.dtype.type, keep=keep)
    start = 0
    for block in spool.blocks():
        kept.append(block[:, first.mask(start, block.shape[1])])
        start += block.shape[1]
    spool.close()
    return kept
