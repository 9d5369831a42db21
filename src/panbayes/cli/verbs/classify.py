"""``panbayes classify``: the most probable value of an attribute for every record of a file."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.results import INTERVAL
from panbayes.cli.arguments import (
    AsJson,
    Columns,
    DataFile,
    Encoding,
    ModelFile,
    NoHeader,
    Separator,
    Sheet,
    TableOutput,
    data_file,
    input_paths,
)
from panbayes.cli.help import add_command
from panbayes.cli.table_output import SpreadsheetSafe, write_table
from panbayes.cli.text import HOLDER_ONLY, emit, plural, working
from panbayes.errors import InputError
from panbayes.files import output_file
from panbayes.tables.sources.dispatch import read_frame
from panbayes.tables.table import Table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``classify``."""
    add_command(app, classify)


def classify(
    model: ModelFile,
    data: DataFile,
    target: Annotated[str, typer.Option(metavar="NAME", help="The attribute to predict; it need not be in the file.")],
    output: TableOutput,
    spreadsheet_safe: SpreadsheetSafe = False,
    encoding: Encoding = None,
    separator: Separator = None,
    no_header: NoHeader = False,
    columns: Columns = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Predict an attribute of every record in a file from all the others.

    The output is the file with more columns: the predicted value and its probability, and where the model knows its
    error the lower and the upper end of the 90 % interval of that probability. It holds the records
    themselves: it is as sensitive as the file, and a new one can be read by its owner alone. Texts are written as they
    are, also one that a spreadsheet would run as a formula: --spreadsheet-safe defuses them.

    Examples:
        panbayes classify model.json test.csv --target insulin -o classes.csv
    """
    file = data_file(data, encoding=encoding, separator=separator, no_header=no_header, columns=columns, sheet=sheet)
    network = Network.load(model)
    network.schema.index(target, argument="--target")
    frame = read_frame(file, argument=str(file), named=network.schema.names)
    known = target in frame.columns
    complete = frame if known else frame.with_columns(pl.lit(None).alias(target))
    with (
        output_file(output, inputs=(model, *input_paths([file])), private=True) as temporary,
        working(f"classifying {plural(frame.height, 'record')}"),
    ):
        table = Table.read(complete, network.schema, argument=str(file), every_record=True)
        found = network.classify_table(table, target)
        answers = found.decoded()
        taken = [name for name in (f"{target}_{column}" for column in answers.columns) if name in frame.columns]
        if taken:
            raise InputError(
                str(file), found=f'has a column "{taken[0]}", which the output needs', remedy="rename or drop it"
            )
        both = frame.with_columns(column.alias(f"{target}_{column.name}") for column in answers.get_columns())
        write_table(both, temporary, kind=output, spreadsheet_safe=spreadsheet_safe)
    summary: dict[str, object] = {"output": str(output), "records": table.records, "target": target}
    lines = [f"{output}: {plural(table.records, 'record')} with {target}_predicted and {target}_probability."]
    if "low" in answers.columns:
        lines.append(f"The {INTERVAL} of each probability goes from {target}_low to {target}_high.")
    lines += found.remarks
    summary["remarks"] = list(found.remarks)
    if known:
        right = float((found.codes == table.codes[network.schema.index(target)]).mean())
        summary["accuracy"] = right
        lines.append(f"{HOLDER_ONLY}: {right:.1%} agree with the file's own {target}.")
    emit(summary, lines, as_json=as_json)
