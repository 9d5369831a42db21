"""Files of every kind, changed at random: each is read, or refused in one line, in little time and memory.

``python -m tests.tables.file_fuzz START STOP`` tries the files with these numbers, in a process whose memory is
limited, and prints what went wrong. Whatever escapes ends the process, soon after the number that was printed last.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.sources.file import File
from panbayes.tables.table import Table
from tests.tables.workbooks import workbook

__all__ = ["peak_memory", "run", "trouble"]

_ROOT: Final = Path(__file__).resolve().parents[2]

MEMORY: Final = 4 << 30
"""Bytes of address space that a process may take; libraries alone take half of it."""

SECONDS: Final = 20.0
"""No file may take so long."""

SCHEMA: Final = Schema(
    "s",
    (
        Attribute("name", categories=("Ann", "Bo", "Cé"), other="other", missing="missing"),
        Attribute("age", bins=(0, 30, 60, 100), other="other", missing="missing"),
        Attribute("day", categories=("1970-01-02", "1970-01-03"), other="other", missing="missing"),
        Attribute("list", categories=("[1, 2]",), other="other", missing="missing"),
    ),
)


def _table(records: int) -> Any:
    array: Any = pa.array
    draw = np.random.default_rng(records)
    return pa.table(
        {
            "name": array(
                [["Ann", "Bo", "Cé", None][place] for place in draw.integers(0, 4, records).tolist()], pa.string()
            ),
            "age": array(draw.integers(0, 99, records).tolist()),
            "day": array(draw.integers(0, 4, records).tolist(), pa.int32()).cast(pa.date32()),
            "list": array([[1, 2], None, []][place] for place in draw.integers(0, 3, records).tolist()),
            "more": array([{"a": "x", "b": 1.5}] * records),
        }
    )


def _parquet(**options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(_table(120), stream, **options)
    return stream.getvalue()


def _arrow(*, file: bool, compression: str | None = None) -> bytes:
    stream, table = io.BytesIO(), _table(90)
    table = table.set_column(0, "name", table["name"].dictionary_encode())
    new_options: Any = pa.ipc.IpcWriteOptions
    options = new_options(compression=compression)
    new: Any = pa.ipc.new_file if file else pa.ipc.new_stream
    with new(stream, table.schema, options=options) as writer:
        writer.write_table(table, 40)
    return stream.getvalue()


def _unpacked(raw: bytes) -> bytes:
    """Store the parts of a workbook as they are, so that changes reach what is in them."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name))
    return stream.getvalue()


@cache
def examples() -> tuple[tuple[str, bytes, dict[str, Any]], ...]:
    """Return sound files: name, bytes, and how they are declared."""
    rows = _table(60).to_pylist()
    lines = [["name", "age", "day", "list"]] + [[str(row[name] or "") for name in SCHEMA.names] for row in rows]
    quoted = ["\t".join(line) for line in lines]
    text = "\n".join(",".join(f'"{v}"' if "," in v else v for v in line) for line in lines) + "\n"
    europe = "\r\n".join(";".join(line) for line in lines) + "\r\n"
    zstandard: Any = pa.Codec("zstd").compress(text.encode(), asbytes=True)
    bare = {"header": False, "separator": ";", "columns": SCHEMA.names}
    return (
        ("t.csv", text.encode(), {}),
        ("t.csv", b"\xef\xbb\xbf" + europe.encode(), {}),
        ("t.csv", europe.replace("\r\n", "\r").encode(), {}),
        ("t.csv", europe.encode("latin-1"), {"encoding": "latin-1"}),
        ("t.csv", europe.encode("gb18030"), {"encoding": "gb18030"}),
        ("t.csv", europe.encode(), bare),
        ("t.txt", "\n".join(quoted).encode("utf-16"), {}),
        ("t.csv", f"sep=;\n{europe}".encode(), {}),
        ("t.csv.gz", gzip.compress(text.encode()), {}),
        ("t.csv.bz2", bz2.compress(text.encode()), {}),
        ("t.csv.xz", lzma.compress(text.encode()), {}),
        ("t.csv.zst", bytes(zstandard), {}),
        ("t.parquet", _parquet(compression="none"), {}),
        ("t.parquet", _parquet(compression="zstd", data_page_version="2.0"), {}),
        ("t.parquet", _parquet(compression="snappy", row_group_size=50, use_dictionary=False), {}),
        ("t.parquet", _parquet(compression="gzip", write_page_index=True), {}),
        ("t.arrow", _arrow(file=True), {}),
        ("t.feather", _arrow(file=True, compression="lz4"), {}),
        ("t.arrow", _arrow(file=False), {}),
        ("t.arrow", _arrow(file=False, compression="zstd"), {}),
        ("t.xlsx", workbook({"first": lines}), {}),
        ("t.xlsx", _unpacked(workbook({"first": lines})), {}),
    )


_PIECES: Final = (b'"', b"\n", b"\r", b"\0", b"\xff", b",", b";", b"\xff" * 4, b"\x7f" * 4, b"PAR1", b"\x1f\x8b", b'""')


def changed(raw: bytes, draw: np.random.Generator) -> bytes:
    """Change some bytes: by one, by pieces that mean something, by cutting, doubling and moving."""
    found = bytearray(raw)
    for _ in range(int(draw.integers(1, 5))):
        at = int(draw.integers(len(found) + 1))
        match int(draw.integers(8)):
            case 0 | 1 | 2 if at < len(found):
                found[at] = int(draw.integers(256))
            case 3 if at < len(found):
                found[at] ^= 1 << int(draw.integers(8))
            case 4:
                found[at:at] = _PIECES[int(draw.integers(len(_PIECES)))]
            case 5:
                del found[at : at + int(draw.integers(1, 40))]
            case 6:
                found[at:at] = found[int(draw.integers(len(found) + 1)) :][:64]
            case 7 if draw.integers(4) == 0:
                del found[at:]
    return bytes(found)


def _try(seed: int, folder: Path) -> str | None:
    draw = np.random.default_rng(seed)
    name, raw, how = examples()[seed % len(examples())]
    # Below the header of a text file nothing may be refused.
    end = raw.find(b"\n") + 1
    below = name == "t.csv" and how.get("encoding", "utf-8") == "utf-8" and end > 0 and draw.random() < 0.5
    if how.get("header") is False:
        below, end = True, 0
    path = folder / name
    path.write_bytes(raw[:end] + changed(raw[end:], draw) if below else changed(raw, draw))
    begun = time.monotonic()
    try:
        Table.read(File(path, **how), SCHEMA, may_be_empty=True)
    except InputError as error:
        if below and not raw.startswith(b"sep="):
            return f"{seed}: a record was refused: {error}"
        if not str(error).startswith(f"{path}: ") or "\n" in str(error):
            return f"{seed}: {error}"
    took = time.monotonic() - begun
    return f"{seed}: took {took:.0f} s" if took > SECONDS else None


def trouble(start: int, stop: int) -> Iterator[str]:
    """Yield what goes wrong with the files of these numbers, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(start, stop):
            found = _try(seed, Path(folder))
            if found:
                yield found


def peak_memory() -> int:
    """Return the most memory that this process has taken, in megabytes; what its parent took does not count."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) // 1024


def run(start: int, stop: int, *, seconds: float) -> tuple[list[str], int]:
    """Try these files in a process of its own; return what went wrong, and its peak memory in megabytes."""
    command = [sys.executable, "-m", "tests.tables.file_fuzz", str(start), str(stop)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=_ROOT)
    lines = done.stdout.splitlines()
    peak = next((int(line.split()[1]) for line in lines if line.startswith("peak ")), 0)
    wrong = [line for line in lines if not line.startswith(("peak ", "at "))]
    if done.returncode != 0:
        wrong.append(f"the process ended with {done.returncode} {lines[-1:]}: {done.stderr[-500:]}")
    return wrong, peak


def _main(start: int, stop: int) -> None:
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pl.DataFrame({"a": [1]}).filter(pl.col("a") > 0)  # threads start before the first file
    for first in range(start, stop, 10):
        sys.stdout.write(f"at {first}\n")
        sys.stdout.flush()
        for line in trouble(first, min(stop, first + 10)):
            sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"peak {peak_memory()}\n")


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
