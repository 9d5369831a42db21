"""``panbayes show``: what a model is, what it depends on, what it promises."""

from __future__ import annotations

import typer

from panbayes.bayesnet.network import Network
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.help import add_command
from panbayes.cli.models import about, to_json
from panbayes.cli.text import aligned, emit

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``show``."""
    add_command(app, show)


def show(model: ModelFile, as_json: AsJson = False) -> None:
    """Show a model: its structure and its privacy statement.

    Examples:
        panbayes show model.json
    """
    network = Network.load(model)
    names = network.schema.names
    rows = [("attribute", "values", "depends on")]
    for child, parents in network.structure.pairs:
        depends = ", ".join(names[parent] for parent in parents) or "-"
        rows.append((names[child], str(network.schema.sizes[child]), depends))
    described = ", ".join(f"{key}: {value}" for key, value in network.about.items() if key != "warning")
    lines = [f"{model} ({described})" if described else str(model), *about(network), *aligned(rows)]
    emit({"model": str(model), **to_json(network)}, lines, as_json=as_json)
