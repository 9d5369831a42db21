"""The public schema: what a table may contain, agreed before anybody looks at private data.

A schema file is TOML that a data officer can read and sign; its keys are declared once, in the fields of
:class:`Schema`, :class:`Unit` and :class:`~panbayes.schema.attribute.Attribute`, and described in ``docs/files.md``.
What the domains mean is said in :mod:`panbayes.schema.attribute`.

Nothing here reads data or draws randomness.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, get_args

from panbayes.display import Card, shortened
from panbayes.errors import InputError, nearest
from panbayes.schema import kinds
from panbayes.schema.attribute import Attribute
from panbayes.schema.declaration import Declaration, Key, content, hashed_text
from panbayes.schema.drafting import drafter
from panbayes.schema.toml_writer import toml_text

__all__ = [
    "DEFAULT_MISSING_VALUES",
    "MAX_ATTRIBUTES",
    "SCHEMA_FILE",
    "SCHEMA_VERSION",
    "Schema",
    "Status",
    "Unit",
    "dump_schema",
]

SCHEMA_VERSION: Final = 1
"""The version of schema files."""

MAX_ATTRIBUTES: Final = 10_000
_HASH: Final = re.compile(r"[0-9a-f]{64}")
SHOWN: Final = 12
"""So many attributes are shown at a prompt."""

Status: TypeAlias = Literal["draft", "approved"]

DEFAULT_MISSING_VALUES: Final[tuple[str, ...]] = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""Texts that count as missing unless the schema says otherwise. A category of the same text wins."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom a record belongs to: the ``column`` with the person's id, and ``max_records`` kept per person.

    >>> Unit("patient", max_records=3)
    Unit(column='patient', max_records=3)
    """

    column: Annotated[
        str,
        Key(
            kinds.text('the name of the id column, such as "patient"'),
            "the column that says whom a record belongs to; it is no attribute, and records without an id are left out",
        ),
    ]
    max_records: Annotated[
        int,
        Key(kinds.whole_number(), "so many records of one person are kept at most, the first ones in the file"),
    ] = 1

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not self.column.strip():
            raise InputError("unit.column", found="found an empty name", remedy="name the id column")
        if not 1 <= self.max_records <= 1_000_000:
            raise InputError(
                "unit.max_records",
                found=f"found {self.max_records}",
                remedy="give 1 to 1000000 records per person",
            )


@dataclass(frozen=True, repr=False)
class Schema:
    """A public schema: attributes in order, how missing values are written, and the privacy unit.

    ``status`` is "draft" until a person has read it and set "approved"; whatever learns calls
    :meth:`require_approved` first.

    >>> age = Attribute("age", bins=(0, 40, 65, 120), missing="missing")
    >>> clinic = Schema("clinic", (age, Attribute("insulin", categories=("No", "Steady", "Up", "Down"))))
    >>> clinic
    Schema "clinic", approved, 2 attributes
      age: [0, 40), [40, 65), [65, 120], missing
      insulin: No, Steady, Up, Down
    >>> clinic.sizes
    (4, 4)
    """

    name: Annotated[str, Key(kinds.text('a text such as "clinic"'), "what the schema is called")]
    attributes: Annotated[
        tuple[Attribute, ...],
        Key(kinds.tables(Attribute), "one table for each column that is learned from, in order"),
    ]
    status: Annotated[
        Status,
        Key(
            kinds.choice(get_args(Status)),
            "whether a person has read the schema and holds it to be public; nothing is learned under a draft",
            required=True,
            shared=False,
        ),
    ] = "approved"
    missing_values: Annotated[
        tuple[str, ...],
        Key(
            kinds.list_of((str,), 'texts, such as ["?", "NA"]', may_be_empty=True, ordered=False),
            "texts that count as missing, unless they are categories",
        ),
    ] = DEFAULT_MISSING_VALUES
    unit: Annotated[
        Unit | None,
        Key(
            kinds.table(Unit),
            "whom a record belongs to, where one person can have several: then the guarantee is for persons, and their "
            "number, not that of records, is the public size",
        ),
    ] = None
    features: Annotated[
        str | None,
        Key(
            kinds.text("the hash of a feature file"),
            "the hash of the feature file that says how records are made of an OMOP database: every holder's must be "
            "that file; `panbayes omop schema` writes it",
            added=True,
        ),
    ] = None
    source: str = field(default="schema", compare=False)

    def __post_init__(self) -> None:
        """Check what spans attributes; lists are taken as the tuples they stand for."""
        object.__setattr__(self, "attributes", tuple(self.attributes))
        object.__setattr__(self, "missing_values", tuple(self.missing_values))
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES:
            raise InputError(
                "attributes",
                found=f"found {len(self.attributes)}",
                remedy=f"give 1 to {MAX_ATTRIBUTES} attributes",
            )
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise InputError("attributes", found=f'found "{name}" twice', remedy="give every attribute once")
            seen.add(name)
        if self.features is not None and not _HASH.fullmatch(self.features):
            raise InputError(
                "features",
                found=f'found "{self.features}"',
                remedy="give the hash of a feature file, as panbayes omop schema writes it",
            )
        if self.unit is not None and self.unit.column in seen:
            raise InputError(
                "unit.column",
                found=f'"{self.unit.column}" is also an attribute',
                remedy="an id that says whom a record belongs to cannot be learned from; remove the attribute",
            )

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema file (TOML)."""
        return SCHEMA_FILE.load(path)

    @classmethod
    def parse(cls, text: str, *, source: str = "schema") -> Schema:
        """Read a schema from TOML text; ``source`` is its name in errors.

        >>> Schema.parse('''
        ... version = 1
        ... name = "two"
        ... status = "approved"
        ... [[attributes]]
        ... name = "sex"
        ... categories = ["F", "M"]
        ... ''').attributes[0].labels
        ('F', 'M')
        """
        return SCHEMA_FILE.parse(text, source=source)

    @classmethod
    def draft(
        cls,
        data: object,
        *,
        name: str = "draft",
        other: Sequence[str] = (),
        missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES,
        unit: Unit | None = None,
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
    ) -> Schema:
        """Suggest a schema for a file or data frame. It is read off private data: its status is "draft".

        Nothing is learned under it before a person has replaced what the data told by what is publicly known, and
        approved it: ``dataclasses.replace(schema, status="approved")``. Attributes that are kept as they are stay
        :attr:`drafted`, and learning warns of them. ``other`` lists the attributes that get a value for what lies
        outside the schema ("*" for all), beside those with many texts; the ``unit``'s id column is no attribute.
        Columns are those to ``keep``, all if none are named, but for those to ``drop``.

        >>> import polars as pl
        >>> Schema.draft(pl.DataFrame({"sex": ["F", "M", "F"], "age": [20, 30, None]}), name="clinic")
        Schema "clinic", draft, 2 attributes
          sex: F, M
          age: 20, 30, missing
        """
        if unit is not None and not isinstance(unit, Unit):
            raise InputError(
                "unit", found=f"found a {type(unit).__name__}", remedy='give a Unit, such as Unit("patient")'
            )
        column = unit.column if unit else None
        attributes = drafter().suggest(
            data, other=other, missing_values=missing_values, unit_column=column, keep=keep, drop=drop
        )
        return cls(name, attributes, "draft", missing_values, unit)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The attributes' domain sizes, in order."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def max_records(self) -> int:
        """The most records of one person that are used."""
        return self.unit.max_records if self.unit else 1

    def __len__(self) -> int:
        """Count the attributes."""
        return len(self.attributes)

    def index(self, name: str, *, argument: str = "attribute") -> int:
        """Return the position of an attribute, or complain about ``argument``."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(
                argument, found=f'"{name}" is not in schema "{self.name}"', remedy=nearest(name, self.names)
            ) from None

    @property
    def drafted(self) -> tuple[str, ...]:
        """The attributes that carry a draft's mark: nobody has said that their values are publicly known."""
        return tuple(attribute.name for attribute in self.attributes if attribute.drafted)

    def require_approved(self) -> None:
        """Refuse a draft: a person must have read it before anything is learned under it."""
        if self.status != "approved":
            raise InputError(
                self.source,
                found='is a draft (status = "draft")',
                remedy='check it as its first lines say, then set status = "approved"',
            )

    @cached_property
    def hash(self) -> str:
        """The sha256 of the content that all holders must share (not the status, not comments)."""
        text = hashed_text({"version": SCHEMA_VERSION, **content(self)})
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _title(self) -> str:
        many = f"{len(self)} attribute{'s' if len(self) > 1 else ''}"
        unit = f", at most {self.unit.max_records} records for each {self.unit.column}" if self.unit else ""
        return f'Schema "{self.name}", {self.status}, {many}{unit}'

    def __repr__(self) -> str:
        """Show the first attributes and their values."""
        lines = [f"  {attribute.name}: {shortened(attribute.labels)}" for attribute in self.attributes[:SHOWN]]
        more = [f"  … and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([self._title, *lines, *more])

    def _repr_html_(self) -> str:
        """Show every attribute in a notebook."""
        rows = [(attribute.name, str(attribute.size), shortened(attribute.labels)) for attribute in self.attributes]
        return Card(("attribute", "size", "values"), rows, title=self._title, what="attributes", most=len(rows)).html()


SCHEMA_FILE: Final = Declaration(
    title="Schema files",
    version=SCHEMA_VERSION,
    declared=Schema,
    about="A schema says what a table may contain. It is public: it is agreed before anybody looks at private data. "
    "Every value of every table has its place in it. Unknown keys are errors.",
    example="""
version = 1
name = "clinic"
status = "approved"

[unit]
column = "patient"

[[attributes]]
name = "age"
bins = [0, 40, 65, 120]
missing = true

[[attributes]]
name = "insulin"
categories = ["No", "Steady", "Up", "Down"]
other = true

[[attributes]]
name = "admitted"
period = "month"
between = ["2020-01", "2024-12"]
missing = true

[[attributes]]
name = "diagnosis"
mapping = "icd10-chapters"
other = true
""",
)


def dump_schema(
    schema: Schema,
    *,
    header: Sequence[str] = (),
    remarks: Mapping[str, str] | None = None,
    footer: Sequence[str] = (),
) -> str:
    """Write a schema as TOML. ``header`` and ``footer`` become comments, ``remarks`` one above its attribute.

    Reading the text back gives an equal schema.
    """
    return toml_text(schema, SCHEMA_VERSION, header=header, remarks=remarks, footer=footer)
