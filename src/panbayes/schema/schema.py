"""The public schema: what a table may contain, agreed before anybody looks at private data.

The file is TOML that a data officer can read and sign::

    version = 1
    name = "clinic"
    status = "approved"

    [[attributes]]
    name = "age"
    bins = [0, 40, 65, 120]
    missing = true

    [[attributes]]
    name = "insulin"
    categories = ["No", "Steady", "Up", "Down"]
    other = true

Optional at the top: ``missing_values`` (texts that count as missing) and a table ``[unit]``: the ``column`` that
says whom a record belongs to, and how many records of one person are kept at most (``max_records``). Then the
guarantee is for persons, the public size is their number, and records without an id are left out.
``other`` and ``missing`` take ``true`` or the label to use. Unknown keys are errors.
What the domains mean is said in :mod:`panbayes.schema.attribute`.

Nothing here reads data or draws randomness.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute, Scalar
from panbayes.schema.toml_reader import Document, Section

__all__ = ["DEFAULT_MISSING_VALUES", "SCHEMA_VERSION", "Schema", "Status", "Unit", "dump_schema"]

SCHEMA_VERSION: Final = 1
MAX_ATTRIBUTES: Final = 10_000

Status: TypeAlias = Literal["draft", "approved"]

DEFAULT_MISSING_VALUES: Final[tuple[str, ...]] = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""Texts that count as missing unless the schema says otherwise. A category of the same text wins."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom a record belongs to: the ``column`` with the person's id, and ``max_records`` kept per person."""

    column: str
    max_records: int = 1

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


@dataclass(frozen=True)
class Schema:
    """A public schema: attributes in order, how missing values are written, and the privacy unit.

    ``status`` is "draft" until a person has read it and set "approved"; whatever learns calls
    :meth:`require_approved` first.
    """

    name: str
    attributes: tuple[Attribute, ...]
    status: Status = "approved"
    missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES
    unit: Unit | None = None
    source: str = field(default="schema", compare=False)

    def __post_init__(self) -> None:
        """Check what spans attributes."""
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
        if self.unit is not None and self.unit.column in seen:
            raise InputError(
                "unit.column",
                found=f'"{self.unit.column}" is also an attribute',
                remedy="an id that says whom a record belongs to cannot be learned from; remove the attribute",
            )

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema file (TOML)."""
        return _schema(Document.read(path))

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
        return _schema(Document.parse(text, source=source))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The attributes' domain sizes, in order."""
        return tuple(attribute.size for attribute in self.attributes)

    def __len__(self) -> int:
        """Count the attributes."""
        return len(self.attributes)

    def index(self, name: str, *, argument: str = "attribute") -> int:
        """Return the position of an attribute, or complain about ``argument``."""
        try:
            return self.names.index(name)
        except ValueError:
            known = ", ".join(self.names[:8]) + (", …" if len(self) > 8 else "")
            raise InputError(
                argument,
                found=f'"{name}" is not in schema "{self.name}"',
                remedy=f"known attributes: {known}",
            ) from None

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
        content = {
            "version": SCHEMA_VERSION,
            "name": self.name,
            "missing_values": sorted(set(self.missing_values)),
            "unit": [self.unit.column, self.unit.max_records] if self.unit else None,
            "attributes": [
                [a.name, list(a.categories), list(a.bins), a.other, a.missing, a.impute] for a in self.attributes
            ],
        }
        canonical = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


def _schema(document: Document) -> Schema:
    root = document.root()
    root.version(SCHEMA_VERSION)
    status = root.choice("status", ("draft", "approved"))
    name = root.text("name", expected='a text such as "clinic"')
    missing_values = DEFAULT_MISSING_VALUES
    if root.has("missing_values"):
        missing_values = tuple(_texts(root, "missing_values"))
    unit = _unit(root.section("unit")) if root.has("unit") else None
    attributes = tuple(_attribute(section) for section in root.sections("attributes"))
    root.finish()
    try:
        return Schema(name, attributes, cast(Status, status), missing_values, unit, document.source)
    except InputError as error:
        raise document.error(tuple(error.argument.split(".")), found=error.found, remedy=error.remedy) from None


def _unit(section: Section) -> Unit:
    column = section.text("column", expected='the name of the id column, such as "patient"')
    most = section.typed("max_records", int, expected="a whole number") if section.has("max_records") else 1
    section.finish()
    try:
        return Unit(column, most)
    except InputError as error:
        raise section.error(error.argument.split(".")[1], found=error.found, remedy=error.remedy) from None


def _attribute(section: Section) -> Attribute:
    name = section.text("name", expected="the name of the column")
    categories = _list(section, "categories", (str, int, float, bool), "texts, numbers or booleans")
    bins = _list(section, "bins", (int, float), "ascending numbers, one more than there are bins")
    other = _label(section, "other")
    missing = _label(section, "missing")
    impute = section.value("impute", expected="a value") if section.has("impute") else None
    if impute is not None and not isinstance(impute, str | int | float | bool):
        raise section.error("impute", found="found a list or table", remedy="give one value inside the schema")
    section.finish()
    try:
        return Attribute(
            name, cast(tuple[Scalar, ...], categories), cast(tuple[float, ...], bins), other, missing, impute
        )
    except InputError as error:
        key = error.argument.rpartition(", ")[2]
        raise section.error(key if section.has(key) else None, found=error.found, remedy=error.remedy) from None


def _list(section: Section, key: str, kinds: tuple[type, ...], expected: str) -> tuple[object, ...]:
    if not section.has(key):
        return ()
    values = section.typed(key, list, expected=f"a list of {expected}")
    for value in values:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise section.error(key, found=f"found {value!r} in the list", remedy=f"give {expected}")
    if not values:
        raise section.error(key, found="found an empty list", remedy=f"give {expected}")
    return tuple(values)


def _texts(section: Section, key: str) -> list[str]:
    values = section.typed(key, list, expected="a list of texts")
    if not all(isinstance(value, str) for value in values):
        raise section.error(key, found="found something else than texts", remedy='give texts, such as ["?", "NA"]')
    return values


def _label(section: Section, key: str) -> str | None:
    if not section.has(key):
        return None
    value = section.value(key, expected="true, false or a label")
    if isinstance(value, bool):
        return key if value else None
    if isinstance(value, str) and value.strip():
        return value
    raise section.error(key, found=f"found {value!r}", remedy="give true, false or a label in quotes")


def dump_schema(
    schema: Schema,
    *,
    header: Sequence[str] = (),
    remarks: dict[str, str] | None = None,
    footer: Sequence[str] = (),
) -> str:
    """Write a schema as TOML. ``header`` and ``footer`` become comments, ``remarks`` one above its attribute.

    Reading the text back gives an equal schema.
    """
    lines = [f"# {line}".rstrip() for line in header] + ([""] if header else [])
    lines += [
        f"version = {SCHEMA_VERSION}",
        f"name = {_toml(schema.name)}",
        f"status = {_toml(schema.status)}",
    ]
    lines.append(f"missing_values = {_toml_list(schema.missing_values)}")
    if schema.unit is not None:
        lines += [
            "",
            "[unit]",
            f"column = {_toml(schema.unit.column)}",
            f"max_records = {schema.unit.max_records}",
        ]
    for attribute in schema.attributes:
        lines.append("")
        if remarks and attribute.name in remarks:
            lines.append(f"# {remarks[attribute.name]}")
        lines += ["[[attributes]]", f"name = {_toml(attribute.name)}"]
        if attribute.bins:
            lines.append(f"bins = {_toml_list(attribute.bins)}")
        else:
            lines.append(f"categories = {_toml_list(attribute.categories)}")
        for key, label in (("other", attribute.other), ("missing", attribute.missing)):
            if label is not None:
                lines.append(f"{key} = {'true' if label == key else _toml(label)}")
        if attribute.impute is not None:
            lines.append(f"impute = {_toml(attribute.impute)}")
    lines += ["", *(f"# {line}".rstrip() for line in footer)] if footer else []
    return "\n".join(lines) + "\n"


def _toml(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)


def _toml_list(values: Iterable[Scalar]) -> str:
    items = [_toml(value) for value in values]
    one_line = f"[{', '.join(items)}]"
    if len(one_line) <= 100:
        return one_line
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) > 98:
            lines.append("")
        lines[-1] += f"{item}, "
    return "[\n" + "".join(f"  {line.rstrip()}\n" for line in lines) + "]"
