"""The reader of releases in JavaScript recomputes the estimates, from what is published and nothing else."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from panbayes.stream.accuracy.density_error import Design, mse
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.distinct_estimate import DistinctEstimate
from panbayes.stream.grouped_estimate import GroupedEstimate
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.release import StreamRelease, combine
from tests.effort import some
from tests.stream.test_release import GOLDEN, KINDS, parts_of, releases_of

ROOT = Path(__file__).resolve().parents[2]
READER = ROOT / "examples" / "release-reader" / "release.js"
NODE = shutil.which("node") or ""

needs_node = pytest.mark.skipif(not NODE, reason="node is not installed")


def node(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([NODE, str(READER), *map(str, files)], capture_output=True, text=True, check=False)


def recomputed(*files: Path) -> Any:
    done = node(*files)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def near(release: StreamRelease, found: Any) -> None:
    """What was recomputed is what the package says."""
    answer = release.estimate()
    if isinstance(answer, DensityEstimate):
        assert found["density"] == pytest.approx(answer.density, rel=1e-9)
        assert found["unbiased"] == pytest.approx(answer.unbiased, rel=1e-9)
        assert found["users"] == answer.distinct
        assert found["error"] == pytest.approx(density_error(release, answer.density), rel=1e-9)
    elif isinstance(answer, DistinctEstimate):
        users(answer, found)
    else:
        groups(answer, found)


def users(answer: DistinctEstimate, found: Any) -> None:
    assert found["users"] == answer.users
    assert found["relative_error"] == pytest.approx(answer.relative_error, rel=1e-9)


def groups(answer: GroupedEstimate, found: Any) -> None:
    assert [one["group"] for one in found] == list(answer.groups)
    for one, expected in zip(found, answer.groups.values(), strict=True):
        users(expected, one)


def density_error(release: StreamRelease, density: float) -> float:
    chances = [tuple(p / COIN for p in law) for law in (release.init, release.update)]
    size = None if release.half_life else release.users
    cells, scale = release.sections[0].cells, float(release.noise_scale)
    design = Design(chances[0], chances[1], release.scores, cells, size, scale, release.noise_terms[0])
    return math.sqrt(mse(design, density))


def test_the_reader_is_short_and_needs_nothing() -> None:
    text = READER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    assert text.count("require(") == 1
    assert 'require("node:fs")' in text


@needs_node
@pytest.mark.parametrize("name", ["density", "tier", "tiers"])
def test_golden_releases_are_recomputed(name: str) -> None:
    place = GOLDEN / f"{name}.json"
    near(StreamRelease.from_bytes(place.read_bytes()), recomputed(place))


@needs_node
@pytest.mark.parametrize("kind", some(KINDS, 4))
def test_every_kind_of_release_is_recomputed(kind: str, tmp_path: Path) -> None:
    release, _ = releases_of(kind)
    # −100,000 and 100,000 are at the ends of what can be told.
    for change in some((100, 0, -100_000, 100_000), 2):
        changed = replace(release, counts=tuple(count + change for count in release.counts))
        (tmp_path / "release.json").write_bytes(changed.to_bytes())
        near(changed, recomputed(tmp_path / "release.json"))


@needs_node
@pytest.mark.parametrize("parts", some([2, 5, 30], 1))
def test_stretches_of_tiers_have_as_many_noises_as_the_package_says(tmp_path: Path, parts: int) -> None:
    found = []
    for number in range(1, parts + 1):
        with DistinctCounter(epsilon=1, memory="4K", part=f"{number}/{parts}", key="ab" * 16) as counter:
            counter.update(range(4000))
            found.append(counter.release())
    files = [tmp_path / f"{number}.json" for number in range(parts)]
    for file, part in zip(files, found, strict=True):
        file.write_bytes(part.to_bytes())
    whole = combine(found)
    assert len(set(whole.noise_terms)) > 1
    near(whole, recomputed(*files))
    (tmp_path / "whole.json").write_bytes(whole.to_bytes())
    near(whole, recomputed(tmp_path / "whole.json"))


@needs_node
def test_parts_are_combined_as_the_package_combines_them(tmp_path: Path) -> None:
    parts = parts_of(3)
    files = [tmp_path / f"{number}.json" for number in (1, 2, 3)]
    for file, part in zip(files, parts, strict=True):
        file.write_bytes(part.to_bytes())
    whole = combine(parts)
    near(whole, recomputed(*reversed(files)))
    (tmp_path / "whole.json").write_bytes(whole.to_bytes())
    near(whole, recomputed(tmp_path / "whole.json"))
    (tmp_path / "other.json").write_bytes(parts_of(3, key="ff" * 16)[1].to_bytes())
    for given, said in (
        (files[:1], "release: is part 1 of 3: give all of them"),
        (files[:2], "part 3 of 3: is missing"),
        ([*files, files[1]], "part 2 of 3: is there twice"),
        ([files[0], tmp_path / "other.json", files[2]], "part 2: is of another stream, period or release"),
        ([tmp_path / "whole.json", *files], "releases: one is not of a part: give it alone"),
    ):
        done = node(*given)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: {said}\n"


@needs_node
def test_what_is_no_such_release_is_refused(tmp_path: Path) -> None:
    written = json.loads((GOLDEN / "tier.json").read_bytes())
    file = tmp_path / "release.json"
    for change, said in (
        ({"version": 3}, "is of version 3, and this reads version 1"),
        ({"kind": "panbayes flipped copy"}, "is not a release"),
        ({"statistic": "visits"}, 'is of "visits"'),
        ({"counts": [1, 2]}, "has not one count for each section"),
    ):
        file.write_text(json.dumps({**written, **change}), encoding="utf-8")
        done = node(file)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {file}: {said}\n")
    for text, said in (("{", "is not JSON"), ("null", "is not a release")):
        file.write_text(text, encoding="utf-8")
        assert node(file).stderr == f"error: {file}: {said}\n"
    assert "usage" in node().stderr
    assert "no such file" in node(tmp_path / "missing.json").stderr
