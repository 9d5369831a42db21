"""Writing a declared object as TOML that reads back to an equal one.

A key is left out only where its default is nothing (None, or an empty list); any other default is written out, so that
the file says what holds whatever a later version's default may be. Plain keys come first, then tables, then arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from panbayes.schema.declaration import Field, fields_of

__all__ = ["toml_item", "toml_list", "toml_text", "toml_value"]


def toml_value(value: object) -> str:
    """Write a text, a number or a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)


def toml_list(values: Iterable[object]) -> str:
    """Write a list, in lines of at most a hundred characters."""
    items = [toml_value(value) for value in values]
    one_line = f"[{', '.join(items)}]"
    if len(one_line) <= 100:
        return one_line
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) > 98:
            lines.append("")
        lines[-1] += f"{item}, "
    return "[\n" + "".join(f"  {line.rstrip()}\n" for line in lines) + "]"


def toml_text(
    value: object,
    version: int,
    *,
    header: Sequence[str] = (),
    remarks: Mapping[str, str] | None = None,
    footer: Sequence[str] = (),
) -> str:
    """Write a declared object as a whole file.

    ``header`` and ``footer`` become comments; a remark stands above the table of an array that has its name.
    """
    present = [field for field in fields_of(type(value)) if not _nothing(field, value)]
    lines = [*_comments(header), *([""] if header else []), f"version = {version}", *_plain_lines(value)]
    for field in present:
        if field.kind.table is not None and not field.kind.many:
            lines += ["", f"[{field.name}]", *_plain_lines(field.of(value))]
    for field in present:
        if field.kind.many:
            for item in field.of(value):
                remark = (remarks or {}).get(getattr(item, "name", ""))
                lines += ["", *_comments([remark] if remark else []), f"[[{field.name}]]", *_plain_lines(item)]
    lines += ["", *_comments(footer)] if footer else []
    return "\n".join(lines) + "\n"


def toml_item(name: str, value: object, *, header: Sequence[str] = ()) -> str:
    """Write a declared object as one table of the array ``name`` of a file; ``header`` becomes comments."""
    return "\n".join([*_comments(header), f"[[{name}]]", *_plain_lines(value)]) + "\n"


def _plain_lines(value: object) -> list[str]:
    return [
        f"{field.name} = {field.kind.write(field.of(value))}"
        for field in fields_of(type(value))
        if field.kind.write is not None and not _nothing(field, value)
    ]


def _nothing(field: Field, value: object) -> bool:
    return field.of(value) == field.default and field.default in (None, ())


def _comments(lines: Iterable[str]) -> list[str]:
    return [f"# {line}".rstrip() for line in lines]
