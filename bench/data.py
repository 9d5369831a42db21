"""The Diabetes table for benchmarks, where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

from panbayes.tables.diabetes import load_diabetes
from panbayes.tables.table import Table

__all__ = ["diabetes"]


def diabetes() -> Table:
    """Load the table from ``PANBAYES_DIABETES``, from ``../shared/data``, or from the public archive, in this order."""
    shared = Path(__file__).resolve().parents[2] / "shared" / "data" / "dataset_diabetes.zip"
    return load_diabetes(shared if "PANBAYES_DIABETES" not in os.environ and shared.is_file() else None)
