"""No text from a file writes lines of its own on a terminal, starts a formula in a spreadsheet, or ends in a bug."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.cli.text import aligned, emit
from panbayes.errors import ExitCode, visible
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, dump_schema
from tests.conftest import Panbayes
from tests.effort import some
from tests.running import environment

EVIL = "x\x1b[2J\r\n  Privacy spent: 0\u202e\x9b1A\u2028y"
CALCULATED = "=cmd|' /C calc'!A0"


def model(*names: str, categories: tuple[str, ...] = ("a", "b")) -> Network:
    schema = Schema("s", tuple(Attribute(name, categories=categories) for name in names))
    even = np.full(len(categories), 1 / len(categories))
    return Network(schema, Structure.independent(len(names)), tuple(even for _ in names))


@given(st.text(st.characters(), max_size=40))
def test_a_text_is_shown_in_one_printable_line(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
    assert text.isprintable() <= (visible(text) == text)


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_a_row_is_one_line_and_a_cell_is_no_two_columns(rows: list[tuple[str, str]]) -> None:
    lines = aligned([("name", "value"), *rows])
    assert len(lines) == len(rows) + 1
    assert all(line.isprintable() for line in lines)
    assert "a b" in aligned([("a     b", "c")])[0]


@given(data=st.recursive(st.text(st.characters(), max_size=10), lambda inner: st.lists(inner, max_size=3)))
def test_json_has_exact_values_and_nothing_that_moves_a_cursor(data: object) -> None:
    for encoding in ("utf-8", "latin-1"):
        raw = io.BytesIO()
        with redirect_stdout(io.TextIOWrapper(raw, encoding=encoding)):
            emit(data, [], as_json=True)
            shown = raw.getvalue().decode(encoding)
        assert shown.replace("\n", "").isprintable()
        assert json.loads(shown) == data


def test_names_in_models_and_studies_write_no_lines_of_their_own(panbayes: Panbayes, tmp_path: Path) -> None:
    network = model(EVIL.replace("\n", " "), "b", categories=("a\x1b[31m", "\x07b"))
    network.save(tmp_path / "model.json")
    for arguments in (("show", "model.json"), ("query", "model.json", "b"), ("export", "model.json", "m.bif")):
        done = panbayes(*arguments)
        assert done.returncode == 0, done.stderr
        assert all(line.isprintable() for line in done.stdout.splitlines())
        assert done.stdout.count("\n") == len(done.stdout.splitlines())
    (tmp_path / "s.toml").write_text(dump_schema(model("a").schema))
    done = panbayes("study", "new", "study.toml", "--schema", "s.toml", "--epsilon", "1", "--name", EVIL)
    assert len(done.stdout.splitlines()) == 2
    done = panbayes("study", "show", "study.toml")
    assert not [line for line in done.stdout.splitlines() if line.startswith("  Privacy spent")]
    assert all(line.isprintable() for line in done.stdout.splitlines())


def test_errors_quote_no_escapes(panbayes: Panbayes) -> None:
    for arguments in (("show", "a\x1b[2Jb"), ("show", "a", "\x1b]0;b\x07"), ("\x1b[2J",), ("--\x1b[2J",)):
        done = panbayes(*arguments)
        assert done.returncode == 2
        assert done.stderr.removesuffix("\n").isprintable()
        assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    "arguments",
    [("sample",), ("schem",), ("stream", "fed"), ("sample", "m", "-n", "x", "-o", "y"), ("show", "a", "b"), ("-x",)],
)
def test_a_call_that_cannot_be_is_one_line(arguments: tuple[str, ...], panbayes: Panbayes) -> None:
    done = panbayes(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert " --help`\n" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_name_with_a_nul_is_an_error_about_what_was_given(panbayes: Panbayes) -> None:
    for arguments in (("show", "a\0b"), ("learn", "s.toml", "--holder", "n=a\0b", "-o", "m"), ("sch\0ema",)):
        done = panbayes(*arguments)
        assert done.returncode == 2
        assert done.stderr == "error: arguments: found a NUL character; leave it out: no file's name has one\n"


def test_names_of_files_that_are_not_utf_8_are_used_and_never_a_bug(panbayes: Panbayes, tmp_path: Path) -> None:
    """A disk that was written in latin-1 has such names."""
    folder = os.fsdecode(b"caf\xe9")
    (tmp_path / folder).mkdir()
    network = model("a", "b")
    network.save(tmp_path / folder / "model.json")
    (tmp_path / folder / "schema.toml").write_text(dump_schema(network.schema))
    for name in ("records.csv", "records.tsv", "records.parquet"):
        done = panbayes("sample", f"{folder}/model.json", "-n", "30", "-o", f"{folder}/{name}")
        assert done.returncode == 0, done.stderr
        read = (f"{folder}/model.json", f"{folder}/{name}")
        done = panbayes("classify", *read, "--target", "b", "-o", f"{folder}/c.csv")
        assert done.returncode == 0, done.stderr
        assert len((tmp_path / folder / "c.csv").read_text().splitlines()) == 31
    for arguments in (
        ("study", "new", "study.toml", "--schema", f"{folder}/schema.toml", "--epsilon", "1"),
        ("study", "new", "study.toml", "--schema", f"{folder}/schema.toml", "--epsilon", "1", "--name", folder),
        ("schema", "draft", f"{folder}/records.csv", "-o", "draft.toml", "--name", folder),
        ("holder", "ledger", "show", f"{folder}\udcff", "--state", folder),
        ("holder", "ledger", "cap", f"{folder}\udcff", "1", "--new", "--state", folder),
    ):
        done = panbayes(*arguments)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("error: ")
        assert len(done.stderr.splitlines()) == 1


def test_every_text_can_be_made_harmless_for_a_spreadsheet(panbayes: Panbayes, tmp_path: Path) -> None:
    categories = (CALCULATED, "@SUM(1)", "+1+1", "-1", "-a", "\t=1", " =1", "\uff1d1", "plain")
    network = model("=attribute", "b", categories=categories)
    network.save(tmp_path / "model.json")
    assert panbayes("sample", "model.json", "-n", "300", "-o", "raw.csv", "--seed", "1").returncode == 0
    assert CALCULATED in (tmp_path / "raw.csv").read_text()
    for arguments in (
        ("sample", "model.json", "-n", "300", "--seed", "1"),
        ("classify", "model.json", "raw.csv", "--target", "b"),
    ):
        done = panbayes(*arguments, "-o", "safe.csv", "--spreadsheet-safe")
        assert done.returncode == 0, done.stderr
        rows = list(csv.reader(io.StringIO((tmp_path / "safe.csv").read_text(), newline="")))
        cells = {cell for row in rows for cell in row}
        assert {f"'{text}" for text in categories if text not in ("-1", "plain")} <= cells
        assert {"-1", "plain", "'=attribute"} <= cells
        assert not [cell for cell in cells if cell.strip()[:1] in ("=", "+", "@", "\uff1d")]


def run_with(*arguments: str, folder: Path, redirect: str, **more: str) -> subprocess.CompletedProcess[str]:
    line = f'exec "$0" -m panbayes "$@" {redirect}'
    return subprocess.run(
        ["bash", "-c", line, sys.executable, *arguments],
        cwd=folder,
        env=environment(folder, more),
        capture_output=True,
        text=True,
        check=False,
    )


FULL = "error: standard output: cannot be written (no space left on device); make room, or give it another place\n"
CLOSED = "error: standard output: is closed; give it a place, such as > /dev/null\n"


def test_standard_output_that_takes_nothing_is_no_bug(tmp_path: Path) -> None:
    model("a", "b").save(tmp_path / "model.json")
    for redirect, told, options in some([("> /dev/full", FULL, ()), (">&-", CLOSED, ("--json",))], 1):
        done = run_with("query", "model.json", "a", *options, folder=tmp_path, redirect=redirect)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
    done = run_with("--help", folder=tmp_path, redirect="> /dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "no space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("redirect", ["2> /dev/full", "2>&-", "<&- >&- 2>&-"])
def test_standard_errors_that_take_nothing_leave_the_exit_code(redirect: str, tmp_path: Path) -> None:
    done = run_with("show", "absent.json", folder=tmp_path, redirect=redirect)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_no_file_gets_the_number_of_a_closed_standard_file(tmp_path: Path) -> None:
    """Else whatever a library prints would be written into it."""
    (tmp_path / "s.csv").write_text("a\n1\n")
    done = run_with("schema", "draft", "s.csv", "-o", "s.toml", folder=tmp_path, redirect=">&- <&-")
    assert (done.returncode, done.stderr) == (2, CLOSED)
    assert "error" not in (tmp_path / "s.toml").read_text()
    code = "import os\nfrom panbayes.cli import main\nmain._occupy_standard_numbers()\nos._exit(os.open('s.csv', 0))\n"
    line = f'exec "$0" -c "{code}" <&- >&-'
    first = subprocess.run(["bash", "-c", line, sys.executable], cwd=tmp_path, env=environment(tmp_path), check=False)
    assert first.returncode >= 3


def run_encoded(*arguments: str, folder: Path, encoding: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "panbayes", *arguments],
        cwd=folder,
        env=environment(folder, {"PYTHONIOENCODING": encoding}),
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("encoding", some(["latin-1", "ascii"], 1))
def test_standard_output_without_greek_letters_is_no_bug(encoding: str, tmp_path: Path) -> None:
    model("ä", "β").save(tmp_path / "model.json")
    for arguments in some([("demo", "--help"), ("query", "model.json", "β")], 1):
        done = run_encoded(*arguments, folder=tmp_path, encoding=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        assert arguments[-1] == "--help" or b"\\u03b2" in done.stdout
    told = run_encoded("query", "model.json", "β", "--json", folder=tmp_path, encoding=encoding).stdout
    assert json.loads(told.decode(encoding))["targets"] == ["β"]


def test_one_table_of_exit_codes_is_in_the_help_and_in_the_readme(panbayes: Panbayes) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    page = panbayes("--help").stdout
    for code in ExitCode:
        assert f"| {int(code)} | {code.meaning} |" in readme
        assert f"  {int(code):<5}{code.meaning}\n" in page


def test_a_check_that_says_no_exits_with_one(panbayes: Panbayes, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(dump_schema(model("a").schema))
    (tmp_path / "good.csv").write_text("a\na\nb\n")
    (tmp_path / "bad.csv").write_text("a\na\nc\n")
    assert panbayes("schema", "check", "s.toml", "good.csv").returncode == 0
    for options in ((), ("--json",)):
        done = panbayes("schema", "check", "s.toml", "bad.csv", *options)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    model("a", categories=tuple(f"c{i}" for i in range(3000))).save(tmp_path / "m.json")
    line = f"({sys.executable} -m panbayes query m.json a --json; echo $? >&2) | head -c 1"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("{", "0\n")
