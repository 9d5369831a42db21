"""State files of versions 2 to 5, as their first writers wrote them: they mean the same where they were made."""

from __future__ import annotations

import json
import lzma
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.flipped_copy import FlippedCopy
from panbayes.stream.grouped_estimate import GroupedEstimate
from panbayes.stream.ids.records import Records
from panbayes.stream.state.home import Home
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.state.layout import VERSION
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.union import union
from tests.stream.slots import slots_of

GOLDEN = Path(__file__).parent / "golden2"


@pytest.fixture
def facts() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((GOLDEN / "list.json").read_text(encoding="utf-8"))
    return read


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    path.write_bytes(lzma.decompress((GOLDEN / "list.state.xz").read_bytes()))
    path.chmod(0o600)
    return path


def test_unpacked_elsewhere_it_is_a_copy(state: Path, facts: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is a copy"):
        DensityEstimator.open(state)
    found = inspect_state(state)
    assert (found.version, found.left) == (2, facts["releases_left"])


def test_at_home_it_means_the_same_and_goes_on(
    state: Path, facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panbayes.stream.state.mapped.home_of", lambda _: Home(**facts["home"]))
    with DensityEstimator.open(state) as estimator:
        setup = estimator.setup
        assert (setup.universe.describe(), setup.sampling.size) == (facts["describe"], facts["size"])
        assert setup.calibration.epsilon == Fraction(facts["epsilon"])
        assert setup.calibration.noise_scale == Fraction(facts["noise_scale"])
        last = estimator.last()
        assert last is not None
        assert (last.statistic, last.releases_left) == (facts["statistic"], facts["releases_left"])
        slots = slots_of(setup.universe, facts["ids"])
        assert slots == facts["slots"]
        estimator.update(facts["ids"])
        assert estimator.estimate().releases_left == facts["releases_left"] - 1


def test_a_file_of_version_3_at_home_means_the_same_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = tmp_path / "state", Path(__file__).parent / "golden3"
    facts = json.loads((folder / "groups.json").read_text(encoding="utf-8"))
    place.write_bytes(lzma.decompress((folder / "groups.state.xz").read_bytes()))
    place.chmod(0o600)
    found = inspect_state(place)
    assert (found.version, found.left, found.period) == (3, facts["releases_left"], facts["period"])
    with pytest.raises(InputError, match="is a copy"):
        StreamEstimator[GroupedEstimate].open(place)
    monkeypatch.setattr("panbayes.stream.state.mapped.home_of", lambda _: Home(**facts["home"]))
    monkeypatch.setattr("panbayes.stream.schedule.time.time", lambda: facts["at_seconds"])
    with StreamEstimator[GroupedEstimate].open(place) as stream:
        setup = stream.setup
        assert (setup.universe.describe(), setup.fields) == (facts["describe"], ("age", "country"))
        assert setup.calibration.noise_scale == Fraction(facts["noise_scale"])
        again = stream.estimate()
        assert again.fresh is False
        assert [list(found.counts) for found in again.groups.values()] == facts["counts"]
        monkeypatch.setattr("panbayes.stream.schedule.time.time", lambda: facts["at_seconds"] + 86_400)
        stream.update(Records(["u1"], {"country": ["DE"], "age": ["20"]}))
        assert stream.estimate().fresh
        assert stream.releases_left == facts["releases_left"] - 1


def test_a_file_of_version_4_at_home_means_the_same_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = tmp_path / "state", Path(__file__).parent / "golden4"
    facts = json.loads((folder / "part.state.json").read_text(encoding="utf-8"))
    place.write_bytes(lzma.decompress((folder / "part.state.xz").read_bytes()))
    place.chmod(0o600)
    assert inspect_state(place).version == 4
    with pytest.raises(InputError, match="is a copy"):
        DensityEstimator.open(place)
    monkeypatch.setattr("panbayes.stream.state.mapped.home_of", lambda _: Home(**facts["home"]))
    with DensityEstimator.open(place) as part:
        setup = part.setup
        assert (setup.universe.describe(), setup.entries) == (facts["describe"], facts["entries"])
        assert (str(setup.part), setup.calibration.parts) == ("part 2 of 3", 3)
        assert setup.calibration.noise_scale == Fraction(facts["noise_scale"])
        again = part.release(repeat=True)
        assert (list(again.counts), again.stream, again.number) == (facts["counts"], facts["stream"], 1)
        part.update(range(1000))
        assert part.release().releases_left == facts["releases_left"] - 1


def test_a_file_of_version_5_at_home_is_the_site_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, folder = tmp_path / "state", Path(__file__).parent / "golden5"
    facts = json.loads((folder / "flipped.json").read_text(encoding="utf-8"))
    place.write_bytes(lzma.decompress((folder / "flipped.state.xz").read_bytes()))
    place.chmod(0o600)
    assert inspect_state(place).version == 5
    with pytest.raises(InputError, match="is a copy"):
        DistinctCounter.open(place)
    monkeypatch.setattr("panbayes.stream.state.mapped.home_of", lambda _: Home(**facts["home"]))
    written = (folder / "flipped.copy.json").read_bytes()
    first = FlippedCopy.from_bytes(written)
    assert first.to_bytes() == written
    assert first.site == facts["site"]
    with DistinctCounter.open(place) as site:
        assert site.setup.calibration.noise_scale == Fraction(facts["noise_scale"])
        last = site.last()
        assert last is not None
        assert list(last.counts) == facts["counts"]
        assert (site.releases_left, site.flipped_left) == (facts["releases_left"], facts["flipped_left"])
        with pytest.raises(InputError, match="is of the same site"):
            union([first, site.look()])


def test_a_version_that_is_written_has_a_golden_file() -> None:
    assert (Path(__file__).parent / f"golden{VERSION}").is_dir()
