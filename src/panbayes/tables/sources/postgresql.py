"""Tables and views of a PostgreSQL database: ``postgresql://host/clinic?table=people``."""

from __future__ import annotations

from typing import Final

from panbayes.tables.sources.source import Source, later, pushed_down

__all__ = ["POSTGRESQL"]

POSTGRESQL: Final = Source(
    "PostgreSQL",
    later("panbayes.tables.sql.sessions.postgresql"),
    schemes=("postgresql", "postgres"),
    remote=pushed_down,
)
