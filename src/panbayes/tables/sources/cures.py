"""Files that people have and that are not read: each is known by its first bytes or its name, and has a cure."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from panbayes.errors import InputError

__all__ = ["refuse_unread"]

_EXPORT: Final = "export the table as CSV or Parquet"

_BEGINNINGS: Final = (
    (b"SQLite format 3\0", "an SQLite database", "give its address: sqlite://FILE?table=NAME"),
    (b"%PDF", "a PDF document", "ask for the table it was made from, as CSV, Parquet or Excel"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an Excel workbook of old (.xls) or with a password",
        "save it as .xlsx or CSV",
    ),
    (b"\xc2\xea\x81\x60", "a SAS table", f"{_EXPORT}, such as: proc export, or pandas.read_sas(FILE).to_parquet(…)"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", "a SAS table", f"{_EXPORT}, or use pandas.read_sas(FILE).to_parquet(…)"),
    (b"$FL2", "an SPSS table", f"{_EXPORT}, or use pandas.read_spss(FILE).to_parquet(…)"),
    (b"$FL3", "an SPSS table", f"{_EXPORT}, or use pandas.read_spss(FILE).to_parquet(…)"),
    (b"<stata_dta>", "a Stata table", f"{_EXPORT}, or use pandas.read_stata(FILE).to_parquet(…)"),
    (b"Obj\x01", "an Avro file", _EXPORT),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", f"{_EXPORT}, or use pandas.read_hdf(FILE).to_parquet(…)"),
    (b"\x89PNG\r\n\x1a\n", "a picture", "give the table itself"),
    (b"\xff\xd8\xff", "a picture", "give the table itself"),
    (b"{\\rtf", "a text document", "give the table itself, as CSV"),
    (b"<!DOCTYPE", "a web page", "give the table itself, as CSV"),
    (b"<html", "a web page", "give the table itself, as CSV"),
    (b"<?xml", "an XML document", _EXPORT),
    (b"MSH|", "an HL7 message", f"{_EXPORT}, one record a line"),
    (b'{"', "a JSON file", f"{_EXPORT}, or use polars.read_ndjson(FILE).write_parquet(…)"),
    (b"[{", "a JSON file", f"{_EXPORT}, or use polars.read_json(FILE).write_parquet(…)"),
)
"""How files begin, what they are, and what to do."""

_NAMES: Final = {
    ".xls": ("an Excel workbook of old (.xls)", "save it as .xlsx or CSV"),
    ".xlsb": ("a binary Excel workbook (.xlsb)", "save it as .xlsx or CSV"),
    ".ods": ("an OpenDocument workbook", "save it as .xlsx or CSV"),
    ".sas7bdat": ("a SAS table", f"{_EXPORT}, or use pandas.read_sas(FILE).to_parquet(…)"),
    ".xpt": ("a SAS transport file", f"{_EXPORT}, or use pandas.read_sas(FILE).to_parquet(…)"),
    ".sav": ("an SPSS table", f"{_EXPORT}, or use pandas.read_spss(FILE).to_parquet(…)"),
    ".dta": ("a Stata table", f"{_EXPORT}, or use pandas.read_stata(FILE).to_parquet(…)"),
    ".rds": ("an R object", f"{_EXPORT}, such as: write.csv(readRDS(FILE), row.names = FALSE)"),
    ".rdata": ("an R workspace", f"{_EXPORT}, such as: write.csv(table, row.names = FALSE)"),
    ".pkl": ("a Python pickle", "write the frame with to_parquet"),
    ".orc": ("an ORC file", f"{_EXPORT}, or use pyarrow.orc.read_table(FILE)"),
    ".json": ("a JSON file", f"{_EXPORT}, or use polars.read_json(FILE).write_parquet(…)"),
    ".jsonl": ("a JSON file", f"{_EXPORT}, or use polars.read_ndjson(FILE).write_parquet(…)"),
    ".ndjson": ("a JSON file", f"{_EXPORT}, or use polars.read_ndjson(FILE).write_parquet(…)"),
    ".mdb": ("an Access database", _EXPORT),
    ".accdb": ("an Access database", _EXPORT),
    ".duckdb": ("a DuckDB database", "give its address: duckdb://FILE?table=NAME"),
    ".db": ("a database", _EXPORT),
    ".zip": ("a ZIP archive", "unpack it and give the file in it"),
    ".7z": ("an archive", "unpack it and give the file in it"),
    ".rar": ("an archive", "unpack it and give the file in it"),
    ".tar": ("an archive", "unpack it and give the file in it"),
    ".tgz": ("an archive", "unpack it and give the file in it"),
    ".pdf": ("a PDF document", "ask for the table it was made from, as CSV, Parquet or Excel"),
    ".docx": ("a text document", "give the table itself, as CSV"),
}
"""What files are, and what to do, by how their names end. Many a text is called .xls: it is read as one."""

_TEXTS: Final = (".json", ".jsonl", ".ndjson")


def refuse_unread(path: Path, head: bytes, *, argument: str) -> None:
    """Say what to do about a file that is not read, if it is one of those."""
    known = next(((what, cure) for start, what, cure in _BEGINNINGS if head.startswith(start)), None)
    suffix = path.suffix.lower()
    if known is None and (suffix in _TEXTS or any(byte < 9 or 13 < byte < 32 for byte in head)):
        known = _NAMES.get(suffix)
    if known is not None:
        raise InputError(argument, found=f"is {known[0]}, which is not read", remedy=known[1])
