"""``panbayes schema``: draft a public schema from a table, or check a table against one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.text import AsJson, aligned, emit
from panbayes.errors import InputError
from panbayes.files import write_text
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Schema, Unit
from panbayes.tables.check import Fit, check_table
from panbayes.tables.draft import draft_schema

__all__ = ["register"]

HOLDER_ONLY = "For the holder's eyes only: what follows was read off the data."


def register(app: typer.Typer) -> None:
    """Add the group ``schema``."""
    group = typer.Typer(no_args_is_help=True, help="Draft a public schema from a table, or check a table against one.")
    group.command("draft")(draft)
    group.command("check")(check)
    app.add_typer(group, name="schema")


def draft(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The schema file to write (TOML).")],
    name: Annotated[str | None, typer.Option(help="The schema's name; by default the data file's.")] = None,
    other: Annotated[
        list[str] | None, typer.Option(help="Give this attribute an `other` value ('*' for all). Repeatable.")
    ] = None,
    missing_value: Annotated[
        list[str] | None, typer.Option(help="A further text that means missing, beside NA, NaN, null, ?. Repeatable.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The column that says whom a record belongs to.")] = None,
    max_records: Annotated[
        int | None, typer.Option(help="With --unit: records kept per person, by default 1.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Propose a schema from a table, marked as a draft that a person must check and approve."""
    if max_records is not None and unit is None:
        raise InputError("--max-records", found="is given without --unit", remedy="name the id column with --unit")
    text = draft_schema(
        data,
        name=name or data.stem,
        other=other or (),
        missing_values=(*DEFAULT_MISSING_VALUES, *(missing_value or ())),
        unit=Unit(unit, max_records or 1) if unit is not None else None,
    )
    write_text(output, text)
    schema = Schema.parse(text, source=str(output))
    emit(
        {"schema": str(output), "status": schema.status, "attributes": len(schema)},
        [
            f"{output}: a draft with {len(schema)} attributes, read off private data.",
            'Check it as its first lines say, then set status = "approved".',
        ],
        as_json=as_json,
    )


def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema file (TOML).")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")],
    as_json: AsJson = False,
) -> None:
    """Tell how a table fits a schema. The output is read off the data: for the holder's eyes only."""
    loaded = Schema.load(schema)
    fit = check_table(data, loaded)
    emit(
        {"notice": HOLDER_ONLY, "status": loaded.status, "clean": fit.clean, **asdict(fit)},
        _account(loaded, fit, data),
        as_json=as_json,
    )


def _account(schema: Schema, fit: Fit, data: Path) -> list[str]:
    size = f"{fit.records:,} records"
    if fit.persons is not None and schema.unit is not None:
        size += f" of {fit.persons:,} persons; {fit.kept:,} kept, at most {schema.unit.max_records} each"
        size += f"; {fit.unnamed:,} without an id are left out" if fit.unnamed else ""
    lines = [HOLDER_ONLY, f"{data} under {schema.source} ({schema.status}): {size}, {len(schema)} attributes."]
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
    lines.append(f"{fitting} attributes fit exactly." if odd else "Every attribute fits exactly.")
    lines.append(
        "Every value has a place of its own."
        if fit.clean
        else "Some values fall into a category that is not theirs; consider other = true or missing = true."
    )
    return lines
