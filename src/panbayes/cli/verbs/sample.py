"""``panbayes sample``: synthetic records from a model."""

from __future__ import annotations

from typing import Annotated

import typer

from panbayes.bayesnet.network import Network
from panbayes.cli.arguments import AsJson, ModelFile, TableOutput
from panbayes.cli.help import add_command
from panbayes.cli.models import is_private, origin
from panbayes.cli.question import parse_evidence
from panbayes.cli.table_output import SpreadsheetSafe, write_table
from panbayes.cli.text import emit, plural, working
from panbayes.files import output_file
from panbayes.tables.decoding import value_draws

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``sample``."""
    add_command(app, sample)


def sample(
    model: ModelFile,
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="NUMBER", help="How many records to draw, at least 1.", min=1)
    ],
    output: TableOutput,
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Draw only records with this value. Repeatable."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="The same number, 0 or above, draws the same records again.",
            min=0,
            show_default="other records every time",
        ),
    ] = None,
    within: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help="Which value of a bin or period stands for it: its midpoint, or one drawn from it (uniform).",
        ),
    ] = "midpoint",
    independent: Annotated[
        bool,
        typer.Option("--independent", help="Draw every record without regard to the others, for simulations."),
    ] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    as_json: AsJson = False,
) -> None:
    """Draw synthetic records from a model, also given evidence.

    Every record is drawn exactly from the model's distribution, and all together are balanced: how often values occur,
    alone and together, is closer to the model than chance would be. It costs no privacy beyond the model's. Records
    hold the categories of the model's schema as they are, also one that a spreadsheet would run as a formula: give
    --spreadsheet-safe before you open a table of somebody else's model in one.

    Examples:
        panbayes sample model.json -n 1000 -o synthetic.csv
        panbayes sample model.json -n 50 -o up.parquet --given insulin=Up --seed 7
        panbayes sample model.json -n 1000 -o synthetic.csv --within uniform
    """
    network = Network.load(model)
    evidence = parse_evidence(given or (), argument="--given")
    network.evidence(evidence, argument="--given")
    draw = value_draws(within, seed, argument="--within")
    with (
        output_file(output, inputs=(model,), private=not is_private(network)) as temporary,
        working(f"drawing {plural(number, 'record')}"),
    ):
        drawn = network.sample_table(number, seed, given=evidence, independent=independent).decoded(draw)
        write_table(drawn, temporary, kind=output, spreadsheet_safe=spreadsheet_safe)
    emit(
        {"output": str(output), "records": number, "private": is_private(network)},
        [f"{output}: {plural(number, 'synthetic record')}.", origin(network, model)],
        as_json=as_json,
    )
