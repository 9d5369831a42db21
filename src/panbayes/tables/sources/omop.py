"""People of an OMOP database, one row each: ``omop+duckdb:///data/clinic.duckdb?features=features.toml&schema=cdm``."""

from __future__ import annotations

from typing import Final

from panbayes.tables.sources.address import OMOP
from panbayes.tables.sources.source import Source, later, pushed_down

__all__ = ["PEOPLE"]

PEOPLE: Final = Source("OMOP", later("panbayes.tables.omop.opening"), schemes=tuple(OMOP), remote=pushed_down)
