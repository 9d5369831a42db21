"""The text of a new holder's file: every key with its meaning, from the one declaration that reads it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from panbayes.consortium.agent.configuration import HOLDER_FILE, HolderFile
from panbayes.consortium.agent.sections import Person
from panbayes.privacy.loss import Loss
from panbayes.schema.declaration import Field, fields_of
from panbayes.schema.toml_writer import toml_value
from panbayes.tables.sources.address import is_address

__all__ = ["holder_text"]

WIDTH: Final = 100

HEADING: Final = """\
A holder's file: who you are between institutions, where your records lie, and whom you listen to. Paths are relative to
this file. A key behind a # sign has its default, or is left out; to set it, remove that sign."""


def holder_text(
    *,
    name: str,
    key: str,
    cap: Loss,
    source: str,
    officers: Sequence[Person],
    analysts: Sequence[Person],
    approvals: int = 1,
    mailbox: Mapping[str, str] | None = None,
) -> str:
    """Return a holder's file with comments; reading it gives what was said here, of the ``mailbox`` its url and ca."""
    said: dict[str, Any] = {"name": name, "key": key, "cap": cap}
    if approvals != 1:
        said["approvals"] = approvals
    people = {"officers": officers, "analysts": analysts}
    tables: dict[str, Mapping[str, str]] = {
        "source": {"url" if is_address(source) else "file": source},
        "mailbox": mailbox or {},
    }
    lines = [*_comment(HEADING), "", f"version = {HOLDER_FILE.version}", ""]
    fields = fields_of(HolderFile)
    for field in fields:
        if field.kind.table is None and field.name not in people:
            lines += [*_explained(field), *_key(field, said), ""]
    for field in fields:
        if field.name in people:
            lines += [*_explained(field), f"[{field.name}]"]
            lines += [f"{one.name} = {toml_value(one.key.line)}" for one in people[field.name]]
            lines += [""]
        elif field.kind.table is not None:
            lines += _table(field, tables.get(field.name, {}))
    return "\n".join(lines)


def _table(field: Field, said: Mapping[str, Any]) -> Iterator[str]:
    """Write a table; one that says nothing stands behind signs."""
    yield from _comment(
        f"{_capital(field.key.meaning)}.{'' if said else f' To have it, remove the sign of [{field.name}].'}"
    )
    yield f"{'' if said else '# '}[{field.name}]"
    if field.kind.table is not None:
        for own in fields_of(field.kind.table):
            yield from _explained(own)
            yield from _key(own, said)
    yield ""


def _key(field: Field, said: Mapping[str, Any]) -> Iterator[str]:
    """Write a key: with what was said, or behind a sign with its default or an example."""
    if field.name in said:
        yield f"{field.name} = {_written(field, said[field.name])}"
    elif field.default in (None, ()) or field.required:
        example = field.kind.words.partition("such as ")[2].partition(", or")[0]
        yield f"# {field.name} = {example or EXAMPLES[field.name]}"
    else:
        yield f"# {field.name} = {_written(field, field.default)}"


EXAMPLES: Final = {"separator": '"semicolon"', "sheet": '"Sheet 1"'}
"""What stands behind the sign where neither a default nor the words of a key show it."""


def _written(field: Field, value: Any) -> str:
    return str(value) if field.kind.write is None else field.kind.write(value)


def _explained(field: Field) -> list[str]:
    absent = f" If left out: {field.key.default}." if field.key.default else ""
    return _comment(f"{_capital(field.key.meaning)}. Takes {field.kind.words}.{absent}")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
