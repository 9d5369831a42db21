"""Tables and views of a SQLite file: ``sqlite:///data/clinic.db?table=people``."""

from __future__ import annotations

from typing import Final

from panbayes.tables.sources.source import Source, later, pushed_down

__all__ = ["SQLITE"]

SQLITE: Final = Source("SQLite", later("panbayes.tables.sql.sessions.sqlite"), schemes=("sqlite",), remote=pushed_down)
