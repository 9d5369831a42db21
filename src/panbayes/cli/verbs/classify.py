"""``panbayes classify``: the most probable value of an attribute for every record of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from panbayes.cli.models import ModelFile, load
from panbayes.cli.text import AsJson, emit, working
from panbayes.files import output_file
from panbayes.tables.sources import read_frame, write_frame
from panbayes.tables.table import Table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``classify``."""
    app.command("classify")(classify)


def classify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")],
    target: Annotated[str, typer.Option(help="The attribute to predict; it need not be in the file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .csv, .tsv or .parquet.")],
    as_json: AsJson = False,
) -> None:
    """Predict an attribute from all the others, for every record of a file.

    The output is the file with two columns more, the predicted value and its probability. It holds the records
    themselves: it is as sensitive as the file.
    """
    network = load(model)
    network.schema.index(target, argument="--target")
    frame = read_frame(data, argument=str(data))
    known = target in frame.columns
    complete = frame if known else frame.with_columns(pl.lit(None).alias(target))
    with output_file(output) as temporary, working(f"classifying {frame.height:,} records"):
        table = Table.read(complete, network.schema, argument=str(data), every_record=True)
        found = network.classify(table, target)
        predicted = pl.Series(f"{target}_predicted", found.labels())
        probability = pl.Series(f"{target}_probability", found.probabilities.max(axis=1))
        write_frame(frame.with_columns(predicted, probability), temporary, kind=output)
    summary: dict[str, object] = {"output": str(output), "records": table.records, "target": target}
    lines = [f"{output}: {table.records:,} records with {target}_predicted and {target}_probability."]
    if known:
        right = float((found.codes == table.codes[network.schema.index(target)]).mean())
        summary["accuracy"] = right
        lines.append(f"{right:.1%} agree with the file's own {target}; for the holder's eyes only: read off the data.")
    emit(summary, lines, as_json=as_json)
