"""``panbayes query``: posterior probabilities, answered by a model."""

from __future__ import annotations

from typing import Annotated

import typer

from panbayes.cli.models import ModelFile, is_private, load
from panbayes.cli.question import parse_question
from panbayes.cli.text import AsJson, aligned, emit

__all__ = ["register"]

MOST = 40


def register(app: typer.Typer) -> None:
    """Add the command ``query``."""
    app.command("query")(query)


def query(
    model: ModelFile,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="Such as 'readmitted | insulin=Up, age=\"[70-80)\"'.")
    ],
    as_json: AsJson = False,
) -> None:
    """Ask a model for the exact probability of attributes, given others."""
    network = load(model)
    targets, evidence = parse_question(question)
    posterior = network.posterior(targets, evidence)
    rows = posterior.rows()
    data = {
        "targets": list(targets),
        "given": evidence,
        "private": is_private(network),
        "posterior": [{"values": list(labels), "probability": p} for labels, p in rows],
    }
    shown = sorted(rows, key=lambda row: -row[1])[:MOST] if len(rows) > MOST else rows
    table = aligned([(*targets, "probability"), *((*labels, f"{p:.4f}") for labels, p in shown)])
    given = ", ".join(f"{name} = {value}" for name, value in evidence.items())
    heading = f"{', '.join(targets)} given {given}:" if given else f"{', '.join(targets)}:"
    more = [f"  and {len(rows) - MOST:,} less probable (all of them with --json)"] if len(rows) > MOST else []
    emit(data, [heading, *table, *more], as_json=as_json)
