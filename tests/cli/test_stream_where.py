"""``panbayes stream open --where``: a state says which events it counts, and every feed applies it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_stream import Here, here

__all__ = ["here"]

OPEN = ("stream", "open", "s", "--universe", "hashed", "--expect", "6400", "--epsilon", "200")


def test_a_filter_belongs_to_the_state(here: Here, tmp_path: Path) -> None:
    rows = [f"user-{i},{'DE' if i < 1500 else 'FR'},{i}" for i in range(5000)]
    (tmp_path / "v.csv").write_text("user,country,age\n" + "\n".join(rows), encoding="utf-8")
    opened = here(*OPEN, "--where", "country=DE", "--where", "age>=500")
    assert "counts         only events where country=DE and age>=500" in opened.stdout
    assert "losses add up (panbayes stream portfolio)" in opened.stdout
    fed = here("stream", "feed", "s", "v.csv", "--column", "user")
    assert fed.stdout.startswith("s: fed; only events where country=DE and age>=500 count; any id counts;")
    info = json.loads(here("stream", "info", "s", "--json").stdout)
    assert info["where"] == ["country=DE", "age>=500"]
    shown = here("stream", "estimate", "s")
    assert "It speaks of users with an event where country=DE and age>=500." in shown.stdout
    again = json.loads(here("stream", "estimate", "s", "--repeat", "--json").stdout)
    assert again["users"] == pytest.approx(1000, abs=200)


def test_the_owner_of_the_data_may_check_a_filter(here: Here, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("user,c\n1,DE\n2,FR\n,DE\n,FR\nx,DE\n3,\n", encoding="utf-8")
    done = here("stream", "check", "v.csv", "--column", "user", "--universe", "9", "--where", "c=DE", "--json")
    assert json.loads(done.stdout) == {"rows": 6, "counted": 1, "outside": 1, "missing": 1, "left_out": 3}
    shown = here("stream", "check", "v.csv", "--column", "user", "--universe", "9", "--where", "c=DE")
    assert "left out       3  it is not so that c=DE" in shown.stdout
    assert "left out" not in here("stream", "check", "v.csv", "--column", "user", "--universe", "9").stdout


@pytest.mark.parametrize("where", ["country", "age>=old", "a="])
def test_a_filter_that_cannot_be_makes_no_state(where: str, here: Here, tmp_path: Path) -> None:
    refused = here(*OPEN, "--where", where)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: --where: found ")
    assert not (tmp_path / "s").exists()


def test_a_feed_that_cannot_look_at_the_fields_is_refused_whatever_the_values(here: Here, tmp_path: Path) -> None:
    here(*OPEN, "--where", "country=DE")
    (tmp_path / "v.txt").write_text("ann\n", encoding="utf-8")
    refused = here("stream", "feed", "s", "v.txt")
    assert "text lines have no field 'country', which filter or groups look at" in refused.stderr
    for values in ("DE", "1", '"', "", "\x00"):
        (tmp_path / "v.csv").write_text(f"user,country\nann,{values}\nbob\n", encoding="utf-8")
        fed = here("stream", "feed", "s", "v.csv", "--column", "user")
        assert (fed.returncode, fed.stderr) == (0, "")


def test_filters_are_for_known_users_and_visits_too(here: Here, tmp_path: Path) -> None:
    (tmp_path / "v.ndjson").write_text(
        "\n".join(json.dumps({"u": i, "kind": "buy" if i % 2 else "look"}) for i in range(2000)), encoding="utf-8"
    )
    for name, more in (("d", ()), ("v", ("--statistic", "visits", "--max", "2"))):
        here("stream", "open", name, "--universe", "2000", "--epsilon", "60", *more, "--where", "kind=buy")
        assert here("stream", "feed", name, "v.ndjson", "--column", "u").returncode == 0
    assert json.loads(here("stream", "estimate", "d", "--json").stdout)["density"] == pytest.approx(0.5, abs=0.05)
    visits = json.loads(here("stream", "estimate", "v", "--json").stdout)
    assert visits["exactly"][1]["share"] == pytest.approx(0.5, abs=0.05)
