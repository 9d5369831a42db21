"""Comparing a table with a schema, in the memory that a few batches take. For the holder's eyes only."""

from __future__ import annotations

from panbayes.schema.schema import Schema
from panbayes.tables.fit import Fit
from panbayes.tables.reading import read_records

__all__ = ["check_table"]


def check_table(source: object, schema: Schema, *, argument: str = "data") -> Fit:
    """Tell how a file or data frame fits a schema."""
    with read_records(source, schema, argument=argument, marked=False) as read:
        return read.origin.fit
