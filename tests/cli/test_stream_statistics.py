"""``panbayes stream`` with statistics other than the density, and with graphs, as a user would type it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from panbayes.cli.commands import build
from panbayes.errors import InputError
from panbayes.stream.statistics.registry import statistic_kinds
from tests.conftest import Panbayes
from tests.effort import soak

Call = Callable[..., str]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command here and return what it prints; an error that a user made is raised."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(build("stream"), ["stream", *arguments])
        if result.exception is not None:
            raise result.exception
        return result.stdout

    return run


CERTAIN = ("--confidence", "0.999999999999", "--json")


def test_every_statistic_is_named_in_the_help(call: Call) -> None:
    shown = "".join(call("open", "--help").split())
    assert {"density", "visits", "cropped-mean", "returning", "distinct"} == set(statistic_kinds())
    for name, kind in statistic_kinds().items():
        assert f"{name}({''.join(kind.summary.split())})" in shown


def test_visits_from_start_to_end(panbayes: Panbayes, tmp_path: Path) -> None:
    """In processes of their own, with a column of a CSV file and a pipe."""
    opened = panbayes(
        "stream", "open", "v.state", "--universe", "20000", "--epsilon", "6", "--statistic", "visits", "--max", "4"
    )
    assert opened.returncode == 0, opened.stderr
    assert "tells apart    0 to 4 visits; 5 visits look like 0, 6 like 1, and so on" in opened.stdout
    assert "root mean squared in the share with exactly t visits, at worst" in opened.stdout
    rows = "".join(f"{i},x\n" for i in range(10_000))
    (tmp_path / "a.csv").write_text("user,what\n" + rows, encoding="utf-8")
    fed = panbayes("stream", "feed", "v.state", "a.csv", "--column", "user")
    assert (fed.returncode, fed.stderr) == (0, "")
    assert "Do not feed it again: visits are counted" in fed.stdout
    again = "".join(f"{i}\n" for i in range(4_000))
    assert panbayes("stream", "feed", "v.state", stdin=again).returncode == 0
    assert (
        panbayes("stream", "feed", "v.state", "--delete", stdin="".join(f"{i}\n" for i in range(1_000))).returncode == 0
    )
    answer = json.loads(panbayes("stream", "estimate", "v.state", *CERTAIN).stdout)
    truth = [0.5, 0.35, 0.15, 0.0, 0.0]
    for t in range(5):
        assert answer["exactly"][t]["low"] <= truth[t] <= answer["exactly"][t]["high"]
        assert answer["exactly"][t]["share"] == pytest.approx(truth[t], abs=0.05)
    assert answer["at_least"][2]["share"] == pytest.approx(0.15, abs=0.05)
    assert answer["mean"]["share"] == pytest.approx(0.65, abs=0.1)
    assert (answer["private"], answer["universe"], answer["epsilon"]) == (True, 20_000, "6")
    shown = panbayes("stream", "estimate", "v.state", "--repeat").stdout
    assert shown.splitlines()[0].split() == [
        "visits",
        "exactly",
        "95",
        "%",
        "interval",
        "at",
        "least",
        "95",
        "%",
        "interval",
    ]
    assert "Right if nobody came more than 4 times: 5 visits look like 0" in shown
    info = json.loads(panbayes("stream", "info", "v.state", "--json").stdout)
    assert (info["statistic"], info["max"], info["state_law"], info["levels"]) == ("visits", 4, "counter", 5)


@pytest.mark.parametrize(("name", "more", "truth"), [("returning", [], 0.2), ("cropped-mean", ["--max", "3"], 0.9)])
def test_panels_from_start_to_end(call: Call, tmp_path: Path, name: str, more: list[str], truth: float) -> None:
    opened = call("open", "p.state", "--universe", "20000", "--epsilon", "9", "--statistic", name, *more)
    assert "of which       bias " in opened
    (tmp_path / "in").write_text("".join(f"{i}\n" for i in [*range(10_000), *range(4_000), *range(4_000)]))
    assert "every delivery is one" in call("feed", "p.state", "in")
    answer = json.loads(call("estimate", "p.state", *CERTAIN))
    assert answer["low"] <= truth <= answer["high"]
    assert 0.03 < answer["deviation"] < 0.12
    assert 0.02 < answer["bias"] < 0.2
    shown = call("estimate", "p.state", "--repeat").splitlines()
    assert shown[1].startswith("noise ")
    assert shown[2].startswith("bias ")
    with pytest.raises(InputError, match="cannot be taken out again"):
        call("feed", "p.state", "in", "--delete")
    info = json.loads(call("info", "p.state", "--json"))
    assert info["statistic"] == name


def test_a_graph_from_start_to_end(call: Call, tmp_path: Path) -> None:
    (tmp_path / "people").write_text("".join(f"p{i}\n" for i in range(80)), encoding="utf-8")
    opened = call("open", "g.state", "--universe", "graph:people", "--epsilon", "8", "--releases", "2")
    assert opened.startswith("g.state: ready for the 3160 edges between 80 vertices.")
    assert "for a graph an edge" in opened
    edges = [(i, j) for i in range(80) for j in range(i)]
    (tmp_path / "edges.txt").write_text("".join(f"p{i},p{j}\n" for i, j in edges[:1580]), encoding="utf-8")
    (tmp_path / "gone.txt").write_text("".join(f"p{j}\tp{i}\n" for i, j in edges[:790]), encoding="utf-8")
    call("feed", "g.state", "edges.txt")
    assert json.loads(call("estimate", "g.state", "--json"))["density"] == pytest.approx(0.5, abs=0.04)
    call("feed", "g.state", "gone.txt", "--delete")
    assert json.loads(call("estimate", "g.state", "--json"))["density"] == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--statistic", "visits"], "--max: missing"),
        (["--statistic", "cropped-mean"], "--max: missing"),
        (["--statistic", "visits", "--max", "1"], "--max: found 1; give a number of visits from 2 to 31"),
        (["--statistic", "cropped-mean", "--max", "500"], "--max: found 500; give a number of visits from 2 to 100"),
        (["--statistic", "returning", "--max", "2"], "--max: found 2; leave it out"),
        (["--max", "2"], "--max: found 2; leave it out"),
        (["--statistic", "visit"], 'did you mean "visits"'),
        (
            ["--statistic", "visits", "--max", "3", "--state-law", "dwork"],
            "--state-law: found it with --statistic visits",
        ),
        (["--statistic", "visits", "--max", "3", "--state-epsilon", "2"], "state epsilon: found 2"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Call, tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(InputError) as refused:
        call("open", "x.state", "--universe", "100", "--epsilon", "1", *arguments)
    assert message in str(refused.value)
    assert not list(tmp_path.iterdir())


@soak
def test_plans_for_other_statistics(call: Call) -> None:
    planned = json.loads(
        call("plan", "--epsilon", "2", "--alpha", "0.05", "--statistic", "visits", "--max", "3", "--json")
    )
    assert planned["sample_size_thesis"] is None
    assert 0 < planned["failure"] <= 0.05
    shown = call("plan", "--epsilon", "2", "--alpha", "0.2", "--statistic", "returning")
    assert "thesis" not in shown
    assert "worst share of users with two visits or more" in shown
