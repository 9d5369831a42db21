"""``panbayes schema``: draft a public schema from a table, or check a table against one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson, DataFile
from panbayes.cli.help import add_command, new_group
from panbayes.cli.text import HOLDER_ONLY, aligned, emit, plural
from panbayes.errors import ExitCode, InputError
from panbayes.files import write_text
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Schema, Unit
from panbayes.tables.check import Fit, check_table
from panbayes.tables.draft import draft_schema

__all__ = ["register"]

HELP = """Draft a public schema from a table, or check a table against one.

A schema says which columns a table has and which values each may hold. It is public, so nothing in it may be known from
the records alone.

Examples:
    panbayes schema draft north.csv -o clinic.toml
    panbayes schema check clinic.toml north.csv
"""

NOTICE = f"{HOLDER_ONLY}: what follows was read off the data."


def register(app: typer.Typer) -> None:
    """Add the group ``schema``."""
    group = new_group(HELP)
    add_command(group, draft)
    add_command(group, check)
    app.add_typer(group, name="schema")


def draft(
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The schema file to write (TOML).")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the schema is called.", show_default="the data file's name")
    ] = None,
    other: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="An attribute that gets a value `other`, or '*' for all of them. Repeatable."
        ),
    ] = None,
    missing_value: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="What else means missing, beside NA, NaN, null and ?. Repeatable."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column that says whom a record belongs to.",
            show_default="every record is a person's only one",
        ),
    ] = None,
    max_records: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="With --unit: how many records of a person are kept, at least 1.",
            min=1,
            show_default="1",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Propose a schema from a table, marked as a draft that a person must check and approve.

    Examples:
        panbayes schema draft north.csv -o clinic.toml
        panbayes schema draft north.csv -o clinic.toml --other diagnosis
    """
    if max_records is not None and unit is None:
        raise InputError("--max-records", found="is given without --unit", remedy="name the id column with --unit")
    text = draft_schema(
        data,
        name=name or data.stem,
        other=other or (),
        missing_values=(*DEFAULT_MISSING_VALUES, *(missing_value or ())),
        unit=Unit(unit, max_records or 1) if unit is not None else None,
    )
    write_text(output, text, inputs=(data,), private=True)
    schema = Schema.parse(text, source=str(output))
    emit(
        {"schema": str(output), "status": schema.status, "attributes": len(schema)},
        [
            f"{output}: a draft with {plural(len(schema), 'attribute')}, read off private data.",
            'Check it as its first lines say, then set status = "approved".',
        ],
        as_json=as_json,
    )


def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema file (TOML).")],
    data: DataFile,
    as_json: AsJson = False,
) -> None:
    """Tell how a table fits a schema; exit with 1 if some values have no place of their own.

    The output is read off the data: for the holder's eyes only.

    Examples:
        panbayes schema check clinic.toml north.csv
    """
    loaded = Schema.load(schema)
    fit = check_table(data, loaded)
    emit(
        {"notice": NOTICE, "status": loaded.status, "clean": fit.clean, **asdict(fit)},
        _account(loaded, fit, data),
        as_json=as_json,
    )
    if not fit.clean:
        raise typer.Exit(ExitCode.NO)


def _account(schema: Schema, fit: Fit, data: Path) -> list[str]:
    size = plural(fit.records, "record")
    if fit.persons is not None and schema.unit is not None:
        size += f" of {plural(fit.persons, 'person')}; {fit.kept:,} kept, at most {schema.unit.max_records} each"
        size += f"; {fit.unnamed:,} without an id are left out" if fit.unnamed else ""
    lines = [NOTICE, f"{data} under {schema.source} ({schema.status}): {size}, {plural(len(schema), 'attribute')}."]
    odd = [a for a in fit.attributes if a.outside or a.missing or a.unused]
    if odd:
        rows = [("attribute", "values", "outside", "go to", "missing", "go to", "never seen")]
        for a in odd:
            unused = ", ".join(a.unused[:4]) + (f" and {len(a.unused) - 4} more" if len(a.unused) > 4 else "")
            rows.append(
                (
                    a.name,
                    str(a.size),
                    f"{a.outside:,}",
                    a.outside_to if a.outside else "",
                    f"{a.missing:,}",
                    a.missing_to if a.missing else "",
                    unused,
                )
            )
        lines += aligned(rows)
    fitting = len(fit.attributes) - len(odd)
    lines.append(f"Attributes that fit exactly: {fitting}." if odd else "Every attribute fits exactly.")
    lines.append(
        "Every value has a place of its own."
        if fit.clean
        else "Some values fall into a category that is not theirs; consider other = true or missing = true."
    )
    return lines
