"""``panbayes score``: how well a model predicts a table.

Thesis: section "Evaluation Metric".
"""

from __future__ import annotations

import math

import numpy as np
import typer

from panbayes.bayesnet.network import Network
from panbayes.cli.arguments import AsJson, Columns, DataFile, Encoding, ModelFile, NoHeader, Separator, Sheet, data_file
from panbayes.cli.help import add_command
from panbayes.cli.text import HOLDER_ONLY, emit, plural, working
from panbayes.tables.table import Table

__all__ = ["register"]

NOTICE = f"{HOLDER_ONLY}: a score is a look at the data, and was not made private."


def register(app: typer.Typer) -> None:
    """Add the command ``score``."""
    add_command(app, score)


def score(
    model: ModelFile,
    data: DataFile,
    encoding: Encoding = None,
    separator: Separator = None,
    no_header: NoHeader = False,
    columns: Columns = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Score a model on test records: bits per record, lower is better.

    The score is the cross entropy. A score is a look at the records and is not made private: for the holder's eyes
    only.

    Examples:
        panbayes score model.json test.csv
    """
    file = data_file(data, encoding=encoding, separator=separator, no_header=no_header, columns=columns, sheet=sheet)
    network = Network.load(model)
    with working("scoring"):
        table = Table.read(file, network.schema, every_record=True)
        bits = network.log_prob(table) / -math.log(2)
    impossible = int(np.isinf(bits).sum())
    mean = float(bits.mean())
    uniform = sum(math.log2(size) for size in network.schema.sizes)
    emit(
        {
            "cross_entropy_bits": mean if math.isfinite(mean) else None,
            "records": table.records,
            "impossible_records": impossible,
            "notice": NOTICE,
        },
        [
            f"{file}: cross entropy {mean:.3f} bits per record over {plural(table.records, 'record')} "
            f"(uniform guessing: {uniform:.1f}).",
            *([f"Probability zero in this model: {plural(impossible, 'record')}."] if impossible else []),
            NOTICE,
        ],
        as_json=as_json,
    )
