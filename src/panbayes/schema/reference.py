"""The manual's page about a kind of file, from its declaration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from panbayes.schema.declaration import Declaration, Field, fields_of

__all__ = ["key_table", "reference"]


def reference(declaration: Declaration[Any]) -> str:
    """Describe every key of a kind of file, as Markdown."""
    version = f"| `version` | {declaration.version} | required | the version of the format |"
    parts = [
        f"## {declaration.title}",
        declaration.about,
        f"```toml\n{declaration.example.strip()}\n```",
        "\n".join([*_HEAD, version, *_rows(declaration.declared)]),
        *_tables(declaration.declared),
    ]
    return "\n\n".join(parts) + "\n"


def key_table(declared: type[Any]) -> str:
    """Describe the keys of a table, as Markdown."""
    return "\n".join([*_HEAD, *_rows(declared)])


_HEAD = ("| key | takes | default | meaning |", "|---|---|---|---|")


def _tables(declared: type[Any]) -> Iterator[str]:
    """Describe the tables of a file, and theirs."""
    for field in fields_of(declared):
        if field.kind.table is not None:
            name = f"[[{field.name}]]" if field.kind.many else f"[{field.name}]"
            yield f"### `{name}`"
            yield f"{field.key.meaning[:1].upper()}{field.key.meaning[1:]}."
            yield key_table(field.kind.table)
            yield from _tables(field.kind.table)


def _rows(declared: type[Any]) -> list[str]:
    return [
        f"| `{field.name}` | {_cell(field.kind.words)} | {_cell(_default(field))} | {_cell(field.key.meaning)} |"
        for field in fields_of(declared)
    ]


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _default(field: Field) -> str:
    """Say what holds where the key is absent."""
    if field.key.default or field.required:
        return field.key.default or "required"
    if field.default in (None, ()) or field.kind.write is None:
        return "none"
    return f"`{field.kind.write(field.default)}`"
