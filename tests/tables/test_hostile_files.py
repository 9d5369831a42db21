"""Files that are damaged or made to hurt: one line about the file, in little time and memory."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.tables.sources import arrow_columns, parquet
from panbayes.tables.sources.dispatch import read_columns, read_frame
from panbayes.tables.texts import as_text
from tests.tables.file_fuzz import run

FRAME = pl.DataFrame({"text": ["Jane Doe", "secret"] * 40, "whole": [4711, 815] * 40})


NESTED = pl.DataFrame({"text": [["Jane Doe"], ["secret"]] * 40})


def test_a_panic_of_the_native_reader_spoils_no_file_and_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def panic(*_args: object, **_named: object) -> pl.DataFrame:
        os.write(2, b"thread panicked at Jane Doe\n")
        raise pl.exceptions.PanicException("Jane Doe")

    NESTED.write_parquet(tmp_path / "nested.parquet")
    FRAME.write_parquet(tmp_path / "t.parquet")
    expected = as_text(read_frame(tmp_path / "nested.parquet", argument="t")["text"])
    monkeypatch.setattr(pl, "from_arrow", panic)
    found = read_frame(tmp_path / "nested.parquet", argument="t")["text"]
    assert found.to_list() == expected.to_list(), "whatever cannot go over in its own type has the same texts"
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"
    with pytest.raises(InputError, match=r"^t: is a damaged or truncated Parquet file; write it again") as caught:
        read_frame(tmp_path / "t.parquet", argument="t")
    assert "Jane" not in str(caught.value)


def test_a_file_that_declares_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(parquet, "MAX_CELLS", 100)
    assert read_columns(tmp_path / "t.parquet", ["whole"], argument="t").height == 80
    monkeypatch.setattr(arrow_columns, "arrow_batches", lambda *_args: pytest.fail("it was read"))
    with pytest.raises(InputError, match=r"^t: declares more than 100 values; give fewer columns, or a smaller file$"):
        read_frame(tmp_path / "t.parquet", argument="t")


def test_changed_files_are_read_or_refused() -> None:
    """Of every kind, in a process whose memory is limited; tests/soak has the long run."""
    wrong, peak = run(100_000, 100_150, seconds=300)
    assert wrong == []
    assert 0 < peak < 1_000
