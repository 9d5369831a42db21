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
from panbayes.tables.sql.table import SqlTable

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
    """The people of a cohort, one row each. Of several feature files a schema says which it was written for."""

    def __init__(self, database: Database, known: Sequence[Features], address: Address, *, argument: str) -> None:
        """Look at nothing yet; ``known`` are the features of the site, at least one."""
        self._database, self._known, self._address, self._argument = database, tuple(known), address, argument

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column that any of the features make."""
        names = (one.name for features in self._known for one in features.features)
        return tuple(dict.fromkeys((PERSON_ID, *names)))

    @property
    def decimal_comma(self) -> bool:
        """Numbers are numbers."""
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield all rows as they are."""
        if len(self._known) > 1:
            raise InputError(
                self._argument, found="names several feature files", remedy="name one, or read it under a schema"
            )
        return self._made_by(self._known[0]).batches(names)

    def under(self, schema: Schema, columns: Mapping[str, str], /) -> Opened:
        """Return the rows as they are read under the schema of the features."""
        return self._made_by(self._features_of(schema)).under(schema, columns)

    def counting(self, schema: Schema, columns: Mapping[str, str], /) -> RemoteTable:
        """Return what counts the rows in the database."""
        return self._made_by(self._features_of(schema)).counting(schema, columns)

    def _features_of(self, schema: Schema) -> Features:
        """Return the features that a schema follows from; under any other its values would mean something else."""
        features = next((one for one in self._known if one.hash == schema.features), None)
        if features is None:
            raise InputError(
                self._argument,
                found=f"has other features than {schema.source} was written for",
                remedy="have the feature file that all holders of the study have: panbayes omop show prints its hash",
            )
        known = {attribute.name: attribute for attribute in features.schema.attributes}
        other = next((one.name for one in schema.attributes if known.get(one.name) != one), None)
        if other is not None or schema.unit != features.schema.unit:
            raise InputError(
                schema.source,
                found="says otherwise than its features do "
                + (f'of "{other}"' if other is not None else "whom a record belongs to"),
                remedy="change the feature file, and write the schema anew: panbayes omop schema",
            )
        return features

    def _made_by(self, features: Features) -> SqlTable:
        """Compile the SELECT, after a look at the tables of the data model."""
        from panbayes.tables.omop.select import one_row_a_person
        from panbayes.tables.sql.coding import named_select

        database, schema = self._database, _schema_of(self._address)

        def describe(table: str) -> Mapping[str, str]:
            database.describe((schema, table))
            return {name.lower(): declared for name, declared in database.types.items()}

        features.require_lists()
        person = check_model(features, describe, _is_of(database.dialect), argument=self._argument)
        types = {PERSON_ID: person[PERSON_ID]} | _types_of(features, _TYPES[database.dialect.name])
        select = named_select(one_row_a_person(features, schema=schema))
        return SqlTable(_Selected(database, types), select, self._address, argument=self._argument)


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


def _known_features(path: Path) -> list[Features]:
    """Read a feature file, or all that lie in a folder."""
    if not path.is_dir():
        return [Features.load(path)]
    found = [Features.load(file) for file in sorted(path.glob("*.toml"))]
    if not found:
        raise InputError(str(path), found="has no feature file (.toml)", remedy="put one there, or name one")
    return found


@contextmanager
def open_table(address: Address, *, argument: str) -> Iterator[Opened]:
    """Open the people of a database until the block ends."""
    address.check_options(OPTIONS, required=("features",), argument=argument)
    known = _known_features(Path(address.option("features") or ""))
    engine = address.scheme.removeprefix("omop+")
    sessions = import_module(f"panbayes.tables.sql.sessions.{engine}")
    opening: AbstractContextManager[Database] = sessions.open_database(
        replace(address, scheme=engine), argument=argument
    )
    with opening as database:
        yield PeopleTable(database, known, address, argument=argument)
