"""``panbayes stream`` for ids without a list."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.test_stream import Here, here

__all__ = ["here"]

PEOPLE = [f"visitor-{i}@example.org" for i in range(20_000)]


def open_hashed(here: Here, *more: str) -> dict[str, object]:
    done = here("stream", "open", "s.state", "--universe", "hashed", "--epsilon", "8", "--json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_day_of_visitors(here: Here, tmp_path: Path) -> None:
    """Three files of the same people in three formats, then one estimate."""
    facts = open_hashed(here, "--expect", "20000", "--releases", "2")
    assert (facts["universe"], facts["statistic"], facts["sample"]) == (None, "distinct", 20_032)
    assert facts["relative_error"] == pytest.approx(0.01, abs=0.005)
    (tmp_path / "a.txt").write_text("\n".join(PEOPLE[:15_000]) + "\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("who,n\n" + "".join(f"{p},1\n" for p in PEOPLE[5000:]), encoding="utf-8")
    pl.DataFrame({"id": PEOPLE[::2]}).write_parquet(tmp_path / "c.parquet")
    for file, *column in (("a.txt",), ("b.csv", "--column", "who"), ("c.parquet",)):
        fed = here("stream", "feed", "s.state", file, *column)
        assert (fed.returncode, fed.stderr) == (0, "")
    answer = json.loads(here("stream", "estimate", "s.state", "--json").stdout)
    assert answer["users"] == pytest.approx(20_000, rel=0.06)
    assert answer["low"] <= answer["users"] <= answer["high"]
    assert (answer["interval"], answer["fresh"], answer["releases_left"], answer["private"]) == ("exact", True, 1, True)
    shown = here("stream", "estimate", "s.state", "--repeat").stdout
    assert f"{answer['users']:,}" in shown
    assert "interval" in shown
    assert ", exact" in shown
    info = json.loads(here("stream", "info", "s.state", "--json").stdout)
    assert (info["key"], info["releases_left"], info["tiers"]) == (facts["key"], 1, 1)


def test_integers_and_their_texts_are_the_same_people(here: Here, tmp_path: Path) -> None:
    """What comes as numbers from Parquet and as text from a file is counted once."""
    open_hashed(here, "--expect", "30000")
    pl.DataFrame({"id": np.arange(30_000)}).write_parquet(tmp_path / "numbers.parquet")
    (tmp_path / "texts.txt").write_text("".join(f"{i}\n" for i in range(30_000)), encoding="utf-8")
    for file in ("numbers.parquet", "texts.txt"):
        assert here("stream", "feed", "s.state", file).returncode == 0
    answer = json.loads(here("stream", "estimate", "s.state", "--json").stdout)
    assert answer["users"] == pytest.approx(30_000, rel=0.06)


def test_tiers_by_default_and_what_is_said_of_them(here: Here) -> None:
    done = here("stream", "open", "s.state", "--universe", "Hashed", "--epsilon", "1", "--ipv6", "64")
    assert "18 tiers of 58,240 cells; an IPv6 address is its first 64 bits" in done.stdout
    assert "131,040 bytes" in done.stdout
    assert "key " in done.stdout
    answer = here("stream", "estimate", "s.state").stdout
    assert "of measured coverage" in answer
    key = json.loads(here("stream", "info", "s.state", "--json").stdout)["key"]
    again = here("stream", "open", "t.state", "--universe", "hashed", "--epsilon", "1", "--key", key, "--json")
    assert json.loads(again.stdout)["key"] == key


def test_the_owner_can_check_a_file(here: Here, tmp_path: Path) -> None:
    """Every id counts; blank lines are told apart from ids."""
    (tmp_path / "who.txt").write_text("ann\n \n\nbob \n\u00a0\n7\n", encoding="utf-8")
    found = json.loads(here("stream", "check", "who.txt", "--universe", "hashed", "--json").stdout)
    assert (found["rows"], found["counted"]) == (6, 3)
    assert found["missing"] >= 2


def test_nobody_is_taken_out(here: Here, tmp_path: Path) -> None:
    open_hashed(here, "--memory", "2K")
    before = (tmp_path / "s.state").read_bytes()
    (tmp_path / "who.txt").write_text("ann\n", encoding="utf-8")
    done = here("stream", "feed", "s.state", "who.txt", "--delete")
    assert done.returncode == 2
    assert "users share cells" in done.stderr
    assert (tmp_path / "s.state").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--universe", "hashed", "--sample", "10"), "--sample: found with --universe hashed"),
        (("--universe", "hashed", "--state-law", "dwork"), "--state-law: found with --universe hashed"),
        (("--universe", "hashed", "--statistic", "visits", "--max", "3"), "--max: found with --universe hashed"),
        (("--universe", "hashed", "--statistic", "density"), "--statistic: found with --universe hashed"),
        (("--universe", "hashed", "--memory", "lots"), "memory: found 'lots'"),
        (("--universe", "hashed", "--ipv6", "48"), "ipv6: found 48"),
        (("--universe", "hashed", "--key", "abc"), "key: is not 32"),
        (("--universe", "1000", "--memory", "1M"), "--memory: found with known users"),
        (("--universe", "1000", "--expect", "5"), "--expect: found with known users"),
        (("--universe", "1000", "--key", "ab"), "--key: found with known users"),
        (("--universe", "1000", "--ipv6", "64"), "--ipv6: found with known users"),
        (("--universe", "1000", "--statistic", "distinct"), "--statistic: distinct is for ids without a list"),
    ],
)
def test_refusals(here: Here, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = here("stream", "open", "s.state", "--epsilon", "1", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "s.state").exists()


def test_plans(here: Here) -> None:
    shown = here("stream", "plan", "--universe", "hashed", "--epsilon", "1").stdout
    assert "128K, 1 release" in shown
    assert "1M, 30 releases" in shown
    row = next(line for line in shown.splitlines() if line.split()[0] == "1,000,000,000")
    assert "0.76 %" in row
    told = here(
        "stream", "plan", "--universe", "hashed", "--epsilon", "1", "--memory", "1M", "--releases", "7", "--json"
    )
    plan = json.loads(told.stdout)
    assert [(column["memory"], column["releases"]) for column in plan["columns"]] == [(1 << 20, 7)]
    one = json.loads(
        here("stream", "plan", "--universe", "hashed", "--epsilon", "1", "--expect", "100000", "--json").stdout
    )
    assert one["columns"][0]["tiers"] == 1
    assert one["columns"][0]["errors"][2] == pytest.approx(2.84 / 100_000**0.5, rel=0.05)
    for arguments, message in (
        (("--universe", "hashed", "--alpha", "0.1"), "--alpha: found with --universe hashed"),
        (("--alpha", "0.1", "--memory", "1M"), "--memory: found with known users"),
        (("--universe", "1000"), "--alpha: missing"),
    ):
        done = here("stream", "plan", "--epsilon", "1", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
