"""``panbayes schema``: draft a public schema from a table, check a table against one, or ask for proposals."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import (
    AsJson,
    Columns,
    DataFile,
    Encoding,
    NoHeader,
    Separator,
    Sheet,
    data_file,
    input_paths,
)
from panbayes.cli.help import add_command, new_group
from panbayes.cli.schema.approved import check_not_approved
from panbayes.cli.schema.bounds import bounds
from panbayes.cli.schema.categories import categories
from panbayes.cli.text import HOLDER_ONLY, aligned, emit, plural
from panbayes.errors import ExitCode, InputError
from panbayes.files import write_text
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Schema, Unit
from panbayes.tables.check import check_table
from panbayes.tables.draft import draft_schema
from panbayes.tables.fit import Fit, misfit_lines
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.compression import unpacked_name
from panbayes.tables.sources.file import File

__all__ = ["register"]

HELP = """Draft a public schema from a table, check a table against one, or ask for proposals privately.

A schema says which columns a table has and which values each may hold. It is public, so nothing in it may be known from
the records alone.

Examples:
    panbayes schema draft north.csv -o clinic.toml
    panbayes schema check clinic.toml north.csv
    panbayes schema bounds clinic age --epsilon 0.1 --yes
"""

NOTICE = f"{HOLDER_ONLY}: what follows was read off the data."


def register(app: typer.Typer) -> None:
    """Add the group ``schema``."""
    group = new_group(HELP)
    add_command(group, draft)
    add_command(group, check)
    add_command(group, bounds)
    add_command(group, categories)
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
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column to describe. Repeatable.", show_default="all columns"),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out. Repeatable.")] = None,
    encoding: Encoding = None,
    separator: Separator = None,
    no_header: NoHeader = False,
    columns: Columns = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Propose a schema from a table, marked as a draft that a person must check and approve.

    What is shown, as the draft itself, was read off the data: it is for the holder's eyes only. A schema that has been
    approved is never replaced.

    Examples:
        panbayes schema draft north.csv -o clinic.toml
        panbayes schema draft north.csv -o draft.toml --other diagnosis --drop a1c
    """
    if max_records is not None and unit is None:
        raise InputError("--max-records", found="is given without --unit", remedy="name the id column with --unit")
    check_not_approved(output)
    file = data_file(data, encoding=encoding, separator=separator, no_header=no_header, columns=columns, sheet=sheet)
    drafted = draft_schema(
        file,
        name=name or _name_of(file),
        other=other or (),
        missing_values=(*DEFAULT_MISSING_VALUES, *(missing_value or ())),
        unit=Unit(unit, max_records or 1) if unit is not None else None,
        keep=keep or (),
        drop=drop or (),
    )
    write_text(output, drafted.text, inputs=input_paths([file]), private=True)
    schema = Schema.parse(drafted.text, source=str(output))
    found = drafted.suggestion
    emit(
        {
            "notice": NOTICE,
            "schema": str(output),
            "status": schema.status,
            "attributes": len(schema),
            "left_out": dict(found.left_out),
            "remarks": dict(found.remarks),
            "advice": list(found.advice),
        },
        [
            f"{output}: a draft with {plural(len(schema), 'attribute')}, read off private data.",
            *([NOTICE] if found.left_out or found.remarks or found.advice else []),
            *(f"  left out: {column or '(no name)'}: {why}" for column, why in found.left_out.items()),
            *(f"  {column}: {remark}" for column, remark in found.remarks.items()),
            *(f"  {advice}" for advice in found.advice),
            'Check it as its first lines say, then set status = "approved".',
        ],
        as_json=as_json,
    )


def _name_of(table: File | Address) -> str:
    """Return what a schema is called that is drafted from a table: as the file, or the table of an address."""
    if isinstance(table, File):
        return unpacked_name(table.path).stem
    return table.option("table") or table.file.stem


def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema file (TOML).")],
    data: DataFile,
    encoding: Encoding = None,
    separator: Separator = None,
    no_header: NoHeader = False,
    columns: Columns = None,
    sheet: Sheet = None,
    tolerate: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The share of an attribute's values, 0 to 1, that may be outside the schema or missing without a "
            "place of their own.",
            min=0,
            max=1,
        ),
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Tell how a table fits a schema; exit with 1 if more values have no place of their own than are tolerated.

    The output is read off the data: for the holder's eyes only.

    Examples:
        panbayes schema check clinic.toml north.csv
        panbayes schema check clinic.toml north.csv --tolerate 0.01
    """
    loaded = Schema.load(schema)
    file = data_file(data, encoding=encoding, separator=separator, no_header=no_header, columns=columns, sheet=sheet)
    fit = check_table(file, loaded)
    emit(
        {"notice": NOTICE, "status": loaded.status, "clean": fit.clean, "share": fit.share, **asdict(fit)},
        _account(loaded, fit, str(file), tolerate),
        as_json=as_json,
    )
    if fit.share > tolerate:
        raise typer.Exit(ExitCode.NO)


def _account(schema: Schema, fit: Fit, data: str, tolerate: float) -> list[str]:
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
    if fit.clean:
        return [*lines, "Every value has a place of its own."]
    lines += misfit_lines(fit)
    if fit.share <= tolerate:
        return [*lines, f"No attribute has more than the tolerated share of {tolerate:g}."]
    lines.append(
        "The schema does not name these values: was the file read as it was written? If so, name them, or give them a "
        "place of their own with other = true or missing = true."
    )
    return lines
