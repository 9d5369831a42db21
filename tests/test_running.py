"""Commands run in this process leave what a process of their own would leave."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.effort import some
from tests.running import run_here, run_line, run_process


@pytest.mark.parametrize(
    ("arguments", "code"),
    some(
        [
            ((), 2),
            (("learn",), 2),
            (("schema", "draft", "absent.csv", "-o", "s.toml"), 2),
            (("schema", "draft", "t.csv", "-o", "s.toml", "--json"), 0),
            (("stream", "feed", "s.state"), 2),
            (("holder", "ledger", "show"), 2),
        ],
        3,
    ),
)
def test_here_and_in_a_process(arguments: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,ä\n", encoding="utf-8")
    here = run_here(*arguments, folder=tmp_path)
    process = run_process(*arguments, folder=tmp_path)
    assert here.returncode == code
    assert (here.returncode, here.stdout, here.stderr) == (process.returncode, process.stdout, process.stderr)


def test_a_bug_ends_as_it_would_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_verb: str | None) -> None:
        raise KeyError("Jane Doe")

    monkeypatch.setattr("panbayes.cli.calling.build", broken)
    done = run_here("demo", folder=tmp_path)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith("internal error: KeyError at test_running.py:")
    assert "Jane" not in done.stderr


def test_everything_is_put_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    before = (Path.cwd(), dict(os.environ), sys.argv, sys.excepthook, sys.stdin, sys.stdout, sys.stderr)
    run_here("stream", "feed", "s.state", folder=tmp_path, more={"COLUMNS": "20"})
    assert before == (Path.cwd(), dict(os.environ), sys.argv, sys.excepthook, sys.stdin, sys.stdout, sys.stderr)
    os.write(1, b"out")
    os.write(2, b"err")
    assert capfd.readouterr() == ("out", "err")


def test_libraries_that_write_below_python_are_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def below(_verb: str | None) -> None:
        os.write(1, os.read(0, 100))
        raise SystemExit

    monkeypatch.setattr("panbayes.cli.calling.build", below)
    assert run_here(folder=tmp_path, stdin="heard").stdout == "heard"
    assert run_line("echo heard | cat | panbayes x", folder=tmp_path).stdout == "heard\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("panbayes --version | wc -l", "1\n"),
        ("panbayes query absent.json 'a | b=\"c\"'", "error: absent.json: "),
        ("echo $COLUMNS", "80\n"),
    ],
)
def test_lines_get_a_shell_where_they_need_one(line: str, shown: str, tmp_path: Path) -> None:
    done = run_line(line, folder=tmp_path)
    assert (done.stdout + done.stderr).startswith(shown)
