"""``panbayes sample``: synthetic records from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.models import ModelFile, is_private, load, origin
from panbayes.cli.question import parse_evidence
from panbayes.cli.text import AsJson, emit, working
from panbayes.files import output_file
from panbayes.tables.sources import write_frame

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``sample``."""
    app.command("sample")(sample)


def sample(
    model: ModelFile,
    number: Annotated[int, typer.Option("-n", "--number", help="How many records to draw.", min=1)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .csv, .tsv or .parquet.")],
    given: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Only records with this value. Repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draw the same records again.", min=0)] = None,
    as_json: AsJson = False,
) -> None:
    """Draw synthetic records from a model, exactly from its distribution, also given evidence."""
    network = load(model)
    evidence = parse_evidence(given or (), argument="--given")
    network.evidence(evidence, argument="--given")
    with output_file(output) as temporary, working(f"drawing {number:,} records"):
        write_frame(network.sample(number, seed, given=evidence).decoded(), temporary, kind=output)
    emit(
        {"output": str(output), "records": number, "private": is_private(network)},
        [f"{output}: {number:,} synthetic records.", origin(network, model)],
        as_json=as_json,
    )
