"""A table under a public schema: compact integer codes, one contiguous row of memory per attribute.

A :class:`Table` is made by encoding a file or a data frame (:meth:`Table.read`), or from codes directly. The same
type serves private records and synthetic ones; who may see it is decided by the room that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.display import Card, shortened
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.checked_codes import CheckedCodes
from panbayes.tables.codes import Codes, Room, code_type
from panbayes.tables.counter import BlockCounter, Facts
from panbayes.tables.decoding import Draw, decode_column
from panbayes.tables.reading import Origin, SpooledTable, read_records
from panbayes.tables.sources.dispatch import FrameKind, convert_frame
from panbayes.tables.spool import BLOCK_RECORDS

__all__ = ["Table"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(BlockCounter):
    """Records encoded by a schema. ``codes[a, i]`` is the code of attribute ``a`` in record ``i``.

    ``persons`` is the number of people where the schema names a privacy unit, else None (one record each).
    ``kind`` is the library of the data frame it was read from, in which :meth:`frame` gives it back; ``origin`` is
    where it was read, None for codes that came otherwise. The codes are checked against the domains once and cannot
    change afterwards; ``checked`` is the proof that the counting kernels ask for. An array that the caller could still
    write to is copied.

    What a prompt shows is public: the schema, never a record, and not the number of records either, which is private
    where neighbouring tables differ by one record more or less. Who holds the table asks for :attr:`records`.

    >>> import polars as pl
    >>> from panbayes.schema.attribute import Attribute
    >>> schema = Schema("clinic", (Attribute("sex", categories=("F", "M"), missing="missing"),))
    >>> table = Table.read(pl.DataFrame({"sex": ["F", "M", None]}), schema)
    >>> table
    Table under schema "clinic", 1 attribute; records are not shown
    >>> table.records, table.codes.tolist()
    (3, [[0, 1, 2]])
    """

    schema: Schema
    codes: Codes
    persons: int | None = None
    kind: FrameKind = "polars"
    origin: Origin | None = None
    checked: CheckedCodes = field(init=False)

    def __post_init__(self) -> None:
        """Check the type, the shape and every code."""
        if self.codes.dtype != code_type(self.schema):
            raise InputError(
                "codes", found=f"found {self.codes.dtype}", remedy=f"give {code_type(self.schema).__name__}"
            )
        object.__setattr__(self, "checked", CheckedCodes(self.codes, self.schema.sizes))
        object.__setattr__(self, "codes", self.checked.codes)

    @classmethod
    def read(
        cls,
        source: object,
        schema: Schema,
        *,
        argument: str = "data",
        every_record: bool = False,
        may_be_empty: bool = False,
    ) -> Table:
        """Encode a file (CSV, Parquet) or a data frame (pandas, polars, Arrow) by the schema.

        No value makes this fail: what lies outside the schema has its declared place. ``argument`` names the
        source in errors about the file itself (missing columns, damaged files); a path names itself. ``every_record``
        keeps all records whatever the privacy unit, for tables that nothing is learned from. A table without records is
        an error unless it ``may_be_empty``: where their number is private, that there are none is private too.
        """
        with read_records(
            source, schema, argument=argument, every_record=every_record, may_be_empty=may_be_empty
        ) as read:
            return cls.gathered(read)

    @classmethod
    def gathered(cls, read: SpooledTable) -> Table:
        """Return records that lie in blocks as a table in memory."""
        codes = np.empty((len(read.schema), read.facts.records), dtype=code_type(read.schema))
        start = 0
        for block in read.blocks():
            codes[:, start : start + block.shape[1]] = block
            start += block.shape[1]
        codes.flags.writeable = False
        return cls(read.schema, codes, read.persons, read.kind, read.origin)

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""
        return Facts(self.schema, self.records, self.persons)

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.codes.shape[1])

    @property
    def size(self) -> int:
        """The public size under ``replace``: persons where there is a privacy unit, else records."""
        return self.facts.size

    def blocks(self, rows: Sequence[int] | None = None, most: int = BLOCK_RECORDS) -> Iterator[Codes]:
        """Yield the codes of the chosen attributes, C-contiguous, at most ``most`` records at a time."""
        chosen = list(range(len(self.schema))) if rows is None else list(rows)
        if self.records <= most and chosen == list(range(len(self.schema))):
            if self.records:
                yield self.codes
            return
        room = Room(self.codes.dtype)
        for start in range(0, self.records, most):
            take = min(most, self.records - start)
            block = room.shaped(len(chosen), take)
            for into, row in zip(block, chosen, strict=True):
                into[:] = self.codes[row, start : start + take]
            yield block

    def select(self, records: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Table:
        """Return some of the records. A table with a privacy unit cannot be cut record by record."""
        if self.persons is not None:
            raise InputError(
                "records", found="the table has a privacy unit", remedy="split it by persons before it is encoded"
            )
        chosen: Codes = np.ascontiguousarray(self.codes[:, records])
        chosen.flags.writeable = False
        return Table(self.schema, chosen, kind=self.kind)

    def decoded(self, draw: Draw | None = None) -> pl.DataFrame:
        """Decode into a polars data frame whose values encode back to the same codes.

        Bins and periods give their middles, or with ``draw`` values within.
        """
        return pl.DataFrame(
            [decode_column(codes, a, draw) for codes, a in zip(self.codes, self.schema.attributes, strict=True)]
        )

    def frame(self, kind: FrameKind | None = None, draw: Draw | None = None) -> Any:
        """Decode into a data frame of ``kind``, by default of the library the table was read from.

        The type depends on that library, hence Any; :meth:`decoded` is the typed way to polars.
        """
        return convert_frame(self.decoded(draw), kind or self.kind)

    @property
    def _title(self) -> str:
        many = f"{len(self.schema)} attribute{'s' if len(self.schema) > 1 else ''}"
        return f'Table under schema "{self.schema.name}", {many}; records are not shown'

    def __repr__(self) -> str:
        """Show what is public."""
        return self._title

    def _repr_html_(self) -> str:
        """Show what is public in a notebook."""
        rows = [(a.name, str(a.size), shortened(a.labels)) for a in self.schema.attributes]
        return Card(("attribute", "size", "values"), rows, title=self._title, what="attributes", most=len(rows)).html()
