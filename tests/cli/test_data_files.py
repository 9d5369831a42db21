"""How a file is written, said once for every verb that reads one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from panbayes.cli.arguments import data_file, holder_files
from panbayes.errors import InputError
from panbayes.tables.sources.file import File
from tests.running import run_here

SCHEMA = """\
version = 1
name = "clinic"
status = "approved"
[[attributes]]
name = "größe"
bins = [0, 1.5, 3]
missing = true
[[attributes]]
name = "sex"
categories = ["F", "M"]
missing = true
"""
STUDY = 'version = 1\nname = "clinic"\nschema = "clinic.toml"\nstrategy = "privbayes"\nepsilon = 1.0\n'
BODY = "1.2;F\n1.7;M\n;F\n" * 300
HOW = ("--encoding", "cp1252", "--separator", "semicolon")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clinic.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "latin.csv").write_bytes(f"größe;sex\n{BODY}".encode("cp1252"))
    (tmp_path / "bare.txt").write_bytes(BODY.encode())
    (tmp_path / "plain.csv").write_bytes(f"größe,sex\n{BODY.replace(';', ',')}1.2,F\n".encode())
    return tmp_path


def test_every_verb_that_reads_a_table_reads_one_as_it_is_declared(folder: Path) -> None:
    learn = ("learn", "study.toml", "--holder", "north=latin.csv", "-o", "model.json", "--simulate", "1")
    for command in (
        (*learn, *HOW),
        ("schema", "check", "clinic.toml", "latin.csv", *HOW),
        ("schema", "draft", "latin.csv", "-o", "draft.toml", *HOW),
        ("score", "model.json", "latin.csv", *HOW, "--json"),
        ("classify", "model.json", "latin.csv", "--target", "sex", "-o", "out.csv", *HOW),
    ):
        undeclared = run_here(*command[: -len(HOW)] if command[-1] != "--json" else command[:3], folder=folder)
        assert undeclared.returncode == 2
        assert "is not UTF-8 text; declare its encoding, such as latin-1 (--encoding latin-1)" in undeclared.stderr
        done = run_here(*command, folder=folder)
        assert done.returncode == 0, done.stderr
    assert 'name = "größe"' in (folder / "draft.toml").read_text(encoding="utf-8")
    assert (folder / "out.csv").read_text(encoding="utf-8").startswith("größe,sex,sex_predicted")


def test_a_file_without_a_header(folder: Path) -> None:
    check = ("schema", "check", "clinic.toml", "bare.txt", "--json")
    for options, message in (
        (("--no-header",), "--columns: is not given for a file without a header, and records must not decide it"),
        (
            ("--no-header", "--columns", "größe,sex"),
            "bare.txt: has no header that would show the separator; declare it",
        ),
        (("--columns", "a,b"), "--columns: is given without --no-header; leave it out, or give both"),
        (("--separator", "x"), '--separator: found "x"; give one of: comma, semicolon, tab, pipe'),
        (("--encoding", "latin1x"), '--encoding: found "latin1x"; did you mean'),
    ):
        refused = run_here(*check, *options, folder=folder)
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr
    done = run_here(*check, "--no-header", "--separator", ";", "--columns", "größe, sex", folder=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 900
    draft = ("schema", "draft", "bare.txt", "-o", "d.toml", "--no-header", "--separator", "semicolon", "--columns", "2")
    assert run_here(*draft, folder=folder).returncode == 0
    assert 'name = "column_2"' in (folder / "d.toml").read_text()


def test_holders_whose_files_are_written_in_different_ways(folder: Path) -> None:
    holders = ("--holder", "north=latin.csv", "--holder", "south=plain.csv", "--holder", "east=bare.txt")
    (folder / "study.toml").write_text(STUDY.replace("privbayes", "adaptive"))
    how = ("--encoding", "north=cp1252", "--separator", "east=semicolon", "--columns", "east=größe,sex")
    done = run_here("learn", "study.toml", *holders, "-o", "m.json", "--simulate", "1", *how, folder=folder)
    assert done.returncode == 0, done.stderr


def test_what_is_said_for_all_and_for_one() -> None:
    paths = {"a": "a.csv", "b": "b.csv"}
    found = holder_files(paths, encoding=["latin-1", "b=utf-8"], separator=["a=tab"], columns=["b=x,y"])
    assert found == {
        "a": File("a.csv", encoding="latin-1", separator="\t"),
        "b": File("b.csv", header=False, columns=["x", "y"]),
    }
    assert holder_files(paths, no_header=True, columns=["3"])["a"] == File("a.csv", header=False, columns=3)
    with pytest.raises(InputError, match="--encoding: is given twice for all holders"):
        holder_files(paths, encoding=["latin-1", "cp1252"])
    with pytest.raises(InputError, match='--encoding: is given twice for holder "a"'):
        holder_files(paths, encoding=["a=latin-1", "a=cp1252"])
    assert data_file("t.csv") == File("t.csv")
