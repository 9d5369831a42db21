"""``panbayes dataset``: write a public dataset and its schema, ready to use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.text import AsJson, emit
from panbayes.errors import InputError
from panbayes.files import output_file, write_text
from panbayes.reproduce.diabetes import diabetes_frame, diabetes_schema
from panbayes.schema.schema import dump_schema

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the group ``dataset``."""
    group = typer.Typer(no_args_is_help=True, help="Write a public dataset and its schema, ready to use.")
    group.command("diabetes")(diabetes)
    group.callback()(_group)
    app.add_typer(group, name="dataset")


def _group() -> None:
    """Write a public dataset and its schema, ready to use."""


def diabetes(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for diabetes.csv and diabetes.toml.")],
    path: Annotated[
        Path | None,
        typer.Option(
            help="The published archive or CSV file; else the environment variable PANBAYES_DIABETES, else the "
            "public archive is fetched."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prepare the Diabetes table of the thesis: 71,518 records, 43 attributes."""
    frame = diabetes_frame(path)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError("--output", found=f"{output} cannot be made ({reason})", remedy="give a folder") from None
    schema = diabetes_schema()
    with output_file(output / "diabetes.csv") as temporary:
        frame.write_csv(temporary)
    write_text(output / "diabetes.toml", dump_schema(schema))
    emit(
        {"data": str(output / "diabetes.csv"), "schema": str(output / "diabetes.toml"), "records": frame.height},
        [f"{output / 'diabetes.csv'}: {frame.height:,} records; {output / 'diabetes.toml'}: {len(schema)} attributes."],
        as_json=as_json,
    )
