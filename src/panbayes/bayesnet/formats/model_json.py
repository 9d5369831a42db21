"""The model file: a network as versioned JSON that notices when it has been cut or edited.

One object: ``format`` and ``version``; ``schema`` (the TOML text that a schema file would hold, and its hash);
``structure`` (child and parents by name, in order); ``tables`` (one flat list per attribute in schema order, parents
first and the child running fastest); ``privacy`` (the statement, or null where none is made); ``about`` (a few words);
``error`` (what else the measurements would allow, :mod:`panbayes.bayesnet.formats.replicates_json`, or null where that
is not known); ``receipts`` (what holders signed, :mod:`panbayes.bayesnet.receipts`, or null where nobody did);
``checksum``, the sha256 of the canonical encoding of all the others. White space does not matter, every value does. The
checksum finds accidents, not forgeries: whoever edits a file on purpose can compute a new one.

Numbers are written in the shortest form that reads back to the same double, so saving and loading is exact. A file of
another version is refused.
"""

from __future__ import annotations

import hashlib
from typing import Final, TypeVar

import msgspec
import numpy as np

from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.format import Format
from panbayes.bayesnet.formats.replicates_json import ReplicatesPart, read_replicates, write_replicates
from panbayes.bayesnet.receipts import Receipts
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from panbayes.privacy.statement import PrivacyStatement
from panbayes.schema.schema import Schema, dump_schema

__all__ = ["FORMAT", "MODEL", "VERSION", "decode_factors", "encode_factors"]

FORMAT: Final = "panbayes network"
VERSION: Final = 1

MAX_BYTES: Final = 1 << 31

T = TypeVar("T")


class _Header(msgspec.Struct):
    format: str
    version: int


class _Schema(msgspec.Struct, forbid_unknown_fields=True):
    hash: str
    toml: str


class _Pair(msgspec.Struct, forbid_unknown_fields=True):
    child: str
    parents: list[str]


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    """Everything but the checksum, in the order in which it is written."""

    format: str
    version: int
    schema: _Schema
    structure: list[_Pair]
    tables: list[list[float]]
    privacy: dict[str, object] | None
    about: dict[str, str]
    error: ReplicatesPart | None
    receipts: Receipts | None


class _File(_Body, forbid_unknown_fields=True):
    checksum: str


def _checksum(body: _Body) -> str:
    fields = [getattr(body, name) for name in _Body.__struct_fields__]
    return hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()


def encode_factors(network: Factors) -> bytes:
    """Write a network as the bytes of a model file."""
    names = network.schema.names
    body = _Body(
        format=FORMAT,
        version=VERSION,
        schema=_Schema(network.schema.hash, dump_schema(network.schema)),
        structure=[_Pair(names[child], [names[p] for p in parents]) for child, parents in network.structure.pairs],
        tables=[table.ravel().tolist() for table in network.tables],
        privacy=None if network.privacy is None else network.privacy.to_json(),
        about=dict(network.about),
        error=None if network.error is None else write_replicates(network.error),
        receipts=network.receipts,
    )
    lines = [
        f'"{name}": {_lines(getattr(body, name)) if name in ("structure", "tables") else _text(getattr(body, name))}'
        for name in _Body.__struct_fields__
    ]
    lines.append(f'"checksum": "{_checksum(body)}"')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _text(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _lines(values: list[object]) -> str:
    return "[\n" + ",\n".join(_text(value) for value in values) + "\n]"


def decode_factors(data: bytes, *, source: str = "model") -> Factors:
    """Read the bytes of a model file; ``source`` is its name in errors."""
    header = _decoded(data, _Header, source)
    if header.format != FORMAT:
        raise InputError(source, found="is not a panbayes model", remedy="give a file written by panbayes learn")
    if header.version != VERSION:
        raise InputError(
            source,
            found=f"has version {header.version} of the format",
            remedy=f"this panbayes reads version {VERSION}: learn the model again",
        )
    file = _decoded(data, _File, source)
    if file.checksum != _checksum(file):
        raise _damaged(source, "does not match its own checksum: it was edited or damaged")
    return _network(file, source)


def _decoded(data: bytes, kind: type[T], source: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise _damaged(source, "is not a whole model file: it was cut, edited or is something else") from None


def _damaged(source: str, found: str) -> InputError:
    return InputError(source, found=found, remedy="use the file as panbayes wrote it, or learn the model again")


def _network(file: _File, source: str) -> Factors:
    """Rebuild the value; the checksum held, so what fails here was written by something else than panbayes."""
    schema = Schema.parse(file.schema.toml, source=source)
    if schema.hash != file.schema.hash:
        raise _damaged(source, "holds a schema that does not match its hash")
    place = {name: i for i, name in enumerate(schema.names)}
    if len(file.tables) != len(schema) or any(
        name not in place for pair in file.structure for name in (pair.child, *pair.parents)
    ):
        raise _damaged(source, "holds a structure or tables that do not fit its schema")
    try:
        structure = Structure.of((place[pair.child], [place[name] for name in pair.parents]) for pair in file.structure)
        if len(structure) != len(schema):
            raise _damaged(source, "holds a structure that does not fit its schema")
        tables = []
        sizes = schema.sizes
        for child, values in enumerate(file.tables):
            shape = [sizes[i] for i in (*structure.parents(child), child)]
            if len(values) != np.prod(shape, dtype=float):
                raise _damaged(source, f'holds a table of "{schema.attributes[child].name}" of the wrong size')
            tables.append(np.array(values, dtype=np.float64).reshape(shape))
        privacy = None if file.privacy is None else PrivacyStatement.from_json(file.privacy, argument=source)
        error = None if file.error is None else read_replicates(file.error, schema)
        return Factors(schema, structure, tuple(tables), privacy, file.about, error, file.receipts)
    except InputError as error:
        if error.argument == source:
            raise
        raise InputError(f"{source}, {error.argument}", found=error.found, remedy=error.remedy) from None


MODEL: Final = Format(".json", "model file", encode_factors, decode_factors, MAX_BYTES)
