"""``panbayes export``: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.models import ModelFile, load, origin
from panbayes.cli.text import AsJson, emit
from panbayes.errors import InputError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``export``."""
    app.command("export")(export)


def export(
    model: ModelFile,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write: .bif.")],
    as_json: AsJson = False,
) -> None:
    """Write a model in the Bayesian interchange format (BIF), which pgmpy, pyAgrum and others read."""
    if output.suffix.lower() != ".bif":
        raise InputError("OUT", found=f"found {output}", remedy="give a file that ends in .bif")
    network = load(model)
    network.save(output)
    emit(
        {"output": str(output), "attributes": len(network.schema)},
        [f"{output}: {len(network.schema)} attributes.", origin(network, model)],
        as_json=as_json,
    )
