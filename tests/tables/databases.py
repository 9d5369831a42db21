"""Frames put into real databases: a table ``people``, in a file or on a server."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path

import duckdb
import polars as pl
from hypothesis import assume

from panbayes.tables.texts import as_text
from tests.postgres import POSTGRES

_NUMBER = count()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _check_names(frame: pl.DataFrame) -> None:
    """Leave out examples whose names differ by case alone, which these databases do not tell apart."""
    if len({name.lower() for name in frame.columns}) < frame.width:
        assume(condition=False)


def in_duckdb(frame: pl.DataFrame, path: Path, types: Mapping[str, str] | None = None) -> str:
    """Make a DuckDB file; ``types`` are declared types other than those of the frame."""
    _check_names(frame)
    file = path.with_suffix(f".{next(_NUMBER)}.duckdb")
    with duckdb.connect(str(file)) as connection:
        connection.register("frame", frame.to_arrow())
        chosen = [
            f"CAST({_quoted(n)} AS {(types or {})[n]}) AS {_quoted(n)}" if n in (types or {}) else _quoted(n)
            for n in frame.columns
        ]
        connection.execute(f"CREATE TABLE people AS SELECT {', '.join(chosen)} FROM frame")
    return f"duckdb://{file}?table=people"


def in_sqlite(frame: pl.DataFrame, path: Path, *, strict: bool = False) -> str:
    """Make a SQLite file; what SQLite has no type for is kept as text."""
    _check_names(frame)
    file = path.with_suffix(f".{next(_NUMBER)}.db")
    kinds = {
        name: "INTEGER" if t.is_integer() else "REAL" if t.is_float() else "TEXT" for name, t in frame.schema.items()
    }
    plain = frame.with_columns(as_text(frame[name]).alias(name) for name, kind in kinds.items() if kind == "TEXT")
    with closing(sqlite3.connect(file)) as connection, connection:
        declared = ", ".join(f"{_quoted(name)} {kind}" for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE people ({declared}) {'STRICT' if strict else ''}")
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * frame.width)})", plain.iter_rows())
    return f"sqlite://{file}?table=people"


PG_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "text",
    pl.Int64: "bigint",
    pl.Int32: "integer",
    pl.Int16: "smallint",
    pl.Float64: "double precision",
    pl.Float32: "real",
    pl.Boolean: "boolean",
    pl.Date: "date",
}


def in_postgresql(frame: pl.DataFrame, types: Mapping[str, str] | None = None) -> str:
    """Make a table on the server, of declared types."""
    name = f"people_{next(_NUMBER)}"
    declared = {n: (types or {}).get(n) or PG_TYPES[type(t)] for n, t in frame.schema.items()}
    columns = ", ".join(f"{_quoted(n)} {t}" for n, t in declared.items())
    texts = frame.select(as_text(frame[n]).alias(n) for n in frame.columns)
    for n, t in frame.schema.items():
        if t.is_float():
            texts = texts.with_columns(pl.when(frame[n].is_nan()).then(pl.lit("NaN")).otherwise(texts[n]).alias(n))
    rows = [
        "(" + ", ".join(f"CAST({_literal(v)} AS {t})" for v, t in zip(row, declared.values(), strict=True)) + ")"
        for row in texts.iter_rows()
    ]
    inserts = [f"INSERT INTO {name} VALUES {', '.join(rows)}"] if rows else []
    POSTGRES.execute(f"CREATE TABLE {name} ({columns})", *inserts)
    return POSTGRES.address(name)


def _literal(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


PUT: dict[str, Callable[[pl.DataFrame, Path], str]] = {
    "DuckDB": in_duckdb,
    "SQLite": in_sqlite,
    "PostgreSQL": lambda frame, _path: in_postgresql(frame),
}
"""How a frame comes into each kind of database."""
