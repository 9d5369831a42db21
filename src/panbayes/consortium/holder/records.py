"""A holder's records for one study: read as the study's schema says, in memory or, where they are many, in a file.

Records that may not leave their database, or that lie on other machines, are counted there instead.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TypeAlias

from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.kept import KeptTable
from panbayes.tables.reading import Admit, SpooledTable, read_records
from panbayes.tables.remote import RemoteTable, remote_table
from panbayes.tables.sources.address import OMOP, address_of
from panbayes.tables.sources.dispatch import counted_there
from panbayes.tables.table import Table

__all__ = ["Records", "read_for"]

Records: TypeAlias = Table | SpooledTable | KeptTable | RemoteTable
"""A holder's records, in this process or counted elsewhere."""


def read_for(
    study: Study, data: object, *, argument: str, stack: ExitStack, admit: Admit | None = None
) -> Table | SpooledTable | RemoteTable:
    """Read a file or a data frame for a study; where it takes a file of its own, that is gone when the stack ends.

    Where only some people are let in (``admit``) their ids are looked at, so records that stay elsewhere cannot be
    read.
    """
    _require_order(data, study.schema, argument=argument)
    # Where the number of records is private, that there are none is nobody's business.
    private = study.adjacency == "add-remove"
    if admit is None:
        remote = remote_table(data, study.schema, argument=argument, may_be_empty=private, stack=stack)
        if remote is not None:
            return remote
    read = read_records(data, study.schema, argument=argument, may_be_empty=private, admit=admit)
    if read.spool.in_file:
        return stack.enter_context(read)
    with read:
        return Table.gathered(read)


def _require_order(data: object, schema: Schema, *, argument: str) -> None:
    """Refuse to keep a person's first records where the table has no order, and nobody said which come first.

    By their codes alone the lowest would stay, soundly, and the model would be one of those. Whether a person has more
    records than are kept is nobody's business, so it is asked for under every unit. Features make one row a person.
    """
    if schema.unit is None:
        return
    there = counted_there(data, argument=argument)  # Complains of what nobody reads.
    address = address_of(data, argument=argument)
    if address is None:
        ordered, where = not there, "make it a view, and give spark://VIEW?order_by=…"
    else:
        ordered, where = address.scheme in OMOP or bool(address.names("order_by")), "add order_by=… to the address"
    if not ordered:
        raise InputError(
            argument,
            found="has no order of its own, and the schema's [unit] keeps each person's first records",
            remedy=f"{where}: a column such as the day of a visit, or, where everybody has one record, "
            f"{schema.unit.column}",
        )
