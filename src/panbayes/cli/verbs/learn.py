"""``panbayes learn``: a study and the holders' files in, a model out; both sides in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.bayesnet.formats.files import format_of
from panbayes.cli.arguments import (
    AsJson,
    HolderColumns,
    HolderEncodings,
    HolderSeparators,
    HolderSheets,
    LedgerFolder,
    NoHeader,
    holder_files,
    input_paths,
)
from panbayes.cli.help import add_command
from panbayes.cli.models import about, to_json
from panbayes.cli.text import emit, plural, working
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn as learn_network
from panbayes.errors import InputError
from panbayes.files import output_file, writing
from panbayes.tables.sources.address import is_address

__all__ = ["parse_holders", "register"]


def register(app: typer.Typer) -> None:
    """Add the command ``learn``."""
    add_command(app, learn)


def learn(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The study file (TOML), as panbayes study new writes it.")
    ],
    holder: Annotated[
        list[str], typer.Option(metavar="NAME=DATA", help="A holder and its table, a file or an address. Repeatable.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The model file to write, such as model.json.")
    ],
    state: LedgerFolder = None,
    simulate: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="NOT PRIVATE: noise from this seed, 0 or above, and no ledger; for experiments.",
            min=0,
            show_default="noise that nobody can predict",
        ),
    ] = None,
    encoding: HolderEncodings = None,
    separator: HolderSeparators = None,
    no_header: NoHeader = False,
    columns: HolderColumns = None,
    sheet: HolderSheets = None,
    as_json: AsJson = False,
) -> None:
    """Learn a private network from the tables of one or more holders.

    Every holder's spending is kept in a ledger: the same study on the same data again gives the same model for free,
    another study adds up.

    Examples:
        panbayes learn study.toml --holder north=north.csv -o model.json
        panbayes learn study.toml --holder north=north.csv \\
            --holder south=south.csv -o model.json --state ledgers
    """
    agreed = Study.load(study)
    files = holder_files(
        parse_holders(holder),
        encoding=encoding or (),
        separator=separator or (),
        no_header=no_header,
        columns=columns or (),
        sheet=sheet or (),
    )
    inputs = (study, agreed.schema.source, *input_paths(files.values()))
    with output_file(output, inputs=inputs, private=not agreed.private or simulate is not None) as temporary:
        with working(f"learning from {plural(len(files), 'holder')}"):
            network = learn_network(agreed, files, state=state, simulate=simulate)
        data = format_of(output).encode(network)
        with writing(output):
            temporary.write_bytes(data)
    emit(
        {"model": str(output), **to_json(network)},
        [f"{output}: {agreed.name}, learned by {agreed.strategy}.", *about(network)],
        as_json=as_json,
    )


def parse_holders(texts: list[str]) -> dict[str, str]:
    """Read NAME=FILE and NAME=URL pairs."""
    files: dict[str, str] = {}
    for text in texts:
        name, sign, file = text.partition("=")
        if not sign or not name.strip() or not file or is_address(name):
            found = "found an address without a name" if is_address(name) else f'found "{text}"'
            raise InputError("--holder", found=found, remedy="give NAME=FILE, such as north=north.csv")
        if name in files:
            raise InputError("--holder", found=f'found "{name}" twice', remedy="give every holder a name of its own")
        files[name] = file
    return files
