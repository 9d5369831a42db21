from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from panbayes import __version__
from tests.conftest import Panbayes


def test_version_and_help(panbayes: Panbayes) -> None:
    assert panbayes("--version").stdout == f"panbayes {__version__}\n"
    assert panbayes().stderr == panbayes("--help").stdout == panbayes("-h").stdout


def test_help_loads_nothing_heavy() -> None:
    """--help must start in under 0.4 s of CPU; what costs time is imports, so count those instead of seconds."""
    code = (
        "import sys; sys.argv = ['panbayes', '--help']\n"
        "from panbayes.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "print(sorted({m.split('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "numpy",
        "polars",
        "numba",
        "scipy",
        "opendp",
        "pandas",
        "matplotlib",
        "rich",
        "narwhals",
        "msgspec",
        "pydantic",
    }
    assert "panbayes" in done.stderr
    assert not [name for name in heavy if f"'{name}'" in done.stderr]


def test_an_unknown_verb_gets_a_hint(panbayes: Panbayes) -> None:
    done = panbayes("schem")
    assert done.returncode == 2
    assert done.stderr == "error: no such command 'schem'. Did you mean 'schema', 'score'; see `panbayes --help`\n"


def test_a_bug_is_reported_without_its_message(tmp_path: Path) -> None:
    # Raised inside a verb: Typer replaces the hook for unexpected errors when an app is called.
    code = (
        "import sys; sys.argv = ['panbayes', 'schema', 'check', 's.toml', 't.csv']\n"
        "import panbayes.cli.main, panbayes.cli.verbs.schema\n"
        "class Broken:\n"
        "    def load(path): raise KeyError('Jane Doe')\n"
        "panbayes.cli.verbs.schema.Schema = Broken\n"
        "panbayes.cli.main.run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 70
    assert done.stderr.startswith("internal error: KeyError at <string>:4")
    assert "Jane" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_is_no_error(panbayes: Panbayes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(f"v{i}" for i in range(200)))
    assert panbayes("schema", "draft", "t.csv", "-o", "s.toml").returncode == 0
    line = f"{sys.executable} -m panbayes schema check s.toml t.csv --json | head -c 1"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "{"
    assert done.stderr == ""


def test_schema_verbs_for_a_newcomer(panbayes: Panbayes, tmp_path: Path) -> None:
    (tmp_path / "clinic.csv").write_text("sex,age\n" + "F,10\nM,20\n" * 10 + ",30\n")
    done = panbayes("schema", "draft", "clinic.csv", "-o", "clinic.toml")
    assert done.returncode == 0, done.stderr
    assert "a draft with 2 attributes" in done.stdout
    text = (tmp_path / "clinic.toml").read_text()
    assert 'status = "draft"' in text
    (tmp_path / "clinic.toml").write_text(text.replace('status = "draft"', 'status = "approved"'))
    done = panbayes("schema", "check", "clinic.toml", "clinic.csv")
    assert done.returncode == 0
    assert "For the holder's eyes only" in done.stdout
    told = json.loads(panbayes("schema", "check", "clinic.toml", "clinic.csv", "--json").stdout)
    assert told["records"] == 21
    assert told["status"] == "approved"
    assert "holder" in told["notice"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("schema", "draft", "absent.csv", "-o", "s.toml"), "absent.csv: cannot be read"),
        (("schema", "draft", "empty.csv", "-o", "s.toml"), "empty.csv: is empty"),
        (("schema", "draft", "binary.csv", "-o", "s.toml"), "binary.csv: is"),
        (("schema", "draft", "good.csv", "-o", "absent/s.toml"), "--output: absent/s.toml cannot be written"),
        (("schema", "draft", "good.csv", "-o", "."), "--output: . is a directory"),
        (("schema", "draft", "good.csv", "-o", "s.toml", "--unit", "who"), '--unit: "who" is not a column'),
        (
            ("schema", "draft", "good.csv", "-o", "s.toml", "--max-records", "2"),
            "--max-records: is given without --unit",
        ),
        (("schema", "check", "good.csv", "good.csv"), "good.csv: is not valid TOML"),
        (("schema", "check", "good.toml", "short.csv"), 'short.csv: has no column "b"'),
        (("dataset", "diabetes", "-o", "out", "--path", "good.csv"), "--path: good.csv is not the published"),
    ],
)
def test_errors_are_one_line_and_leave_nothing_behind(
    arguments: tuple[str, ...], message: str, panbayes: Panbayes, tmp_path: Path
) -> None:
    (tmp_path / "good.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "short.csv").write_text("a\n1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.csv").write_bytes(b"\x00\x01\xff\xfe" * 100)
    panbayes("schema", "draft", "good.csv", "-o", "good.toml")
    before = sorted(tmp_path.rglob("*"))
    done = panbayes(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before
