"""``panbayes show``: what a model is, what it depends on, what it promises."""

from __future__ import annotations

from typing import Final

import typer

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.uncertainty.bounds import NOT_KEPT
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.help import add_command
from panbayes.cli.models import about, asked_for, to_json
from panbayes.cli.text import aligned, emit

__all__ = ["register"]

_GROUPS: Final = "groups: in how many groups the values are held together with other attributes (1: not at all)"
_ERROR: Final = "error: half the widest 90 % interval of the attribute's own probabilities; query tells all others"


def register(app: typer.Typer) -> None:
    """Add the command ``show``."""
    add_command(app, show)


def show(model: ModelFile, as_json: AsJson = False) -> None:
    """Show a model: its structure, its privacy statement, and how wrong its probabilities may be.

    Examples:
        panbayes show model.json
    """
    network = Network.load(model)
    names = network.schema.names
    error = network.error
    rows = [("attribute", "values", *(["groups", "error"] if error else []), "depends on")]
    half = _half_widths(network)
    for child, parents in network.structure.pairs:
        depends = ", ".join(names[parent] for parent in parents) or "-"
        known = [str(int(error.groups[child].max()) + 1), f"±{half[child]:.4f}"] if error else []
        rows.append((names[child], str(network.schema.sizes[child]), *known, depends))
    asked = asked_for(network)
    plain = {key: value for key, value in network.about.items() if key != "warning" and key not in asked}
    described = ", ".join(f"{key}: {value}" for key, value in plain.items())
    lines = [f"{model} ({described})" if described else str(model)]
    lines += [f'{key}: "{value}"' for key, value in asked.items()]
    lines += [*about(network), *aligned(rows)]
    lines += [_GROUPS, _ERROR] if error else [NOT_KEPT]
    data = {"model": str(model), **to_json(network), "error": None}
    if error:
        groups = {name: int(found.max()) + 1 for name, found in zip(names, error.groups, strict=True)}
        data["error"] = {"groups": groups, "largest": dict(zip(names, half, strict=True))}
    emit(data, lines, as_json=as_json)


def _half_widths(network: Network) -> list[float]:
    """Return half the widest 90 % interval of every attribute's own probabilities; nothing if no error is known."""
    intervals = network.intervals() or {}
    return [float((ends[:, 1] - ends[:, 0]).max()) / 2 for ends in intervals.values()]
