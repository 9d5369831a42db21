"""Tables of several files: folders and patterns."""

from __future__ import annotations

import os
import re
from pathlib import Path

import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.tables.sources.dispatch import open_source, read_columns, read_frame
from panbayes.tables.sources.file import File


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_files_of_a_folder_are_one_table_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, b_csv="sex,age\nM,3\n", a_csv="age,sex\n1,F\n2,F\n", sub__c_csv="sex,age\nF,4\n")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    (tmp_path / ".a.csv.crc").write_bytes(b"crc")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "0.json").write_text("{}")
    for given in (tmp_path, str(tmp_path), File(tmp_path), f"{tmp_path}/**/*.csv"):
        assert read_columns(given, ["sex", "age"], argument="t").rows() == [
            ("F", "1"),
            ("F", "2"),
            ("M", "3"),
            ("F", "4"),
        ]
    assert read_frame(f"{tmp_path}/[ab].csv", argument="t").height == 3
    assert read_frame(tmp_path / "sub" / "*", argument="t").height == 1


def test_a_name_with_a_star_is_a_name_where_there_is_such_a_file(tmp_path: Path) -> None:
    write(tmp_path, b_csv="a\n1\n")
    (tmp_path / "*.csv").write_text("a\n7\n")
    assert read_frame(tmp_path / "*.csv", argument="t").rows() == [("7",)]


def test_a_folder_whose_name_is_no_text_is_a_value_like_any_other(tmp_path: Path) -> None:
    for name in (b"ward=\xff", b"ward=a"):
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        folder.mkdir()
        (folder / "t.csv").write_text("sex\nF\n")
    assert sorted(read_columns(tmp_path, ["sex", "ward"], argument="t").rows()) == [("F", "\\udcff"), ("F", "a")]


def test_folders_that_are_values(tmp_path: Path) -> None:
    for year, text in {"2020": "F", "2021": "M", "a%20b": "F", "__HIVE_DEFAULT_PARTITION__": "M"}.items():
        folder = tmp_path / f"year={year}" / "ward=1"
        folder.mkdir(parents=True)
        pl.DataFrame({"sex": [text, text]}).write_parquet(folder / "part-0.parquet")
    frame = read_frame(tmp_path, argument="t")
    assert frame.columns == ["sex", "year", "ward"]
    assert sorted(frame.rows(), key=str) == sorted(
        [(sex, year, "1") for sex, year in (("F", "2020"), ("M", "2021"), ("F", "a b"), ("M", None)) for _ in "12"],
        key=str,
    )
    assert read_columns(tmp_path, ["year"], argument="t").height == 8
    (tmp_path / "year=2020" / "ward=1" / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"^t: is a damaged or truncated Parquet file"):
        read_frame(tmp_path, argument="t")


FOLDERS: dict[str, tuple[dict[str, str], str]] = {
    "empty": ({}, "is a directory without data files; check the path"),
    "kinds": (
        {"a_csv": "x\n", "b.txt": "x\n"},
        "is a directory with files of several kinds (.csv, .txt); give a pattern",
    ),
    "columns": ({"a_csv": "x\n", "b_csv": "y\n"}, "has files with other columns, or other separators, than the first"),
    "separators": ({"a_csv": "x,y\n", "b_csv": "x;y\n"}, "has files with other columns, or other separators"),
    "some values": ({"a_csv": "x\n", "k=1__b_csv": "x\n"}, "has files with other columns"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_are_no_table(name: str, tmp_path: Path) -> None:
    files, message = FOLDERS[name]
    write(tmp_path, **files)
    with pytest.raises(InputError, match=f"^t: {re.escape(message)}"):
        read_frame(tmp_path, argument="t")
    with (
        pytest.raises(InputError, match=r"^t: matches no file; check the path"),
        open_source(tmp_path / "*.x", argument="t"),
    ):
        pass


def _use(path: Path) -> None:
    with open_source(path, argument="t") as opened:
        for _ in opened.batches(["x"]):
            raise OSError("no room")


def test_an_error_while_records_are_used_is_not_one_about_the_file(tmp_path: Path) -> None:
    write(tmp_path, a_csv="x\n1\n")
    with pytest.raises(OSError, match="no room"):
        _use(tmp_path)


def test_a_delta_table_is_no_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    (folder / "_delta_log").mkdir(parents=True)
    pl.DataFrame({"a": ["x"]}).write_parquet(folder / "part.parquet")
    with (
        pytest.raises(InputError, match=r"is a Delta table.*give its address: delta://"),
        open_source(folder, argument="data"),
    ):
        pass
