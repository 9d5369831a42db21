"""Declaring what a TOML file may hold, once: in the fields of the class that it becomes.

A file that people sign (a schema, a study) becomes a frozen dataclass. Each field that is a key of the file carries a
:class:`Key` in its annotation: what the key takes, and what it means. From this one declaration follow reading with
the file, the line and the key in every complaint (:class:`Declaration`), writing
(:mod:`panbayes.schema.toml_writer`), the content that is hashed (:func:`content`) and the page of the manual
(:mod:`panbayes.schema.reference`)::

    @dataclass(frozen=True)
    class Bed:
        ward: Annotated[str, Key(text('a text such as "north"'), "where the bed stands")]
        floor: Annotated[int, Key(whole_number(), "how far up")] = 0

    @dataclass(frozen=True)
    class Hospital:
        name: Annotated[str, Key(text('a text such as "St Mary"'), "what it is called")]
        share: Annotated[Fraction, Key(ratio(), "how much of ε it spends")] = Fraction(1, 2)
        beds: Annotated[tuple[Bed, ...], Key(tables(Bed), "one for each bed")] = ()
        source: str = "hospital"

    HOSPITAL = Declaration("Hospital files", 1, Hospital, about="…", example="…")
    HOSPITAL.load("mary.toml")

What a key takes is a :class:`Kind`; :mod:`panbayes.schema.kinds` has those that are usual, and a module may make its
own. A field without a default is required; so is one whose key says ``required``. Checks that need more than one value
belong into the class: an :class:`~panbayes.errors.InputError` about the field ``name`` comes out as one about the key
``name`` at its line. ``version`` stands first in every file and is no field. A field ``source`` without a key receives
the name of the file, or another that the declaration names where ``source`` is a key.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, get_type_hints

from panbayes.errors import InputError
from panbayes.schema.toml_reader import Document, Section

__all__ = [
    "Declaration",
    "Field",
    "Key",
    "Kind",
    "build",
    "content",
    "fields_of",
    "hashed_text",
    "located",
    "read_fields",
    "row",
]

T = TypeVar("T")


def _as_it_is(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """What a key takes: ``words`` say it to people, ``read`` takes the named key out of a section.

    ``write`` gives the value's TOML text (None where a table of its own is written), ``plain`` the value as JSON has
    it, for hashes. ``table`` is the class whose fields a table has, ``many`` whether there is an array of them.
    """

    words: str
    read: Callable[[Section, str], T]
    write: Callable[[T], str] | None = None
    plain: Callable[[T], object] = _as_it_is
    table: type[Any] | None = None
    many: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """That a field is a key of the file, what it takes and what it means.

    ``required`` asks the file for a key although the class has a default; ``default`` puts a default into words where
    its value does not say it. ``shared`` tells whether the key is part of the content that is hashed. A key that is
    ``added`` to a format later is hashed only where it differs from its default, so that older hashes stay.
    """

    kind: Kind[Any]
    meaning: str
    required: bool = False
    default: str = ""
    shared: bool = True
    added: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A key under its name, with the default of the class (``dataclasses.MISSING`` if there is none)."""

    name: str
    key: Key
    default: object

    @property
    def required(self) -> bool:
        """Whether the file must have the key."""
        return self.key.required or self.default is dataclasses.MISSING

    @property
    def kind(self) -> Kind[Any]:
        """What the key takes."""
        return self.key.kind

    def of(self, value: object) -> Any:
        """Return what an object of the declared class has in this field."""
        return getattr(value, self.name)


_FIELDS: Final[dict[type[Any], tuple[Field, ...]]] = {}


def fields_of(declared: type[Any]) -> tuple[Field, ...]:
    """Return the fields of a dataclass that are keys, in order."""
    if declared not in _FIELDS:
        hints = get_type_hints(declared, include_extras=True)
        _FIELDS[declared] = tuple(
            Field(field.name, key, field.default)
            for field in dataclasses.fields(declared)
            for key in getattr(hints[field.name], "__metadata__", ())
            if isinstance(key, Key)
        )
    return _FIELDS[declared]


def read_fields(section: Section, declared: Sequence[Field]) -> dict[str, Any]:
    """Read those of the keys that are there; an unknown key and a required one that is absent are errors."""
    present = [field for field in declared if section.has(field.name) or field.required]
    section.finish()
    return {field.name: field.kind.read(section, field.name) for field in present}


def build(section: Section, declared: type[T], **further: object) -> T:
    """Read a section into an object of the declared class."""
    make: Callable[..., T] = declared
    values = read_fields(section, fields_of(declared))
    with located(section):
        return make(**values, **further)


@contextmanager
def located(section: Section) -> Iterator[None]:
    """Turn an error about a field (``key``, ``table.key`` or ``…, key``) into one about its place in the file."""
    try:
        yield
    except InputError as error:
        parts = error.argument.rpartition(", ")[2].split(".")
        raise section.error_at(parts, found=error.found, remedy=error.remedy) from None


@dataclass(frozen=True, slots=True)
class Declaration(Generic[T]):
    """One kind of file: its title, the version, the class it becomes, and for the manual a word and an example.

    The class must have a field ``origin``, for the name of the file.
    """

    title: str
    version: int
    declared: type[T]
    about: str
    example: str
    origin: str = "source"

    def load(self, path: str | Path) -> T:
        """Read a file."""
        return self.read(Document.read(path))

    def parse(self, text: str, *, source: str) -> T:
        """Read a text; ``source`` is its name in errors."""
        return self.read(Document.parse(text, source=source))

    def read(self, document: Document) -> T:
        """Read a document."""
        root = document.root()
        root.version(self.version)
        return build(root, self.declared, **{self.origin: document.source})


def content(value: object) -> dict[str, object]:
    """Return what all parties must share of a declared object, by key, as plain JSON values."""
    return {
        field.name: field.kind.plain(field.of(value))
        for field in fields_of(type(value))
        if field.key.shared and not (field.key.added and field.of(value) == field.default)
    }


def hashed_text(content: Mapping[str, object]) -> str:
    """Write such a content as the one text that its hash is taken of."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def row(value: object) -> list[object]:
    """Return the same for an object inside another: its values in order, and those of added keys by name at the end."""
    known = content(value)
    added = {field.name for field in fields_of(type(value)) if field.key.added}
    later = {name: known[name] for name in known if name in added}
    return [*(known[name] for name in known if name not in added), *([later] if later else [])]
