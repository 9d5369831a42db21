"""``panbayes stream open --parts``, ``estimate --release`` and ``combine``, as somebody uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_stream import Here, here

__all__ = ["here"]

KEY = "0123456789abcdef" * 2
OPEN = ("stream", "open", "v.state", "--universe", "hashed", "--expect", "5000", "--epsilon", "50")


def visitors(folder: Path, count: int = 4000) -> None:
    (folder / "v.txt").write_text("\n".join(f"visitor-{i}" for i in range(count)), encoding="utf-8")


def released(here: Here, parts: int, state: str = "v", *, more: tuple[str, ...] = ()) -> list[str]:
    """Feed every part, release it, and return the names of the releases."""
    names = []
    for number in range(1, parts + 1):
        assert here("stream", "feed", f"{state}.{number}.state", "v.txt").returncode == 0
        names.append(f"{state}.{number}.json")
        told = here("stream", "estimate", f"{state}.{number}.state", "--release", names[-1], *more)
        assert told.returncode == 0, told.stderr
    return names


def test_parts_from_beginning_to_end(here: Here, tmp_path: Path) -> None:
    visitors(tmp_path)
    opened = here(*OPEN, "--parts", "3")
    assert "v.1.state to v.3.state: ready for any ids, hashed into" in opened.stdout
    assert "one look at each part and the one release" in opened.stdout
    assert "part           1 of 3; every part is fed all ids, and takes its own" in opened.stdout
    assert "Keep each of these files and no copy of it" in opened.stdout
    assert not (tmp_path / "v.state").exists()
    names = released(here, 3)
    combined = here("stream", "combine", *names, "-o", "all.json")
    assert combined.returncode == 0, combined.stderr
    assert combined.stdout.startswith("distinct users  ")
    assert "adds up 3 parts, each with noise of its own" in combined.stdout
    told = json.loads(here("stream", "combine", *reversed(names), "--json").stdout)
    assert told["users"] == pytest.approx(4000, rel=0.05)
    assert (told["parts"], told["interval"]) == (3, "exact")
    again = json.loads(here("stream", "combine", "all.json", "--json").stdout)
    assert again == told
    assert (
        json.loads(here("stream", "portfolio", "v.1.state", "v.2.state", "v.3.state", "--json").stdout)["total"] == "50"
    )
    info = json.loads(here("stream", "info", "v.2.state", "--json").stdout)
    assert (info["part"], info["parts"]) == (2, 3)


def test_one_part_says_that_it_is_one(here: Here, tmp_path: Path) -> None:
    visitors(tmp_path)
    assert here(*OPEN, "--part", "2/3", "--key", KEY).returncode == 0
    assert here("stream", "feed", "v.state", "v.txt").returncode == 0
    told = here("stream", "estimate", "v.state").stdout
    assert told.startswith("part 2 of 3  any ids")
    assert "One part says nothing of the whole: combine the releases of all parts" in told
    assert "distinct users" not in told
    assert "density" not in told
    alone = here("stream", "estimate", "v.state", "--repeat", "--release", "2.json")
    assert "2.json: written." in alone.stdout
    missing = here("stream", "combine", "2.json")
    assert missing.returncode == 2
    assert "error: releases: parts 1, 3 of 3 are missing" in missing.stderr
    assert "nothing is scaled up" in missing.stderr


def test_parts_of_known_users_and_parts_made_one_by_one(here: Here, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("\n".join(map(str, range(600))), encoding="utf-8")
    for number in (1, 2):
        made = here(
            *("stream", "open", f"v.{number}.state", "--universe", "1000", "--sample", "900", "--epsilon", "50"),
            *("--part", f"{number}/2", "--key", KEY),
        )
        assert f"part           {number} of 2" in made.stdout
        assert f"key            {KEY}" in made.stdout
    told = json.loads(here("stream", "combine", *released(here, 2), "--json").stdout)
    assert told["density"] == pytest.approx(0.6, abs=0.1)
    assert here("stream", "open", "n.state", "--universe", "1000", "--epsilon", "1", "--parts", "2").returncode == 0
    assert (tmp_path / "n.2.state").exists()


def test_parts_of_groups_and_periods(here: Here, tmp_path: Path) -> None:
    rows = [f"u{i},{land}" for land, size in (("DE", 4000), ("release", 2000)) for i in range(size)]
    (tmp_path / "v.csv").write_text("user,land\n" + "\n".join(rows), encoding="utf-8")
    assert here(*OPEN, "--groups", "land=DE,release", "--periods", "--parts", "2").returncode == 0
    names = ["1.json", "2.json"]
    for number, name in enumerate(names, 1):
        assert here("stream", "feed", f"v.{number}.state", "v.csv", "--column", "user").returncode == 0
        turned = here("stream", "turn", f"v.{number}.state", "--release", name)
        assert f"part {number} of 2" in turned.stdout, turned.stderr
    told = json.loads(here("stream", "combine", *names, "--json").stdout)
    assert {name: found["users"] for name, found in told["groups"].items()} == {
        "DE": pytest.approx(4000, rel=0.15),
        "release": pytest.approx(2000, rel=0.2),
    }
    shown = here("stream", "combine", *names).stdout.splitlines()
    assert [line.split()[0] for line in shown[:3]] == ["land", "DE", "release"]
    assert "This release is" not in "".join(shown)
    late = here("stream", "estimate", "v.1.state", "--repeat", "--release", "1.json")
    assert late.returncode == 2
    assert "a period may have ended" in late.stderr
    assert here("stream", "estimate", "v.1.state", "--release", "1.json").returncode == 0
    mixed = here("stream", "combine", *names)
    assert "error: 2.json: is of period 0, and the first of period 1" in mixed.stderr


def test_bad_combinations_are_refused_by_name(here: Here, tmp_path: Path) -> None:
    visitors(tmp_path, 500)
    (tmp_path / "other").mkdir()
    assert here(*OPEN, "--parts", "2", "--releases", "2").returncode == 0
    assert here(*OPEN[:2], "w.state", *OPEN[3:], "--parts", "2", "--releases", "2").returncode == 0
    assert here(*OPEN[:2], "x.state", *OPEN[3:], "--parts", "3", "--releases", "2").returncode == 0
    assert here(*OPEN[:2], "whole.state", *OPEN[3:]).returncode == 0
    ours, others, three = released(here, 2), released(here, 2, "w"), released(here, 3, "x")
    assert here("stream", "estimate", "whole.state", "--release", "whole.json").returncode == 0
    for given, said in (
        ((ours[0], ours[0]), "error: v.1.json: is of part 1, and so is v.1.json"),
        ((ours[0],), "error: releases: part 2 of 2 is missing"),
        ((ours[0], others[1]), "error: w.2.json: is of another stream than the first: its key"),
        ((ours[0], three[1]), "error: x.2.json: is of one of 3 parts, and the first of 2"),
        ((ours[0], "whole.json"), "error: whole.json: is a release of a whole state"),
        (("v.txt", ours[0]), "error: v.txt: is not a release"),
        (("v.1.state", ours[0]), "error: v.1.state: is not a release"),
        (("nothing.json", ours[0]), "error: nothing.json: cannot be read"),
    ):
        refused = here("stream", "combine", *given)
        assert refused.returncode == 2, given
        assert said in refused.stderr
    assert here("stream", "estimate", "v.1.state", "--release", ours[0]).returncode == 0
    refused = here("stream", "combine", *ours)
    assert "error: v.2.json: is release number 1, and the first is number 2" in refused.stderr
    assert here("stream", "combine", "whole.json").returncode == 0


def test_a_release_never_replaces_something_else(here: Here, tmp_path: Path) -> None:
    visitors(tmp_path, 500)
    assert here(*OPEN, "--parts", "2", "--releases", "3").returncode == 0
    names = released(here, 2)
    for place, said in (
        ("v.txt", "v.txt holds no release"),
        (names[1], "holds a release of another state"),
        ("v.1.state", "v.1.state"),
        ("no folder/1.json", "no folder"),
    ):
        before = (tmp_path / place).read_bytes() if (tmp_path / place).exists() else None
        refused = here("stream", "estimate", "v.1.state", "--release", place)
        assert refused.returncode == 2, place
        assert said in refused.stderr
        assert before is None or place.endswith(".state") or (tmp_path / place).read_bytes() == before
    assert "releases left  2 of 3" in here("stream", "info", "v.1.state").stdout
    assert here("stream", "estimate", "v.1.state", "--publish", "p.json").returncode == 2
    assert here("stream", "estimate", "v.1.state", "--release", names[0]).returncode == 0
    visits = ("stream", "open", "often.state", "--universe", "1000", "--epsilon", "1", "--statistic", "visits")
    assert here(*visits, "--max", "3").returncode == 0
    refused = here("stream", "estimate", "often.state", "--release", "often.json")
    assert "error: release: it is for visits" in refused.stderr
    assert "releases left  1 of 1" in here("stream", "info", "often.state").stdout


def test_a_copy_of_a_part_is_refused(here: Here, tmp_path: Path) -> None:
    assert here(*OPEN, "--parts", "2").returncode == 0
    (tmp_path / "copy.state").write_bytes((tmp_path / "v.1.state").read_bytes())
    (tmp_path / "copy.state").chmod(0o600)
    refused = here("stream", "estimate", "copy.state", "--release", "copy.json")
    assert refused.returncode == 2
    assert "copy.state: is a copy" in refused.stderr
    assert here("stream", "move", "v.1.state", "moved.state").returncode == 0
    info = json.loads(here("stream", "info", "moved.state", "--json").stdout)
    assert info["part"] == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--parts", "1"), "error: --parts: found 1; give 2 to 1024 parts"),
        (("--parts", "2000"), "error: --parts: found 2000"),
        (("--part", "4/3", "--key", KEY), "error: --part: found '4/3'; write it like 3/16"),
        (("--part", "1/3"), "error: --part: a part without a key has no other parts"),
        (("--part", "1/3", "--parts", "3", "--key", KEY), "error: --part: found with --parts"),
        (("--parts", "2", "--flipped", "1", "--eta", "1"), "error: flipped: found it with parts"),
        (("--parts", "2", "--memory", "1K", "--key", "12"), "error: --key: is not 32 hexadecimal digits"),
    ],
)
def test_what_open_refuses(more: tuple[str, ...], said: str, here: Here, tmp_path: Path) -> None:
    refused = here(*OPEN, *more)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert list(tmp_path.glob("*.state")) == []


def test_open_makes_all_parts_or_none(here: Here, tmp_path: Path) -> None:
    (tmp_path / "v.3.state").write_text("something", encoding="utf-8")
    refused = here(*OPEN, "--parts", "4")
    assert "error: v.3.state: exists already" in refused.stderr
    assert [path.name for path in tmp_path.glob("*.state")] == ["v.3.state"]
    assert here("stream", "open", "t.state", "--universe", "10", "--epsilon", "1", "--parts", "20").returncode == 2
    refused = here(
        *OPEN[:3], "--universe", "1000", "--epsilon", "1", "--statistic", "visits", "--max", "2", "--parts", "2"
    )
    assert "error: part: found it with visits" in refused.stderr


def test_parts_that_were_made_before_one_could_not_be_are_taken_away(here: Here, tmp_path: Path) -> None:
    (tmp_path / "v.2.state").symlink_to(tmp_path / "nowhere")
    refused = here(*OPEN, "--parts", "3")
    assert refused.returncode == 2
    assert "v.2.state" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["v.2.state"]
