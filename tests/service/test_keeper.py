"""Releases and turns that are due, and the shelf of what was published."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from panbayes import Density, DensityEstimator, DistinctCounter, StreamEstimator, Visits, Window
from panbayes.errors import InputError
from panbayes.service import keeper as keeper_module
from panbayes.service.configuration import SERVICE_FILE, ServiceFile
from panbayes.service.feed import Feed
from panbayes.service.keeper import Keeper
from panbayes.service.metrics import openmetrics
from panbayes.service.page import Shown, page
from panbayes.service.shelf import Published, Shelf
from panbayes.stream import private_stream
from panbayes.stream.ids.feeding import stream_format
from panbayes.stream.release import StreamRelease, combine
from panbayes.stream.state import release_count
from tests.conftest import Panbayes
from tests.effort import often

DAY = 86_400


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that shows what a test sets."""
    shown = [1_800_000_000.0]
    for module in (private_stream, release_count, keeper_module):
        monkeypatch.setattr(module, "now", lambda: shown[0])
    return shown


KEY = "8f3a1c5e7b9d20468f3a1c5e7b9d2046"


def service(folder: Path) -> ServiceFile:
    text = (
        'version = 1\n[[states]]\nname = "members"\nfile = "a.state"\n'
        '[[sources]]\nkind = "http"\nlisten = "127.0.0.1:0"\n'
    )
    return SERVICE_FILE.parse(text, source=str(folder / "service.toml"))


def published(folder: Path) -> list[tuple[int, int, float]]:
    shelf = Shelf(folder / "releases")
    return [(one.period, one.number, float(str(one.facts["density"]))) for one in shelf.of("members")]


def test_releases_go_by_the_clock_one_a_day_and_are_published(tmp_path: Path, clock: list[float]) -> None:
    StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=3, at="daily").close()
    said: list[str] = []
    keeper = Keeper(service(tmp_path), said.append)
    Feed(keeper.estimators([]), form=stream_format("", "text"), column=None).take(b"1\n2\n3\n")
    for _ in range(3):
        keeper.release()
    assert published(tmp_path) == []
    for day in range(1, 6):
        clock[0] += DAY
        for _ in range(3):
            keeper.beat()
            keeper.release()
        assert len(published(tmp_path)) == min(day, 3)
    assert [one[:2] for one in published(tmp_path)] == [(0, 1), (0, 2), (0, 3)]
    assert said == [f"members: release {number} of period 0 is published" for number in (1, 2, 3)]
    keeper.close()


def test_at_the_end_of_a_period_it_is_released_published_and_begun_anew(tmp_path: Path, clock: list[float]) -> None:
    StreamEstimator.create(
        tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=1, window=Window(anew=True), at="daily"
    ).close()
    keeper = Keeper(service(tmp_path), lambda _line: None)
    feed = Feed(keeper.estimators([]), form=stream_format("", "text"), column=None)
    for present in (400, 100):
        feed.take("".join(f"{i}\n" for i in range(present)).encode())
        clock[0] += DAY
        keeper.release()
        keeper.release()
    found = published(tmp_path)
    assert [one[:2] for one in found] == [(0, 1), (1, 1)]
    assert found[0][2] == pytest.approx(0.4, abs=0.02)
    assert found[1][2] == pytest.approx(0.1, abs=0.02)
    keeper.close()


def test_a_service_killed_at_steps_of_a_turn_loses_nothing_and_releases_once(tmp_path: Path) -> None:
    """At every thirty-first step; ``make soak`` tries every seventh, and all of them."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.service.kill_in_turn", str(tmp_path), str(often(31, 7))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > often(14, 60)


def test_what_comes_while_a_period_ends_counts_in_the_next(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release is published between its making and the turn, which takes a while; who comes then waits."""
    StreamEstimator.create(
        tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=1, window=Window(anew=True), at="daily"
    ).close()
    keeper = Keeper(service(tmp_path), lambda _line: None)
    feed = Feed(keeper.estimators([]), form=stream_format("", "text"), column=None)
    feed.take("".join(f"{i}\n" for i in range(400)).encode())
    publish, waited = keeper.shelf.publish, list[bool]()
    late = threading.Thread(target=lambda: feed.take("".join(f"{i}\n" for i in range(500, 700)).encode()))

    def slowly(*what: Any) -> None:
        if not waited:
            late.start()
            late.join(0.5)
            waited.append(late.is_alive())
        publish(*what)

    monkeypatch.setattr(keeper.shelf, "publish", slowly)
    for _ in range(2):
        clock[0] += DAY
        keeper.release()
        late.join()
    assert waited == [True]
    found = published(tmp_path)
    assert [one[:2] for one in found] == [(0, 1), (1, 1)]
    assert [one[2] for one in found] == pytest.approx([0.4, 0.2], abs=0.02)
    keeper.close()


def test_a_release_that_a_crash_kept_from_being_published_is_published_at_the_next_start(tmp_path: Path) -> None:
    with StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=3) as estimator:
        estimator.estimate()
        estimator.estimate()
    keeper = Keeper(service(tmp_path), lambda _line: None)
    keeper.release()
    keeper.release()
    assert [one[:2] for one in published(tmp_path)] == [(0, 2)]
    keeper.close()


def test_a_release_that_could_not_be_published_is_so_before_the_next_takes_its_place(
    tmp_path: Path, clock: list[float]
) -> None:
    StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=3, at="daily").close()
    keeper = Keeper(service(tmp_path), lambda _line: None)
    (tmp_path / "releases").rmdir()
    clock[0] += DAY
    with pytest.raises(InputError, match="cannot be written"):
        keeper.release()
    keeper.close()
    clock[0] += DAY
    keeper = Keeper(service(tmp_path), lambda _line: None)
    keeper.release()
    assert [one[:2] for one in published(tmp_path)] == [(0, 1), (0, 2)]
    keeper.close()


def test_what_is_published_is_the_release_itself_for_other_programs(tmp_path: Path, panbayes: Panbayes) -> None:
    with StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60) as estimator:
        estimator.update(range(300))
        written = estimator.release().to_bytes()
        told = estimator.last()
    assert told is not None
    before = int(time.time())
    keeper = Keeper(service(tmp_path), lambda _line: None)
    keeper.release()
    (file,) = (tmp_path / "releases").iterdir()
    assert file.read_bytes() == written
    assert re.fullmatch(r"members-00000-0001-\d{8}T\d{6}Z\.json", file.name)
    for shelf in (keeper.shelf, Shelf(tmp_path / "releases")):
        (one,) = shelf.of("members")
        assert before <= one.at <= time.time()
        assert one.facts == told.facts()
        assert shelf.form("members", 0, 1) == written
        assert shelf.form("members", 0, 2) is None
    keeper.close()
    shown = json.loads(panbayes("stream", "combine", str(file), "--json").stdout)
    assert json.dumps(told.facts()["density"]) in json.dumps(shown)


def test_parts_are_released_by_their_services_shown_as_parts_and_combined(
    tmp_path: Path, clock: list[float], panbayes: Panbayes
) -> None:
    folders = [tmp_path / "north", tmp_path / "south"]
    for number, folder in enumerate(folders, 1):
        folder.mkdir()
        DistinctCounter.create(
            folder / "a.state", epsilon=8, expect=5_000, part=f"{number}/2", key=KEY, at="daily", releases=2
        ).close()
    keepers = [Keeper(service(folder), lambda _line: None) for folder in folders]
    clock[0] += DAY
    for keeper in keepers:
        feed = Feed(keeper.estimators([]), form=stream_format("", "text"), column=None)
        feed.take("".join(f"visitor-{i}\n" for i in range(5_000)).encode())
        keeper.release()
        keeper.release()
        keeper.close()
    files = [file for folder in folders for file in (folder / "releases").iterdir()]
    assert len(files) == 2
    assert combine(StreamRelease.from_bytes(file.read_bytes()) for file in files).estimate().facts()[
        "users"
    ] == pytest.approx(5_000, rel=0.15)
    shown = panbayes("stream", "combine", *map(str, files))
    assert shown.returncode == 0
    assert "distinct users" in shown.stdout
    for number, folder in enumerate(folders, 1):
        releases = Shelf(folder / "releases").of("members")
        seen = page([Shown("Members", releases)], time.time())
        assert f"Part {number} of 2: it says nothing of the whole by itself" in seen
        assert "interval" not in seen
        figures = openmetrics(releases, time.time())
        assert "panbayes_release{" not in figures
        assert 'panbayes_release_age_seconds{state="members"}' in figures


def test_a_clock_that_went_back_is_said_once(tmp_path: Path, clock: list[float]) -> None:
    StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=3, at="daily").close()
    said: list[str] = []
    clock[0] += 30 * DAY
    keeper = Keeper(service(tmp_path), said.append)
    keeper.release()
    assert said == ["members: release 1 of period 0 is published"]
    keeper.close()
    clock[0] -= 20 * DAY
    keeper = Keeper(service(tmp_path), said.append)
    for _ in range(3):
        keeper.release()
    keeper.close()
    assert said[1:] == ["members: the clock went back; nothing is due before 2027-02-15 00:00 UTC"]


def test_what_is_measured_is_read_by_a_parser_of_openmetrics(tmp_path: Path) -> None:
    """By that of the Prometheus project, which refuses what is not of the format; names may be anything."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="needs prometheus-client")
    odd = ['a"b', "c\\d", "e\nf", "ü{}=,", "# EOF"]
    facts: dict[str, object] = {
        "by": "land",
        "groups": {name: {"users": 5, "low": -2.5, "high": math.inf, "private": True} for name in odd},
        "density": 1e-300,
        "none": None,
    }
    with StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60) as estimator:
        release = estimator.release()
    for releases in ([], [Published("a", 0, 1, 900, facts), Published("b-1", 3, 2, 2_000, release)]):
        text = openmetrics(releases, now=1_000)
        found = {family.name: family for family in parser.text_string_to_metric_families(text)}
        assert set(found) == {"panbayes_release", "panbayes_release_age_seconds"}
        assert [family.type for family in found.values()] == ["gauge", "gauge"]
        assert found["panbayes_release_age_seconds"].unit == "seconds"
        ages = {one.labels["state"]: one.value for one in found["panbayes_release_age_seconds"].samples}
        assert ages == ({"a": 100.0, "b-1": 0.0} if releases else {})
        figures = [one for one in found["panbayes_release"].samples if one.labels["state"] == "a"]
        seen = {one.labels["figure"]: one.value for one in figures}
        assert [seen[f"groups.{name}.low"] for name in odd if releases] == [-2.5] * len(odd) * bool(releases)
        assert not any("high" in name or "private" in name for name in seen)
    with pytest.raises(ValueError, match="EOF"):
        list(parser.text_string_to_metric_families(openmetrics([], now=1_000).removesuffix("# EOF\n")))


def test_a_statistic_without_a_form_is_published_as_its_figures(tmp_path: Path) -> None:
    with StreamEstimator.create(tmp_path / "a.state", 1_000, Visits(4), epsilon=60) as estimator:
        told = estimator.estimate().facts()
    keeper = Keeper(service(tmp_path), lambda _line: None)
    keeper.release()
    keeper.close()
    (one,) = Shelf(tmp_path / "releases").of("members")
    assert json.dumps(one.facts) == json.dumps({**told, "fresh": False})
    assert Shelf(tmp_path / "releases").form("members", 0, 1) is None


def test_a_release_of_a_fading_state_is_published_once_however_many_turns(tmp_path: Path, clock: list[float]) -> None:
    with StreamEstimator.create(
        tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=3, window=Window(half_life=7), at="daily"
    ) as estimator:
        clock[0] += DAY
        estimator.turn()
        estimator.estimate()
    keeper = Keeper(service(tmp_path), lambda _line: None)
    for _ in range(4):
        clock[0] += DAY
        keeper.release()
    keeper.close()
    assert [one[:2] for one in published(tmp_path)] == [(0, 1)]


def test_states_are_let_go_if_one_of_them_cannot_be_opened(tmp_path: Path) -> None:
    StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60).close()
    file = SERVICE_FILE.parse(
        'version = 1\n[[states]]\nname = "a"\nfile = "a.state"\n[[states]]\nname = "b"\nfile = "b.state"\n'
        '[[sources]]\nkind = "stdin"\n',
        source=str(tmp_path / "service.toml"),
    )
    with pytest.raises(InputError, match="cannot be opened"):
        Keeper(file, lambda _line: None)
    DensityEstimator.open(tmp_path / "a.state").close()


@pytest.mark.parametrize(
    "name", ["x.json", "members-00000-0001-20260101T000000Z.json", "members-00000-0001-20269901T000000Z.json"]
)
def test_a_folder_with_other_files_is_no_shelf(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps({"users": 5}), encoding="utf-8")
    with pytest.raises(InputError, match="is no published release"):
        Shelf(tmp_path)


def test_a_published_release_is_never_replaced(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "releases")
    shelf.publish("a", 0, 1, {"users": 5})
    shelf.publish("a", 0, 1, {"users": 6})
    assert [one.facts for one in Shelf(tmp_path / "releases").of("a")] == [{"users": 5}]


FIGURES = """\
{
  "kind": "panbayes published release",
  "version": 1,
  "state": "visits-of-2026",
  "period": 3,
  "number": 1,
  "at": 1800000000,
  "facts": {
    "mean": 1.5
  }
}
"""


def test_figures_that_were_published_are_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "visits-of-2026-00003-0001.json").write_text(FIGURES, encoding="utf-8")
    shelf = Shelf(tmp_path)
    (one,) = shelf.of("visits-of-2026")
    assert (one.period, one.number, one.at, one.facts) == (3, 1, 1_800_000_000, {"mean": 1.5})
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.5)
    shelf.publish("visits-of-2026", 3, 2, {"mean": 1.5})
    again = (tmp_path / "visits-of-2026-00003-0002.json").read_text(encoding="utf-8")
    assert again == FIGURES.replace('"number": 1', '"number": 2')


@pytest.mark.usefixtures("refused")
def test_visits_are_not_counted_from_a_source_that_repeats(tmp_path: Path) -> None:
    from panbayes.service.serving import serve

    StreamEstimator.create(tmp_path / "a.state", 1_000, Visits(4), epsilon=6).close()
    with pytest.raises(InputError, match="counts every delivery, and a source of kind http"):
        serve(service(tmp_path), lambda _line: None)


def test_metrics_have_figures_and_not_the_counts_that_they_are_computed_from() -> None:
    facts = {"users": 5, "counts": [7, 8], "private": True}
    shown = openmetrics([Published("visitors", 0, 1, 1_000, facts)], now=1_060)
    assert 'figure="users"} 5.0' in shown
    assert "counts" not in shown
