"""Tables and views of a DuckDB file: ``duckdb:///data/clinic.duckdb?table=people``."""

from __future__ import annotations

from typing import Final

from panbayes.tables.sources.source import Source, later, pushed_down

__all__ = ["DUCKDB"]

DUCKDB: Final = Source("DuckDB", later("panbayes.tables.sql.sessions.duckdb"), schemes=("duckdb",), remote=pushed_down)
