"""``panbayes export``: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.bayesnet.formats.files import formats
from panbayes.bayesnet.formats.model_json import MODEL
from panbayes.bayesnet.network import Network
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.help import add_command
from panbayes.cli.models import origin
from panbayes.cli.text import emit, plural
from panbayes.errors import InputError
from panbayes.files import check_output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``export``."""
    add_command(app, export)


def export(
    model: ModelFile,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, such as model.bif.")],
    as_json: AsJson = False,
) -> None:
    """Write a model as BIF, which pgmpy, pyAgrum and others read.

    BIF is the Bayesian interchange format. It holds the network and of the privacy statement only a comment: keep the
    model file beside it. What the file's name ends in says which format is written.

    Examples:
        panbayes export model.json model.bif
    """
    others = sorted(suffix for suffix, known in formats().items() if known is not MODEL)
    if output.suffix.lower() not in others:
        raise InputError("OUT", found=f"found {output}", remedy=f"give a file that ends in {' or '.join(others)}")
    check_output(output, argument="OUT", inputs=(model,))
    network = Network.load(model)
    network.save(output, argument="OUT")
    emit(
        {"output": str(output), "attributes": len(network.schema)},
        [f"{output}: {plural(len(network.schema), 'attribute')}.", origin(network, model)],
        as_json=as_json,
    )
