"""The Diabetes table of the thesis: a ready schema, and a loader that prepares the published file.

"Diabetes 130-US hospitals for years 1999-2008", UCI Machine Learning Repository, CC BY 4.0; Strack et al. 2014.
101,766 encounters in 50 columns; keeping each patient's first encounter leaves 71,518 records, one per person.
Thesis: section "Real-World Data".

The file is looked for at the ``path`` given, else where the environment variable ``PANBAYES_DIABETES`` points (the
CSV file, or the zip archive that holds it), else fetched from the public archive into the user's cache. Whatever its
origin, the CSV must have the published sha256.
"""

from __future__ import annotations

import hashlib
import io
import os
import urllib.error
import urllib.request
import zipfile
from importlib import resources
from pathlib import Path
from typing import Final

import platformdirs
import polars as pl

from panbayes.errors import InputError
from panbayes.files import check_path, output_file
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from panbayes.tables.units import first_records

__all__ = ["ARCHIVE_URL", "CSV_SHA256", "diabetes_frame", "diabetes_schema", "load_diabetes"]

CSV_SHA256: Final = "0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97"
ARCHIVE_URL: Final = "https://archive.ics.uci.edu/static/public/296/diabetes+130-us+hospitals+for+years+1999-2008.zip"
ENVIRONMENT: Final = "PANBAYES_DIABETES"
CSV_NAME: Final = "diabetic_data.csv"
MAX_ARCHIVE: Final = 100_000_000
_GET: Final = f"get the archive from {ARCHIVE_URL} and set {ENVIRONMENT} to it"

_GROUPS: Final = (
    # ICD-9 ranges of Strack et al. (2014), Table 2: (first, last, single code that belongs with them, group).
    (390, 459, 785, "Circulatory"),
    (460, 519, 786, "Respiratory"),
    (520, 579, 787, "Digestive"),
    (250, 250, 250, "Diabetes"),
    (800, 999, 800, "Injury"),
    (710, 739, 710, "Musculoskeletal"),
    (580, 629, 788, "Genitourinary"),
    (140, 239, 140, "Neoplasms"),
)


def diabetes_schema() -> Schema:
    """Return the schema: 43 attributes with 2 to 118 values."""
    text = resources.files("panbayes.tables").joinpath("diabetes.toml").read_text(encoding="utf-8")
    return Schema.parse(text, source="diabetes.toml")


def load_diabetes(path: str | Path | None = None, *, url: str = ARCHIVE_URL) -> Table:
    """Return the table of the thesis: 71,518 records, 43 attributes."""
    return Table.read(diabetes_frame(path, url=url), diabetes_schema())


def diabetes_frame(path: str | Path | None = None, *, url: str = ARCHIVE_URL) -> pl.DataFrame:
    """Return the prepared values: diagnoses grouped, each patient's first encounter, 43 columns of text."""
    frame = pl.read_csv(_published_csv(path, url=url), infer_schema=False)
    kept, _ = first_records(frame["patient_nbr"], 1)
    grouped = [_icd9_group(pl.col(name)).alias(name) for name in ("diag_1", "diag_2", "diag_3")]
    return frame[kept].with_columns(grouped).select(diabetes_schema().names)


def _icd9_group(code: pl.Expr) -> pl.Expr:
    """Group ICD-9 codes; E and V codes, which are not numbers, belong to Other, and "?" stays missing."""
    number = code.cast(pl.Float64, strict=False).floor()
    group = pl.lit("Other")
    for first, last, single, name in _GROUPS:
        group = pl.when(number.is_between(first, last) | (number == single)).then(pl.lit(name)).otherwise(group)
    return pl.when(code == "?").then(code).otherwise(group)


def _published_csv(path: str | Path | None, *, url: str) -> bytes:
    chosen = path or os.environ.get(ENVIRONMENT) or None
    argument = "--path" if path else ENVIRONMENT
    if chosen is None:
        cached = Path(platformdirs.user_cache_dir("panbayes")) / "dataset_diabetes.zip"
        chosen, argument = cached, str(cached)
        if not cached.is_file():
            _fetch(url, cached)
    try:
        raw = check_path(chosen, argument=argument).read_bytes()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(
            argument, found=f"{chosen} cannot be read ({reason})", remedy=f"check the path, or {_GET}"
        ) from None
    if zipfile.is_zipfile(io.BytesIO(raw)):
        raw = _unzip(raw, chosen, argument=argument)
    if hashlib.sha256(raw).hexdigest() != CSV_SHA256:
        raise InputError(
            argument,
            found=f"{chosen} is not the published {CSV_NAME} (its sha256 differs)",
            remedy=_GET,
        )
    return raw


def _unzip(raw: bytes, chosen: str | Path, *, argument: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            member = next((m for m in archive.infolist() if Path(m.filename).name == CSV_NAME), None)
            if member is not None and member.file_size <= MAX_ARCHIVE:
                return archive.read(member)
    except (zipfile.BadZipFile, EOFError, OSError):
        pass
    raise InputError(argument, found=f"{chosen} is damaged or holds no {CSV_NAME}", remedy=_GET) from None


def _fetch(url: str, target: Path) -> None:
    """Download the archive into the cache; its content is checked where it is read."""
    opener = urllib.request.OpenerDirector()  # the default one would also open files and FTP
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    try:
        with opener.open(url, timeout=60) as reply:
            raw = reply.read(MAX_ARCHIVE + 1)
    except (urllib.error.URLError, OSError) as error:
        raise InputError(
            ENVIRONMENT,
            found=f"is not set, and the public archive could not be fetched ({error})",
            remedy=_GET,
        ) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    with output_file(target, argument=str(target)) as temporary:
        temporary.write_bytes(raw)
