"""Misfits are shown to the holder, on its own terminal, and to nobody else; they change nothing."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from panbayes.tables.fit import AttributeFit, Fit, misfit_lines
from tests.effort import soak, some
from tests.running import environment, run_here

SCHEMA = """version = 1
name = "clinic"
status = "approved"

[[attributes]]
name = "sex"
categories = ["Female", "Male"]

[[attributes]]
name = "age"
bins = [0, 40, 65, 120]
missing = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clinic.toml").write_text(SCHEMA)
    (tmp_path / "odd.csv").write_text("sex,age\n" + "M,30\n" * 61 + "F,70\n" * 39)
    (tmp_path / "fits.csv").write_text("sex,age\n" + "Male,30\n" * 61 + "Female,\n" * 39)
    done = run_here("study", "new", "study.toml", "--schema", "clinic.toml", "--epsilon", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def learned(folder: Path, *arguments: str) -> list[str]:
    """How to learn in a process of its own."""
    given = ["learn", "study.toml", "-o", "model.json", "--state", str(folder / "ledgers"), *arguments]
    return [sys.executable, "-m", "panbayes", *given]


def on_a_terminal(folder: Path, *arguments: str) -> tuple[str, str]:
    """Return what stood on the terminal, and what went to standard output."""
    ours, theirs = pty.openpty()
    with (folder / "output").open("w+") as output:
        command = learned(folder, *arguments)
        with subprocess.Popen(command, cwd=folder, stdout=output, stderr=theirs, env=environment(folder)) as running:
            os.close(theirs)
            shown = b""
            try:
                while chunk := os.read(ours, 65_536):
                    shown += chunk
            except OSError:  # Linux reports the end of a pseudo-terminal as an error
                pass
        os.close(ours)
        assert running.returncode == 0
        output.seek(0)
        return shown.decode(), output.read()


def in_a_pipe(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = learned(folder, *arguments)
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=environment(folder)
    )


def test_the_holder_sees_them_on_its_terminal_before_anything_is_asked(folder: Path) -> None:
    shown, output = on_a_terminal(folder, "--holder", "north=odd.csv")
    assert "for the eyes of north only: the schema does not name some values" in shown
    assert "  sex: 100 of 100 would be counted as Male" in shown
    assert "age" not in shown
    assert "would be counted" not in output + (folder / "model.json").read_text()


def test_where_all_fit_nothing_is_said(folder: Path) -> None:
    shown, _ = on_a_terminal(folder, "--holder", "north=fits.csv")
    assert "eyes" not in shown


@pytest.mark.parametrize("more", some([(), ("--json",)], 1))
def test_they_go_into_no_pipe_or_file(folder: Path, more: tuple[str, ...]) -> None:
    done = in_a_pipe(folder, "--holder", "north=odd.csv", *more)
    assert done.returncode == 0
    assert "counted as" not in done.stdout + done.stderr
    kept = b"".join(path.read_bytes() for path in (folder / "ledgers").rglob("*") if path.is_file())
    assert b"counted as" not in kept + (folder / "model.json").read_bytes()


@soak
def test_seeing_them_changes_no_answer(folder: Path) -> None:
    """The terminal alone differs: the same study on the same records is answered from the ledger."""
    in_a_pipe(folder, "--holder", "north=odd.csv")
    before = (folder / "model.json").read_bytes()
    on_a_terminal(folder, "--holder", "north=odd.csv")
    assert (folder / "model.json").read_bytes() == before


@pytest.mark.parametrize(
    ("file", "share", "code"),
    [("odd.csv", None, 1), ("odd.csv", "0.99", 1), ("odd.csv", "1", 0), ("fits.csv", None, 0), ("fits.csv", "0", 0)],
)
def test_a_check_exits_with_one_above_the_tolerated_share(
    folder: Path, file: str, share: str | None, code: int
) -> None:
    given = ("schema", "check", "clinic.toml", file, *(("--tolerate", share) if share else ()))
    done = run_here(*given, folder=folder)
    assert done.returncode == code, done.stderr
    assert ("sex: 100 of 100 would be counted as Male" in done.stdout) == (file == "odd.csv")
    assert ("No attribute has more than the tolerated share of 1." in done.stdout) == (share == "1")
    told = json.loads(run_here(*given, "--json", folder=folder).stdout)
    assert told["share"] == (1.0 if file == "odd.csv" else 0.0)


def test_a_share_lies_between_nothing_and_all(folder: Path) -> None:
    done = run_here("schema", "check", "clinic.toml", "odd.csv", "--tolerate", "1.5", folder=folder)
    assert done.returncode == 2
    assert "--tolerate" in done.stderr


def test_a_sheet_of_a_file_that_has_none_is_refused(folder: Path) -> None:
    done = run_here("schema", "check", "clinic.toml", "odd.csv", "--sheet", "Visits", folder=folder)
    assert done.returncode == 2
    assert 'sheet: found "Visits", and a CSV file has none; leave it out' in done.stderr


def test_the_largest_share_comes_first_and_long_lists_are_cut() -> None:
    few = AttributeFit("few", 3, 1, "x", 0, "", (), (("x", 1),), 0.1)
    many = AttributeFit("many", 5, 10, "", 0, "", (), (("a", 4), ("b", 3), ("c", 2), ("d", 1)), 1.0)
    none = AttributeFit("none", 2, 0, "", 3, "missing", ())
    assert misfit_lines(Fit(10, 0, None, 10, (few, many, none))) == [
        "many: 4 of 10 would be counted as a, 3 as b, 2 as c, 1 otherwise",
        "few: 1 of 10 would be counted as x",
    ]
