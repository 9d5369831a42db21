"""A state file of version 2, as its first writer wrote it: it means the same, and is at home where it was made."""

from __future__ import annotations

import json
import lzma
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.columns import chunks
from panbayes.stream.state.home import Home
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.state.layout import VERSION

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
        slots = [
            slot for chunk in chunks(facts["ids"]) for part in setup.universe.slots(chunk) for slot in part.tolist()
        ]
        assert slots == facts["slots"]
        estimator.update(facts["ids"])
        assert estimator.estimate().releases_left == facts["releases_left"] - 1


def test_a_version_that_is_written_has_a_golden_file() -> None:
    assert VERSION == 2
