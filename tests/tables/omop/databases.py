"""OMOP databases for tests: a DuckDB file, and a schema of its own on a PostgreSQL server."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from urllib.parse import quote

import duckdb

from panbayes.schema.omop.features import Features, dump_features
from tests.postgres import POSTGRES, USER
from tests.tables.omop.model import History, create, fill, frame_of, statements

__all__ = ["in_duckdb", "in_postgresql", "written"]

_NUMBER = count()


def written(features: Features, folder: Path) -> Path:
    """Write a feature file under a name of its own."""
    path = folder / f"features-{next(_NUMBER)}.toml"
    path.write_text(dump_features(features), encoding="utf-8")
    return path


def in_duckdb(history: History, folder: Path, *, schema: str = "cdm") -> str:
    """Make a file; return its address without features."""
    path = folder / f"clinic-{next(_NUMBER)}.duckdb"
    with duckdb.connect(str(path)) as connection:
        create(connection, schema=schema)
        fill(connection, history, schema=schema)
    return f"omop+duckdb://{path}?schema={schema}"


def in_postgresql(history: History, *, number: str = "NUMERIC") -> str:
    """Make a schema on the server; return its address without features."""
    import adbc_driver_postgresql.dbapi as driver

    schema = f"cdm_{next(_NUMBER)}"
    POSTGRES.execute(*statements(schema, number=number))
    place = f"postgresql://{USER}@127.0.0.1:{POSTGRES.port}/postgres"
    with driver.connect(place, autocommit=True) as connection, connection.cursor() as cursor:
        for name, rows in history.items():
            if not rows:
                continue
            frame = frame_of(rows)
            cursor.adbc_ingest("rows_to_put", frame.to_arrow(), mode="replace", db_schema_name=schema)
            columns = ", ".join(frame.columns)
            cursor.execute(f"INSERT INTO {schema}.{name} ({columns}) SELECT {columns} FROM {schema}.rows_to_put")
    return f"omop+{place}?schema={quote(schema)}"
