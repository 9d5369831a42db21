"""Tables of Snowflake, BigQuery, SQL Server and Databricks, by SQL that was never tested against these services."""

from __future__ import annotations

from typing import Final

from panbayes.tables.sources.source import Source, later

__all__ = ["SERVICES"]

SERVICES: Final = Source(
    "services",
    later("panbayes.tables.sql.sessions.services"),
    schemes=("bigquery", "databricks", "mssql", "snowflake"),
)
