"""``panbayes score``: how well a model predicts a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from panbayes.cli.models import ModelFile, load
from panbayes.cli.text import AsJson, emit, working
from panbayes.tables.table import Table

__all__ = ["register"]

NOTICE = "For the holder's eyes only: a score is a look at the data, and was not made private."


def register(app: typer.Typer) -> None:
    """Add the command ``score``."""
    app.command("score")(score)


def score(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file of test records.")],
    as_json: AsJson = False,
) -> None:
    """Score a model on test records: cross entropy in bits per record, lower is better.

    Thesis: section "Evaluation Metric".
    """
    network = load(model)
    with working("scoring"):
        table = Table.read(data, network.schema, every_record=True)
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
            f"{data}: cross entropy {mean:.3f} bits per record over {table.records:,} records "
            f"(uniform guessing: {uniform:.1f}).",
            *([f"{impossible:,} records have probability zero in this model."] if impossible else []),
            NOTICE,
        ],
        as_json=as_json,
    )
