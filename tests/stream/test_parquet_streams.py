"""Parquet files as streams: a row spoils itself alone, a name is a name, and a damaged file says nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.stream.ids.checking import StreamCheck, check_stream
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.formats import parquet
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.where import parse_where
from tests.stream.slots import slots_of

USERS = HashedUniverse.of_memory(key=bytes(16))


def checked(path: Path, *where: str, column: str = "user") -> StreamCheck:
    return check_stream(USERS, str(path), form=None, column=column, where=parse_where(where))


def spoiled(path: Path, column: str) -> Path:
    """Write three rows, of which the second has a text that is not UTF-8."""
    frame = {"user": ["ann", "bobXY", "cyd"], "kind": ["buy", "buyXY", "buy"], "n": [1, 2, 3]}
    pl.DataFrame(frame).write_parquet(path, compression="uncompressed", statistics=False)
    mark = {"user": b"bobXY", "kind": b"buyXY"}[column]
    raw = path.read_bytes()
    assert mark in raw
    path.write_bytes(raw.replace(mark, mark[:3] + b"\xff\xfe"))
    return path


def test_an_id_that_is_not_utf8_is_an_id_as_in_lines_and_spoils_no_other(tmp_path: Path) -> None:
    path = spoiled(tmp_path / "in.parquet", "user")
    assert checked(path) == StreamCheck(3, 3, 0, 0)
    assert checked(path, "n>=2") == StreamCheck(3, 2, 0, 0, 1)
    (tmp_path / "in.txt").write_bytes(b"ann\nbob\xff\xfe\ncyd\n")
    lines = [slots_of(USERS, texts) for texts in batches(str(tmp_path / "in.txt"))]
    rows = [slots_of(USERS, ids) for ids in batches(str(path), column="user")]
    assert rows == lines


def test_a_field_that_is_not_utf8_fails_the_condition_of_its_own_record(tmp_path: Path) -> None:
    path = spoiled(tmp_path / "in.parquet", "kind")
    assert checked(path, "kind=buy") == StreamCheck(3, 2, 0, 0, 1)
    assert checked(path, "kind!=buy", "n<=2") == StreamCheck(3, 1, 0, 0, 2)


def test_it_goes_on_where_the_rows_before_were_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_ROWS", 1)
    path = spoiled(tmp_path / "in.parquet", "user")
    assert sum(len(slots_of(USERS, ids)) for ids in batches(str(path), column="user")) == 3
    assert checked(path) == StreamCheck(3, 3, 0, 0)


def test_a_file_too_large_for_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="has a damaged part"):
        checked(spoiled(tmp_path / "in.parquet", "user"))


def test_the_name_of_a_file_is_no_pattern(tmp_path: Path) -> None:
    for name in ("a[1].parquet", "b?.parquet", "b1.parquet"):
        pl.DataFrame({"user": [name]}).write_parquet(tmp_path / name)
    assert checked(tmp_path / "a[1].parquet").counted == 1
    assert checked(tmp_path / "b?.parquet").counted == 1
    with pytest.raises(InputError, match="cannot be read"):
        checked(tmp_path / "*.parquet")


def test_an_address_is_a_file_that_does_not_exist() -> None:
    """Nothing is fetched: nobody listens on this port, and polars would say that it could not connect."""
    with pytest.raises(InputError, match=r"cannot be read \(no such file"):
        list(batches("http://127.0.0.1:9/in.parquet", column="user"))


def test_names_of_columns_are_compared_in_their_one_form(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pl.DataFrame({"user": ["a", "b"], " cafe\u0301": ["x", "y"]}).write_parquet(path)
    assert checked(path, "caf\u00e9=x").counted == 1
    pl.DataFrame({"user": ["a"], "k": ["x"], "k ": ["y"]}).write_parquet(path)
    with pytest.raises(InputError, match="no column 'k', or several"):
        checked(path, "k=x")


def test_a_damaged_file_is_refused_and_polars_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, chance = tmp_path / "in.parquet", np.random.default_rng(5)
    frame = pl.DataFrame({"user": [f"user-{i % 50}" for i in range(300)], "kind": ["buy", "look", "x"] * 100})
    refused = 0
    for compression in ("zstd", "uncompressed") * 100:
        frame.write_parquet(path, compression=compression)
        raw = bytearray(path.read_bytes())
        for _ in range(3):
            raw[int(chance.integers(len(raw)))] = int(chance.integers(256))
        path.write_bytes(raw)
        try:
            checked(path, *(("kind=buy",) if chance.random() < 0.5 else ()))
        except InputError:
            refused += 1
    assert refused > 50
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ["collect_schema", "collect"])
def test_a_panic_of_polars_is_a_damaged_file_and_shows_nothing(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pl.DataFrame({"user": ["ann"]}).write_parquet(tmp_path / "in.parquet")

    def panic(_frame: pl.LazyFrame) -> NoReturn:
        os.write(2, b"thread panicked at ann")
        raise pl.exceptions.PanicException("ann")

    monkeypatch.setattr(pl.LazyFrame, method, panic)
    with pytest.raises(InputError) as refused:
        checked(tmp_path / "in.parquet")
    assert "ann" not in str(refused.value)
    assert capfd.readouterr().err == ""


def test_records_have_the_fields_in_the_order_they_were_asked_for(tmp_path: Path) -> None:
    path = spoiled(tmp_path / "in.parquet", "kind")
    (batch,) = batches(str(path), column="user", fields=("n", "kind"))
    assert isinstance(batch, Records)
    assert list(batch.fields) == ["n", "kind"]
