"""``panbayes query``: posterior probabilities, answered by a model."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from panbayes.bayesnet.network import Network
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.help import add_command
from panbayes.cli.models import is_private
from panbayes.cli.question import parse_question
from panbayes.cli.text import aligned, emit

__all__ = ["register"]

MOST_ROWS: Final = 40


def register(app: typer.Typer) -> None:
    """Add the command ``query``."""
    add_command(app, query)


def query(
    model: ModelFile,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="What is asked for, a bar, and what is given; names and values with commas or spaces at their ends "
            "stand in double quotes.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Ask a model for the exact probability of attributes, given others.

    Examples:
        panbayes query model.json readmitted
        panbayes query model.json 'readmitted, sex | insulin=Up, a1c=">8"'
    """
    network = Network.load(model)
    targets, evidence = parse_question(question)
    posterior = network.posterior(targets, evidence)
    rows = posterior.rows()
    data = {
        "targets": list(targets),
        "given": evidence,
        "private": is_private(network),
        "posterior": [{"values": list(labels), "probability": p} for labels, p in rows],
    }
    shown = sorted(rows, key=lambda row: -row[1])[:MOST_ROWS] if len(rows) > MOST_ROWS else rows
    table = aligned([(*targets, "probability"), *((*labels, f"{p:.4f}") for labels, p in shown)])
    given = ", ".join(f"{name} = {value}" for name, value in evidence.items())
    heading = f"{', '.join(targets)} given {given}:" if given else f"{', '.join(targets)}:"
    more = [f"  and {len(rows) - MOST_ROWS:,} less probable (all of them with --json)"]
    emit(data, [heading, *table, *(more if len(rows) > MOST_ROWS else [])], as_json=as_json)
