"""``panbayes dataset``: write a public dataset and its schema, ready to use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson, make_folder
from panbayes.cli.help import add_command, new_group
from panbayes.cli.text import emit, plural
from panbayes.files import output_file, write_text
from panbayes.schema.schema import dump_schema
from panbayes.tables.diabetes import diabetes_frame, diabetes_schema

__all__ = ["register"]

HELP = """Write a public dataset and its schema, ready to use.

Examples:
    panbayes dataset diabetes -o diabetes
"""


def register(app: typer.Typer) -> None:
    """Add the group ``dataset``."""
    group = new_group(HELP)
    add_command(group, diabetes)
    app.add_typer(group, name="dataset")


def diabetes(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for diabetes.csv and diabetes.toml.")
    ],
    path: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The published archive or CSV file.",
            show_default="what PANBAYES_DIABETES names in the environment, else the public archive is fetched",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prepare the Diabetes table of the thesis: 71,518 records, 43 attributes.

    Examples:
        panbayes dataset diabetes -o diabetes
        panbayes dataset diabetes -o diabetes --path dataset_diabetes.zip
    """
    frame = diabetes_frame(path)
    make_folder(output, argument="--output")
    schema = diabetes_schema()
    with output_file(output / "diabetes.csv", inputs=(path,), private=True) as temporary:
        frame.write_csv(temporary)
    write_text(output / "diabetes.toml", dump_schema(schema))
    emit(
        {"data": str(output / "diabetes.csv"), "schema": str(output / "diabetes.toml"), "records": frame.height},
        [
            f"{output / 'diabetes.csv'}: {plural(frame.height, 'record')}.",
            f"{output / 'diabetes.toml'}: {plural(len(schema), 'attribute')}.",
        ],
        as_json=as_json,
    )
