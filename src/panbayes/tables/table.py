"""A table under a public schema: compact integer codes, one contiguous row of memory per attribute.

A :class:`Table` is made by encoding a file or a data frame (:meth:`Table.read`), or from codes directly. The same
type serves private records and synthetic ones; who may see it is decided by the room that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.display import Card, shortened
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.checked_codes import CheckedCodes
from panbayes.tables.encoding import decode_column, encode_column
from panbayes.tables.first_reading import FirstCodes, read_as_first
from panbayes.tables.marks import mark_of
from panbayes.tables.sources.dispatch import FrameKind, convert_frame, frame_kind, read_columns
from panbayes.tables.units import first_records

__all__ = ["Codes", "Table", "code_type"]

Codes: TypeAlias = NDArray[np.uint8 | np.uint16]
"""Codes of shape (attributes, records), C-contiguous, so that each attribute's codes lie side by side."""


def code_type(schema: Schema) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest integer type that holds every code of the schema."""
    return np.uint8 if max(schema.sizes) <= 256 else np.uint16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Records encoded by a schema. ``codes[a, i]`` is the code of attribute ``a`` in record ``i``.

    ``persons`` is the number of people where the schema names a privacy unit, else None (one record each).
    ``kind`` is the library of the data frame it was read from, in which :meth:`frame` gives it back; ``whole`` is the
    mark of all records of the file where some of them may have been left out, so that the file is known again in
    whichever order it comes; ``first`` reads it again as the first version did, for the ledgers of that time. The codes
    are checked against the domains once and cannot change afterwards; ``checked`` is the proof that the counting
    kernels ask for. An array that the caller could still write to is copied.

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
    whole: bytes | None = None
    first: Callable[[], FirstCodes | None] | None = None
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
        unit = None if every_record else schema.unit
        names = [*schema.names, *([unit.column] if unit else [])]
        argument = str(source) if isinstance(source, str | Path) else argument
        frame = read_columns(source, names, argument=argument, may_be_empty=may_be_empty)
        codes = np.empty((len(schema), frame.height), dtype=code_type(schema))
        for row, attribute in zip(codes, schema.attributes, strict=True):
            row[:] = encode_column(frame[attribute.name], attribute, schema.missing_values)
        persons = whole = None
        if unit is not None:
            whole = mark_of(codes)
            kept, persons = first_records(frame[unit.column], unit.max_records, schema.missing_values)
            codes = np.ascontiguousarray(codes[:, kept])
        codes.flags.writeable = False
        return cls(schema, codes, persons, frame_kind(source), whole, partial(read_as_first, source, schema))

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.codes.shape[1])

    @property
    def size(self) -> int:
        """The public size under ``replace``: persons where there is a privacy unit, else records."""
        return self.records if self.persons is None else self.persons

    def select(self, records: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Table:
        """Return some of the records. A table with a privacy unit cannot be cut record by record."""
        if self.persons is not None:
            raise InputError(
                "records", found="the table has a privacy unit", remedy="split it by persons before it is encoded"
            )
        chosen: Codes = np.ascontiguousarray(self.codes[:, records])
        chosen.flags.writeable = False
        return Table(self.schema, chosen, kind=self.kind)

    def decoded(self) -> pl.DataFrame:
        """Decode into a polars data frame whose values encode back to the same codes."""
        return pl.DataFrame(
            [decode_column(codes, a).alias(a.name) for codes, a in zip(self.codes, self.schema.attributes, strict=True)]
        )

    def frame(self, kind: FrameKind | None = None) -> Any:
        """Decode into a data frame of ``kind``, by default of the library the table was read from.

        The type depends on that library, hence Any; :meth:`decoded` is the typed way to polars.
        """
        return convert_frame(self.decoded(), kind or self.kind)

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
