"""The text of a new study file: every key with its meaning, from the one declaration that reads it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import STUDY_VERSION
from panbayes.schema.declaration import Field, fields_of
from panbayes.schema.toml_writer import toml_value

__all__ = ["chosen_keys", "study_text"]

WIDTH: Final = 100

COMMON: Final = ("name", "schema", "strategy", "epsilon", "missing", "quorum", "patience", "edition", "blocks", "about")
"""The keys that do not depend on the strategy."""

HEADING: Final = """\
A study is the public agreement on what is learned, from which schema, how, and at which privacy. Every holder reads it
and decides; what was agreed is known by the hash of this content. Comments and the order of the keys do not count.
A key behind a # sign has its default; to set it, remove that sign."""


def study_text(study: Study, *, schema: str) -> str:
    """Return a study as a file with comments; ``schema`` is the path of its schema file from the study's folder.

    Keys that have their default are commented out; reading the file gives the same study again.
    """
    lines = [*_comment(HEADING), "", f"version = {STUDY_VERSION}", ""]
    for field in fields_of(Study):
        if field.kind.table is None:
            lines += [*_comment(_meaning(field, study)), *_choices(field), _line(field, study, schema), ""]
    for field in fields_of(Study):
        if field.kind.table is not None:
            lines += _table(field, study)
    return "\n".join(lines)


def _table(field: Field, study: Study) -> Iterator[str]:
    """Write a table of the study; it stands at the end of the file, for keys below it would be its own."""
    value = field.of(study)
    sign = f"To give one, remove the sign of [{field.name}] as well." if value == field.default else ""
    yield from _comment(f"{_capital(field.key.meaning)}. Each key may be left out. {sign}")
    yield f"{'# ' if sign else ''}[{field.name}]"
    for own in fields_of(type(value)):
        given = own.of(value)
        yield from _comment(f"{_capital(own.key.meaning)}.")
        yield f"# {own.name} = {_example(own)}" if given is None else f"{own.name} = {_written(own, given)}"
    yield ""


def _example(field: Field) -> str:
    """Return what stands behind the sign where a key has no default: the example that its words give."""
    return field.kind.words.partition("such as ")[2]


def chosen_keys(study: Study) -> dict[str, str]:
    """Return what a study says beside its name, schema and strategy, where that is not the default; and if in vain."""
    return {
        field.name: f"{_written(field, field.of(study))}{_unread(field, study)}"
        for field in fields_of(Study)
        if field.name not in ("name", "schema", "strategy", "about") and field.of(study) != field.default
    }


def _unread(field: Field, study: Study) -> str:
    read = field.name in (*COMMON, *study.how.reads)
    return "" if read else f' ("{study.strategy}" does not read it)'


def _meaning(field: Field, study: Study) -> str:
    # Other defaults are there to be read.
    absent = f" If left out, {field.key.default}." if field.name == "target" else ""
    if field.name in ("quorum", "patience"):
        absent = f" It is {field.key.default}."
    return f"{_capital(field.key.meaning)}{_unread(field, study)}. Takes {field.kind.words}.{absent}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _choices(field: Field) -> Iterator[str]:
    if field.name == "strategy":
        for strategy in strategies().values():
            yield from _comment(f'"{strategy.name}": {strategy.summary}', "  ")


def _line(field: Field, study: Study, schema: str) -> str:
    value = field.of(study)
    if field.name == "schema":
        return f"schema = {toml_value(schema)}"
    if field.name in ("first", "target") and value is None:
        return f"# {field.name} = {_written(field, study.schema.names[0 if field.name == 'first' else -1])}"
    if field.name == "epsilon" and value is None:
        return "# epsilon = 1.0"
    if value is None:
        return f"# {field.name} = {_example(field)}"
    kept = field.name in ("name", "strategy") or value != field.default
    return f"{'' if kept else '# '}{field.name} = {_written(field, value)}"


def _written(field: Field, value: Any) -> str:
    return str(value) if field.kind.write is None else field.kind.write(value)


def _comment(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=f"# {indent}",
        subsequent_indent=f"# {indent * 2}",
        break_on_hyphens=False,
    )
