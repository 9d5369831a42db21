"""An OMOP database that is open, as a table: one row a person, made by a feature file.

The database does the work of :mod:`panbayes.tables.omop.select` in the place of reading a table, and codes leave it as
those of any table do (:mod:`panbayes.tables.sql`). It is read under the schema that belongs to the features, and under
no other: what leaves the database of a number is the lower edge of its bin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Final

from panbayes.errors import InputError
from panbayes.schema.omop.cdm import PERSON_ID, Content
from panbayes.schema.omop.features import Features
from panbayes.schema.schema import Schema
from panbayes.tables.omop.model import check_model
from panbayes.tables.remote import RemoteTable
from panbayes.tables.sources.address import OMOP, Address
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.source import Opened
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.kinds import Days, Decimals, Floats, Integers
from panbayes.tables.sql.session import Database, Rows, Session

__all__ = ["open_table"]

OPTIONS: Final = ("features", "pushdown", "schema")
"""What may follow the question mark of an OMOP database's address."""

_TYPES: Final = {
    "duckdb": {"text": "VARCHAR", "whole": "BIGINT", "number": "DOUBLE"},
    "postgres": {"text": "text", "whole": "bigint", "number": "double precision"},
}
"""What each database calls the types of what the SELECT gives."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Selected:
    """A session whose table is what the SELECT gives, with the types of its columns."""

    session: Session
    types: Mapping[str, str]

    @property
    def dialect(self) -> Dialect:
        """How the database is spoken to."""
        return self.session.dialect

    def rows(self, statement: str, words: int, raw: int, /) -> Iterator[Rows]:
        """Yield what a statement gives."""
        return self.session.rows(statement, words, raw)


class PeopleTable:
    """The people of a cohort, one row each."""

    def __init__(self, session: Session, features: Features, address: Address, *, argument: str) -> None:
        """Compile the SELECT; ``session`` has the types of what it gives."""
        from panbayes.tables.omop.select import one_row_a_person
        from panbayes.tables.sql.coding import named_select
        from panbayes.tables.sql.table import SqlTable

        self._features, self._argument = features, argument
        select = one_row_a_person(features, schema=_schema_of(address))
        self._table = SqlTable(session, named_select(select), address, argument=argument)

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column."""
        return self._table.columns

    @property
    def decimal_comma(self) -> bool:
        """Numbers are numbers."""
        return self._table.decimal_comma

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield all rows as they are."""
        return self._table.batches(names)

    def under(self, schema: Schema, columns: Mapping[str, str], /) -> Opened:
        """Return the rows as they are read under the schema of the features."""
        self._check(schema)
        return self._table.under(schema, columns)

    def counting(self, schema: Schema, columns: Mapping[str, str], /) -> RemoteTable:
        """Return what counts the rows in the database."""
        self._check(schema)
        return self._table.counting(schema, columns)

    def _check(self, schema: Schema) -> None:
        """Refuse a schema that does not follow from the features: its values would mean something else."""
        own = self._features.schema
        if schema.features != self._features.hash:
            raise InputError(
                self._argument,
                found=f"has other features than {schema.source} was written for",
                remedy="have the feature file that all holders of the study have: panbayes omop show prints its hash",
            )
        known = {attribute.name: attribute for attribute in own.attributes}
        other = next((one.name for one in schema.attributes if known.get(one.name) != one), None)
        if other is not None or schema.unit != own.unit:
            raise InputError(
                schema.source,
                found="says otherwise than its features do "
                + (f'of "{other}"' if other is not None else "whom a record belongs to"),
                remedy="change the feature file, and write the schema anew: panbayes omop schema",
            )


def _schema_of(address: Address) -> str:
    return address.option("schema") or OMOP[address.scheme]


def _types_of(features: Features, names: Mapping[str, str]) -> dict[str, str]:
    """Return what a database calls the types of what the SELECT gives, by column."""
    found = {}
    for feature in features.features:
        found[feature.name] = names["text" if not feature.bins else "whole" if feature.exact else "number"]
    return found


def _is_of(dialect: Dialect) -> Callable[[str, Content], bool]:
    """Return what tells whether values of a declared type are what the data model has."""

    def tell(declared: str, content: Content) -> bool:
        kind = dialect.kind(declared)
        if content == "number":
            # PostgreSQL's numbers of any length have no kind, and are compared as well.
            return isinstance(kind, Integers | Floats | Decimals) or declared.startswith("numeric")
        return isinstance(kind, Integers if content == "integer" else Days)

    return tell


@contextmanager
def open_table(address: Address, *, argument: str) -> Iterator[Opened]:
    """Open the people of a database until the block ends, after a look at the tables of the data model."""
    address.check_options(OPTIONS, required=("features",), argument=argument)
    features = Features.load(Path(address.option("features") or ""))
    features.require_lists()
    engine = address.scheme.removeprefix("omop+")
    sessions = import_module(f"panbayes.tables.sql.sessions.{engine}")
    opening: AbstractContextManager[Database] = sessions.open_database(
        replace(address, scheme=engine), argument=argument
    )
    with opening as database:

        def describe(table: str) -> Mapping[str, str]:
            database.describe((_schema_of(address), table))
            return {name.lower(): declared for name, declared in database.types.items()}

        person = check_model(features, describe, _is_of(database.dialect), argument=argument)
        types = {PERSON_ID: person[PERSON_ID]} | _types_of(features, _TYPES[database.dialect.name])
        yield PeopleTable(_Selected(database, types), features, address, argument=argument)
