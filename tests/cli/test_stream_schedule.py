"""``panbayes stream open --at`` and ``estimate --publish``: releases by the clock, figures only when they changed."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from panbayes.cli.stream.publishing import would_change
from tests.cli.test_stream import Here, here

__all__ = ["here"]

DAY = 86_400
NOON = 20_000 * DAY + DAY // 2


def at(monkeypatch: pytest.MonkeyPatch, moment: float) -> None:
    monkeypatch.setattr("panbayes.stream.schedule.time.time", lambda: moment)


def test_a_plan_by_the_clock(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, NOON)
    opened = here("stream", "open", "s", "--universe", "1000", "--epsilon", "4", "--releases", "2", "--at", "daily")
    plan = "the next is due at 2024-10-05 00:00 UTC, and the last at 2024-10-06 00:00 UTC if none is missed"
    assert f"daily          {plan}" in opened.stdout
    early = here("stream", "estimate", "s")
    assert (early.returncode, early.stderr) == (
        2,
        "error: state: nothing is due before 2024-10-05 00:00 UTC; run it again from then on\n",
    )
    at(monkeypatch, NOON + DAY)
    assert "the next is due now" in here("stream", "info", "s").stdout
    told = json.loads(here("stream", "estimate", "s", "--json").stdout)
    assert (told["fresh"], told["due"]["next"], told["due"]["now"]) == (True, "2024-10-06 00:00 UTC", False)
    again = here("stream", "estimate", "s").stdout
    assert "the last one again" in again
    assert "Releases go by the clock: the next is due at 2024-10-06 00:00 UTC" in again
    at(monkeypatch, NOON)
    back = json.loads(here("stream", "info", "s", "--json").stdout)
    assert (back["due"]["clock_went_back"], back["at"]) == (True, "daily")
    assert "the clock was later before" in here("stream", "info", "s").stdout
    at(monkeypatch, NOON + 9 * DAY)
    assert "The plan has ended: no release is left." in here("stream", "estimate", "s").stdout
    assert "daily          the plan has ended" in here("stream", "info", "s").stdout


def test_turns_by_the_clock_spend_no_release_too_early(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, NOON)
    here("stream", "open", "s", "--universe", "1000", "--epsilon", "4", "--periods", "--at", "daily")
    early = here("stream", "turn", "s")
    assert "nothing is due before 2024-10-05 00:00 UTC" in early.stderr
    assert json.loads(here("stream", "info", "s", "--json").stdout)["releases_left"] == 1
    at(monkeypatch, NOON + DAY)
    assert "period 0 has ended, and period 1 begun" in here("stream", "turn", "s").stdout
    assert "nothing is due before 2024-10-06" in here("stream", "turn", "s").stderr


def test_a_stream_without_periods_has_no_turns_whatever_the_clock(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, NOON)
    here("stream", "open", "s", "--universe", "1000", "--epsilon", "4", "--at", "daily")
    assert "its stream has no periods" in here("stream", "turn", "s").stderr


def test_a_place_that_cannot_be_written_spends_no_release(here: Here, tmp_path: Path) -> None:
    here("stream", "open", "s", "--universe", "1000", "--epsilon", "4")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("elsewhere.json")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    for place in ("nowhere/out.json", "folder", "link", "pipe", "file/out.json"):
        refused = here("stream", "estimate", "s", "--publish", place)
        assert refused.stderr.startswith("error: --publish: "), place
        assert (refused.returncode, refused.stdout) == (2, "")
    assert json.loads(here("stream", "info", "s", "--json").stdout)["releases_left"] == 1


def test_a_full_disk_keeps_what_was_published_and_the_release(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here("stream", "open", "s", "--universe", "20000", "--epsilon", "40", "--releases", "2")
    here("stream", "estimate", "s", "--publish", "out.json")
    old = (tmp_path / "out.json").read_bytes()
    (tmp_path / "ids").write_text("\n".join(map(str, range(9000))), encoding="utf-8")
    here("stream", "feed", "s", "ids")
    really_write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        really_write(self, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        refused = here("stream", "estimate", "s", "--publish", "out.json")
    assert refused.stderr.startswith("error: --publish: out.json cannot be written (no space left on device)")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ids", "out.json", "s"]
    assert (tmp_path / "out.json").read_bytes() == old
    assert "out.json: written." in here("stream", "estimate", "s", "--repeat", "--publish", "out.json").stdout


def test_an_unknown_clock(here: Here, tmp_path: Path) -> None:
    refused = here("stream", "open", "s", "--universe", "10", "--epsilon", "1", "--at", "noon")
    assert refused.stderr.startswith("error: --at: found 'noon'")
    assert not (tmp_path / "s").exists()


def test_a_figure_is_published_when_it_changed(here: Here, tmp_path: Path) -> None:
    here("stream", "open", "s", "--universe", "20000", "--epsilon", "40", "--releases", "3")
    certain = ("--confidence", "0.999999999999")  # so that two intervals of the same figure never miss each other
    first = here("stream", "estimate", "s", "--publish", "out.json", *certain)
    assert "out.json: written." in first.stdout
    old = (tmp_path / "out.json").read_bytes()
    same = here("stream", "estimate", "s", "--publish", "out.json", *certain)
    assert "out.json: left as it is" in same.stdout
    assert (tmp_path / "out.json").read_bytes() == old
    assert json.loads(here("stream", "info", "s", "--json").stdout)["releases_left"] == 1
    (tmp_path / "ids").write_text("\n".join(map(str, range(9000))), encoding="utf-8")
    here("stream", "feed", "s", "ids")
    assert "out.json: written." in here("stream", "estimate", "s", "--publish", "out.json").stdout
    assert json.loads((tmp_path / "out.json").read_bytes())["density"] == pytest.approx(0.45, abs=0.05)


@pytest.mark.parametrize("content", ["", "hello", "[1]", '{"a":1}'])
def test_another_file_is_kept_and_no_release_is_spent(content: str, here: Here, tmp_path: Path) -> None:
    here("stream", "open", "s", "--universe", "1000", "--epsilon", "4")
    (tmp_path / "out").write_text(content, encoding="utf-8")
    refused = here("stream", "estimate", "s", "--publish", "out")
    assert refused.stderr.startswith("error: --publish: out holds no published estimate")
    assert (tmp_path / "out").read_text(encoding="utf-8") == content
    onto_itself = here("stream", "estimate", "s", "--publish", "s")
    assert onto_itself.returncode == 2
    assert json.loads(here("stream", "info", "s", "--json").stdout)["releases_left"] == 1


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ((1, 5), (5, 9), False),
        ((1, 5), (6, 9), True),
        ((6, 9), (1, 5), True),
        ((5, 9), (1, 5), False),
        ((1, None), (500, 900), False),
        ((500, 900), (1, None), False),
        ((500, None), (1, 499), True),
    ],
)
def test_intervals_that_have_nothing_in_common(
    old: tuple[int, int | None], new: tuple[int, int | None], changed: bool
) -> None:
    before, after = ({"users": 0, "low": low, "high": high} for low, high in (old, new))
    assert would_change(before, after) is changed
    still = {"users": 0, "low": 0, "high": 1}
    assert would_change({"groups": {"a": still, "b": before}}, {"groups": {"a": still, "b": after}}) is changed
    assert would_change({"exactly": [still, before]}, {"exactly": [still, after]}) is changed
    assert would_change({"groups": {"a": still}}, {"groups": {"a": still, "b": after}})
    assert would_change({"exactly": [still]}, {"exactly": [still, after]})
