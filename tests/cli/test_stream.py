"""``panbayes stream`` as a new user and as an attacker would try it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from panbayes.cli.commands import build
from panbayes.cli.verbs.stream import IGNORED
from panbayes.errors import InputError
from panbayes.stream.ids.feeding import stream_formats
from panbayes.stream.laws.registry import law_kinds
from tests.conftest import Panbayes
from tests.effort import soak, some
from tests.running import default_signals

PLANTED = "84215077"
"""An id that must never be seen again, whatever goes wrong."""


@dataclass(frozen=True)
class Done:
    """What a command left: like a process, but run here, where the imports are paid for already."""

    returncode: int
    stdout: str
    stderr: str


Here = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Done:
        result = CliRunner().invoke(build("stream"), list(arguments))
        if isinstance(result.exception, InputError):
            return Done(result.exception.exit_code, result.stdout, f"error: {result.exception}\n")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def opened(here: Here, tmp_path: Path) -> Path:
    done = here("stream", "open", "s.state", "--universe", "2000", "--epsilon", "8", "--releases", "2")
    assert done.returncode == 0, done.stderr
    return tmp_path / "s.state"


def density(here: Here) -> float:
    return float(json.loads(here("stream", "estimate", "s.state", "--json").stdout)["density"])


def test_a_first_day(panbayes: Panbayes, opened: Path) -> None:
    ids = "".join(f"{i}\n" for i in range(500))
    assert panbayes("stream", "feed", "s.state", stdin=ids).returncode == 0
    (opened.parent / "more.txt").write_text("".join(f"{i}\n" for i in range(1000)), encoding="utf-8")
    fed = panbayes("stream", "feed", "s.state", "more.txt")
    assert (fed.returncode, fed.stderr) == (0, "")
    certain = ("--confidence", "0.999999999999", "--json")
    first = json.loads(panbayes("stream", "estimate", "s.state", *certain).stdout)
    assert first["density"] == pytest.approx(0.5, abs=0.05)
    assert first["low"] <= 0.5 <= first["high"]
    assert (first["fresh"], first["releases_left"], first["private"]) == (True, 1, True)
    repeated = json.loads(panbayes("stream", "estimate", "s.state", "--repeat", "--json").stdout)
    assert (repeated["statistic"], repeated["fresh"], repeated["releases_left"]) == (first["statistic"], False, 1)
    shown = panbayes("stream", "estimate", "s.state").stdout
    assert "95 % interval" in shown
    assert "fresh" in shown
    again = panbayes("stream", "estimate", "s.state").stdout
    assert "the last one again" in again
    info = json.loads(panbayes("stream", "info", "s.state", "--json").stdout)
    assert (info["universe"], info["releases_left"], info["epsilon"]) == (2000, 0, "8")


def test_every_format_is_tried_and_named_in_the_help(here: Here) -> None:
    assert set(stream_formats()) == {form.split()[0] for form in FORMS}
    for name in stream_formats():
        assert name in here("stream", "feed", "--help").stdout


def test_every_law_is_named_in_the_help_and_can_be_chosen(here: Here) -> None:
    shown = "".join(here("stream", "open", "--help").stdout.split())
    for name, kind in law_kinds().items():
        assert f"{name}({''.join(kind.summary.split())})" in shown
        done = here("stream", "open", name, "--universe", "50", "--epsilon", "1", "--state-law", name)
        assert done.returncode == 0, done.stderr
        assert json.loads(here("stream", "info", name, "--json").stdout)["state_law"] == name


FORMS = ["combined", "csv", "csv by number", "csv stdin", "ndjson", "parquet", "parquet text", "text"]


@pytest.mark.parametrize("form", FORMS)
def test_formats(here: Here, panbayes: Panbayes, opened: Path, form: str) -> None:
    folder, present = opened.parent, range(1000)
    match form:
        case "csv" | "csv stdin":
            rows = "".join(f'"a ""quoted"", note",{i}\r\n' for i in present)
            (folder / "in.csv").write_text("note,user\r\n" + rows + "broken\n", encoding="utf-8")
            arguments = ["in.csv", "--column", "user"]
        case "combined":
            lines = [f'10.0.0.1 - {i} [16/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"\n' for i in present]
            (folder / "in.log").write_text("".join([*lines, "no line\n", '1 - "broken\n']), encoding="utf-8")
            arguments = ["in.log", "--format", "combined", "--column", "user"]
        case "csv by number":
            (folder / "in.csv").write_text("".join(f"x,{i}\n" for i in present), encoding="utf-8")
            arguments = ["in.csv", "--column", "2"]
        case "ndjson":
            lines = [json.dumps({"user": i if i % 2 else str(i), "x": [1]}) for i in present]
            lines[5:5] = ["{broken", "[]", '{"user": null}', '{"user": 1.5}', '{"user": {"a": 1}}', "", '{"x": 1}']
            (folder / "in.ndjson").write_bytes("\n".join(lines).encode() + b'\n{"user": "\xff\xfe"}\n')
            arguments = ["in.ndjson", "--column", "user"]
        case "parquet" | "parquet text":
            ids = pl.Series("user", list(present))
            frame = pl.DataFrame({"other": 1.5, "user": ids.cast(pl.String) if "text" in form else ids})
            frame.write_parquet(folder / "in.parquet")
            arguments = ["in.parquet", "--column", "user"]
        case _:
            text = "".join(f" {i}\r\n" for i in present) + "nonsense\n\x00\x01\n99999999999999999999999\n"
            (folder / "in").write_bytes(text.encode() + b"\xff\xfe\n" + b"9" * 10_000 + b"\n")
            arguments = ["in"]
    if form == "csv stdin":
        stdin = (folder / "in.csv").read_text(encoding="utf-8")
        process = panbayes("stream", "feed", "s.state", "--format", "csv", "--column", "user", stdin=stdin)
        done = Done(process.returncode, process.stdout, process.stderr)
    else:
        done = here("stream", "feed", "s.state", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"s.state: fed; {IGNORED}.\n"
    assert density(here) == pytest.approx(0.5, abs=0.05)


def test_deletion(here: Here, opened: Path) -> None:
    (opened.parent / "in").write_text("".join(f"{i}\n" for i in range(1500)), encoding="utf-8")
    here("stream", "feed", "s.state", "in")
    (opened.parent / "out").write_text("".join(f"{i}\n" for i in range(1000)), encoding="utf-8")
    here("stream", "feed", "s.state", "out", "--delete")
    assert density(here) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("universe", ["ipv4:10.0.0.0/21", "users.txt"])
def test_other_universes(here: Here, tmp_path: Path, universe: str) -> None:
    names = [f"10.0.{i // 256}.{i % 256}" if "ipv4" in universe else f"user-{i}@example.org" for i in range(2048)]
    (tmp_path / "users.txt").write_text("\n".join(names), encoding="utf-8")
    done = here("stream", "open", "s.state", "--universe", universe, "--epsilon", "6", "--sample", "2000")
    assert done.returncode == 0, done.stderr
    (tmp_path / "in").write_text("\n".join([*names[:1024], "stranger", "1.2.3.4"]), encoding="utf-8")
    here("stream", "feed", "s.state", "in")
    assert density(here) == pytest.approx(0.5, abs=0.06)


def test_the_plan(here: Here) -> None:
    shown = json.loads(here("stream", "plan", "--epsilon", "1", "--alpha", "0.1", "--beta", "0.05", "--json").stdout)
    assert shown["sample_size"] * 5 <= shown["sample_size_thesis"] == 5679
    assert 0.5 < shown["state_epsilon"] < 1
    assert shown["rmse"] < 0.1
    assert shown["memory_bytes"] == 8 * -(-shown["sample_size"] // 64)
    finite = here("stream", "plan", "--epsilon", "1", "--alpha", "0.1", "--universe", "1000", "--json")
    assert json.loads(finite.stdout)["sample_size"] < shown["sample_size"]
    assert "users" in here("stream", "plan", "--epsilon", "1", "--alpha", "0.1").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["open", "t", "--universe", "0", "--epsilon", "1"], "universe: found 0 users"),
        (["open", "t", "--universe", "-5", "--epsilon", "1"], "universe: found -5 users"),
        (["open", "t", "--universe", "nobody.txt", "--epsilon", "1"], "found 'nobody.txt', which is not a file"),
        (["open", "t", "--universe", "ipv4:10.0.0.0/99", "--epsilon", "1"], "write it like ipv4:10.0.0.0/8"),
        (["open", "t", "--universe", "10", "--epsilon", "0"], "epsilon: found 0"),
        (["open", "t", "--universe", "10", "--epsilon", "1", "--sample", "11"], "sample: found 11"),
        (["open", "t", "--universe", "10", "--epsilon", "1", "--releases", "0"], "releases: found 0"),
        (["open", "t", "--universe", "10", "--epsilon", "1", "--state-law", "dwork", "--levels", "3"], "levels"),
        (
            ["open", "t", "--universe", "10", "--epsilon", "1", "--state-law", "dork"],
            "--state-law: found 'dork'; did you mean \"dwork\"?",
        ),
        (["feed", "s.state", "in.csv", "--format", "cvs"], "--format: found 'cvs'; did you mean \"csv\"?"),
        (["open", "s.state", "--universe", "10", "--epsilon", "1"], "exists already"),
        (["feed", "nothing"], "cannot be opened"),
        (["feed", "s.state", "missing.txt"], "missing.txt: cannot be read"),
        (["feed", "s.state", "."], "cannot be read"),
        (["feed", "s.state", "-", "--format", "parquet"], "Parquet from standard input"),
        (["feed", "s.state", "in.csv", "--column", "nobody"], "does not name 'nobody' exactly once"),
        (["feed", "s.state", "in.csv"], "name the column"),
        (["feed", "s.state", "in.csv", "--format", "ndjson"], "name the field"),
        (["feed", "s.state", "in.csv", "--format", "parquet"], "is not a Parquet file"),
        (["feed", "s.state", "in.csv", "--format", "text", "--column", "a"], "text lines have no columns"),
        (["feed", "in.csv"], "is not a stream state"),
        (["estimate", "in.csv"], "is not a stream state"),
        (["estimate", "s.state", "--confidence", "2"], "--confidence: found 2"),
        (["estimate", "s.state", "--repeat"], "nothing was released yet"),
        (["info", "."], "is not a regular file"),
        (["plan", "--epsilon", "1", "--alpha", "2"], "alpha: found 2"),
        (["plan", "--epsilon", "0.1", "--alpha", "0.001", "--universe", "10"], "even a sample of 10 users"),
    ],
)
def test_mistakes_get_one_helpful_line(here: Here, opened: Path, arguments: list[str], message: str) -> None:
    csv = opened.parent / "in.csv"
    csv.write_text(f"a,{PLANTED}\n1,2\n", encoding="utf-8")
    done = here("stream", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert PLANTED not in done.stdout + done.stderr


def feeder(folder: Path) -> subprocess.Popen[bytes]:
    """Start a feeding process and wait until it holds the state."""
    process = subprocess.Popen(
        [sys.executable, "-m", "panbayes", "stream", "feed", "s.state"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    )
    assert process.stdin is not None
    process.stdin.write(f"{PLANTED}\n{PLANTED}".encode())
    process.stdin.flush()
    before = (folder / "s.state").stat().st_ctime_ns
    for _ in range(2400):
        if (folder / "s.state").stat().st_ctime_ns != before:
            break
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM, signal.SIGKILL], 1))
def test_an_interrupted_feed_says_nothing_and_leaves_a_state(panbayes: Panbayes, opened: Path, number: int) -> None:
    process = feeder(opened.parent)
    second = panbayes("stream", "feed", "s.state", stdin=f"{PLANTED}\n")
    assert second.returncode == 2
    assert "being fed by another process" in second.stderr
    assert json.loads(panbayes("stream", "estimate", "s.state", "--json").stdout)["fresh"]
    process.send_signal(number)
    said = b"".join(process.communicate(timeout=300)) + second.stdout.encode() + second.stderr.encode()
    assert process.returncode != 0
    assert PLANTED.encode() not in said
    assert b"Traceback" not in said
    assert panbayes("stream", "feed", "s.state", stdin="1\n").returncode == 0


@soak
def test_a_planted_id_is_seen_nowhere(here: Here, panbayes: Panbayes, opened: Path) -> None:
    """Plant an id in every format, break every file in several ways, and search everything that comes out."""
    folder = opened.parent
    pl.DataFrame({"user": [PLANTED, "7"] * 500}).write_parquet(folder / "in.parquet")
    whole = (folder / "in.parquet").read_bytes()
    for cut in (4, 30, len(whole) // 2, len(whole) - 9):
        (folder / f"cut{cut}.parquet").write_bytes(whole[:cut] + b"PAR1")
    (folder / "in.csv").write_text(f'user\n"{PLANTED}\n{PLANTED},{PLANTED}\n', encoding="utf-8")
    (folder / "none.csv").write_text(f"{PLANTED}\n{PLANTED}\n", encoding="utf-8")
    (folder / "wide.csv").write_text(f"user\n{PLANTED}{'9' * 200_000}\n1\n", encoding="utf-8")
    (folder / "in.ndjson").write_text(f'{{"user": "{PLANTED}\n{{"user": {PLANTED}e400}}\n', encoding="utf-8")
    (folder / "in.txt").write_bytes(f"{PLANTED}\n".encode() + b"\x00\xff" + PLANTED.encode())
    outputs: list[tuple[str, Done | subprocess.CompletedProcess[str]]] = []
    for source in sorted(p.name for p in folder.iterdir() if p.suffix in (".parquet", ".csv", ".ndjson", ".txt")):
        for options in ([], ["--column", "user"], ["--format", "text"]):
            outputs += [(source, here("stream", "feed", "s.state", source, *options))]
    outputs.append(("nobody", here("stream", "feed", "s.state", "in.parquet", "--column", "nobody")))
    for source in ("wide.csv", "cut30.parquet", "in.ndjson"):
        outputs += [(source, panbayes("stream", "feed", "s.state", source, "--column", "user"))]
    outputs.append(("stdin", panbayes("stream", "feed", "s.state", "--format", "csv", stdin=f"{PLANTED},{PLANTED}\n")))
    opened.chmod(0o644)
    outputs.append(("mode", panbayes("stream", "feed", "s.state", stdin=f"{PLANTED}\n")))
    opened.chmod(0o600)
    outputs.append(("info", here("stream", "info", "s.state")))
    assert {done.returncode for _, done in outputs} <= {0, 1, 2}
    for source, done in outputs:
        said = done.stdout + done.stderr
        assert PLANTED not in said.replace(source, ""), source
        assert "Traceback" not in said, source
        assert done.stderr.count("\n") <= 1, source
    assert PLANTED.encode() not in opened.read_bytes()
    counts = [done.stdout for source, done in outputs if done.returncode == 0 and source != "info"]
    assert set(counts) == {f"s.state: fed; {IGNORED}.\n"}


def test_closed_standard_input_is_the_users_mistake(opened: Path) -> None:
    command = f"{sys.executable} -m panbayes stream feed s.state <&-"
    done = subprocess.run(["bash", "-c", command], cwd=opened.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr


def test_core_dumps_are_off_while_feeding(opened: Path) -> None:
    process = feeder(opened.parent)
    try:
        limits = Path(f"/proc/{process.pid}/limits")
        if not limits.exists():
            pytest.skip("no /proc here")
        line = next(row for row in limits.read_text(encoding="utf-8").splitlines() if row.startswith("Max core"))
        assert line.split()[4:6] == ["0", "0"]
        # Not dumpable: its memory belongs to the system.
        assert Path(f"/proc/{process.pid}/mem").stat().st_uid == 0
    finally:
        process.kill()
        process.communicate(timeout=300)
