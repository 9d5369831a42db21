"""Files that are damaged or made to hurt: one line about the file, in little time and memory."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.tables.sources import parquet
from panbayes.tables.sources.dispatch import read_columns, read_frame

FRAME = pl.DataFrame({"text": ["Jane Doe", "secret"] * 40, "whole": [4711, 815] * 40})


def test_a_panic_of_the_native_reader_is_an_error_about_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def panic(*_args: object, **_named: object) -> pl.DataFrame:
        os.write(2, b"thread panicked at Jane Doe\n")
        raise pl.exceptions.PanicException("Jane Doe")

    FRAME.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError, match=r"^t: is a damaged or truncated Parquet file; write it again") as caught:
        read_frame(tmp_path / "t.parquet", argument="t")
    assert "Jane" not in str(caught.value)
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_a_file_that_declares_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(parquet, "MAX_CELLS", 100)
    assert read_columns(tmp_path / "t.parquet", ["whole"], argument="t").height == 80
    monkeypatch.setattr(pl, "read_parquet", lambda *_args, **_named: pytest.fail("it was read"))
    with pytest.raises(InputError, match=r"^t: declares more than 100 values; give fewer columns, or a smaller file$"):
        read_frame(tmp_path / "t.parquet", argument="t")
