"""``panbayes demo``: the main job, from three hospitals' tables to a network, on data that it generates itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson, make_folder
from panbayes.cli.demo.account import account
from panbayes.cli.demo.job import run_job
from panbayes.cli.help import add_command
from panbayes.cli.text import emit, working
from panbayes.privacy.written import parse_epsilon

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``demo``."""
    add_command(app, demo)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the demo writes its files.")
    ] = Path("demo-output"),
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="ε for every patient, in each of the demo's studies.")
    ] = "1",
    as_json: AsJson = False,
) -> None:
    """Run the main job on generated data and show what it did.

    The folder then holds the tables of three made-up hospitals (north.csv, south.csv, west.csv), test.csv, clinic.toml,
    study.toml and model.json, on which the examples of every other command can be tried.

    Examples:
        panbayes demo
        panbayes demo --epsilon 0.1 -o demo-strict
    """
    total = parse_epsilon(epsilon, argument="--epsilon")
    make_folder(output, argument="--output")
    with working("running the demo"):
        outcome = run_job(output, epsilon=total)
    data = {
        "epsilon": str(total),
        "output": str(output),
        "cross_entropy_bits": outcome.bits,
        "pair_tvd": outcome.distance,
    }
    emit(data, account(outcome), as_json=as_json)
