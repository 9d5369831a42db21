"""``panbayes export``: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.bayesnet.network import Network
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.help import add_command
from panbayes.cli.models import origin
from panbayes.cli.text import emit, plural
from panbayes.errors import InputError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``export``."""
    add_command(app, export)


def export(
    model: ModelFile,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its name ends in .bif.")],
    as_json: AsJson = False,
) -> None:
    """Write a model as BIF, which pgmpy, pyAgrum and others read.

    BIF is the Bayesian interchange format. It holds the network and nothing of the privacy statement: keep the model
    file beside it.

    Examples:
        panbayes export model.json model.bif
    """
    if output.suffix.lower() != ".bif":
        raise InputError("OUT", found=f"found {output}", remedy="give a file that ends in .bif")
    network = Network.load(model)
    network.save(output, argument="OUT")
    emit(
        {"output": str(output), "attributes": len(network.schema)},
        [f"{output}: {plural(len(network.schema), 'attribute')}.", origin(network, model)],
        as_json=as_json,
    )
