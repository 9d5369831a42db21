"""``panbayes stream open --groups``: users of every group, one line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_stream import Here, here

__all__ = ["here"]

OPEN = ("stream", "open", "g", "--universe", "hashed", "--expect", "6000", "--epsilon", "100")
KEY = ("--key", "00112233445566778899aabbccddeeff")
"""Who is counted for whom is up to the key: under another one a figure is 2 to 3 % off."""


def test_groups_as_one_command(here: Here, tmp_path: Path) -> None:
    rows = [f"u{i},{land}" for land, size in (("DE", 6000), ("FR", 3000), ("US", 5000)) for i in range(size)]
    (tmp_path / "v.csv").write_text("user,country\n" + "\n".join(rows), encoding="utf-8")
    opened = here(*OPEN, *KEY, "--groups", "country=DE,FR")
    assert "groups         country: DE, FR; events of others are ignored" in opened.stdout
    assert "E = 100 over all groups together, in however many one is" in opened.stdout
    fed = here("stream", "feed", "g", "v.csv", "--column", "user")
    assert "events of another country than those declared" in fed.stdout
    shown = here("stream", "estimate", "g").stdout.splitlines()
    assert shown[0].startswith("country  distinct users  95 % interval")
    assert [line.split()[0] for line in shown[1:3]] == ["DE", "FR"]
    assert "who is in several groups is in several figures" in shown[4]
    told = json.loads(here("stream", "estimate", "g", "--repeat", "--json").stdout)
    assert {name: found["users"] for name, found in told["groups"].items()} == {
        "DE": pytest.approx(6000, rel=0.1),
        "FR": pytest.approx(3000, rel=0.12),
    }
    info = json.loads(here("stream", "info", "g", "--json").stdout)
    assert info["groups"] == {"country": ["DE", "FR"]}
    assert json.loads(here("stream", "portfolio", "g", "--json").stdout)["total"] == "100"


def test_the_memory_is_that_of_all_groups(here: Here) -> None:
    told = json.loads(here(*OPEN[:5], "--epsilon", "1", "--memory", "8K", "--groups", "a=b,c", "--json").stdout)
    assert told["state_bytes"] <= 8192
    assert told["tiers"] > 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--groups", "country"), "error: --groups: found 'country'; write FIELD=VALUE,VALUE"),
        (("--groups", "c=a,b", "--panel", "30d"), "error: --panel: found with --groups"),
        (("--groups", "c=a,b", "--flipped", "1", "--eta", "1"), "error: --flipped: found with --groups"),
        (("--groups", "c=a,b", "--half-life", "3"), "error: half-life: found with groups"),
        (("--groups", "c=a,b", "--statistic", "visits"), "error: --statistic: found with --universe hashed"),
        (
            ("--groups", "c=" + ",".join(f"{i:0100}" for i in range(200))),
            "error: --where: filter and groups are too long",
        ),
    ],
)
def test_what_is_refused(more: tuple[str, ...], said: str, here: Here, tmp_path: Path) -> None:
    refused = here(*OPEN, *more)
    assert (refused.returncode, refused.stderr[: len(said)]) == (2, said)
    assert not (tmp_path / "g").exists()


def test_a_plan_for_groups_is_what_a_state_of_groups_has(here: Here) -> None:
    """The error of a group of n users is that of a state of n/k users, plus (k − 1)/n in its square."""
    groups = ("--groups", "country=DE,FR,IT")
    told = json.loads(here("stream", "plan", "--epsilon", "1", "--universe", "hashed", *groups, "--json").stdout)
    plain = json.loads(here("stream", "plan", "--epsilon", "1", "--universe", "hashed", "--json").stdout)
    assert told["groups"] == 3
    for column, one in zip(told["columns"], plain["columns"], strict=True):
        assert column["state_bytes"] == 3 * one["state_bytes"]
    column, users = told["columns"][2], told["columns"][2]["users"]
    assert (column["memory"], column["releases"]) == (3 * 128 * 1024, 1)
    assert column["errors"][users.index(10**6)] == pytest.approx(0.0078, rel=0.02)
    shown = here("stream", "plan", "--epsilon", "1", "--universe", "hashed", *groups).stdout
    assert shown.startswith("Relative standard error for each of 3 groups by the number of its users (E = 1")
    known = here("stream", "plan", "--epsilon", "1", "--alpha", "0.1", *groups)
    assert known.stderr.startswith("error: --groups: found with known users")
