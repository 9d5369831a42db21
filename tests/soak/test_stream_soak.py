"""Long runs on streams: many kills, and damage of every byte of a state file's head."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.columns import chunks
from panbayes.stream.ids.feeding import batches
from tests.conftest import ROOT
from tests.effort import soak

pytestmark = soak


@pytest.mark.parametrize("seed", range(4))
def test_a_thousand_kills(tmp_path: Path, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.stream.kill_harness", str(tmp_path), "250", str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_service_killed_at_every_step_of_a_turn(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.service.kill_in_turn", str(tmp_path), "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_damage_of_the_head_never_gives_a_fresh_release_for_free(tmp_path: Path) -> None:
    """Whatever a flipped bit does, the file is refused or it is as it was: never more releases, never less noise."""
    path = tmp_path / "state"
    with DensityEstimator.create(path, 1000, epsilon=1, releases=2) as estimator:
        estimator.estimate()
        known = estimator.setup.calibration
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    places = [*range(700), *range(16384, 16384 + 80), *range(20480, 20480 + 80)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            with DensityEstimator.open(path, writing=False) as estimator:
                assert estimator.setup.calibration == known
                assert estimator.releases_left <= 2
        except InputError:
            pass


@pytest.mark.parametrize("form", ["text", "csv", "ndjson"])
def test_any_bytes_can_be_fed(tmp_path: Path, form: str) -> None:
    rng = np.random.default_rng(2)
    alphabet = np.frombuffer(b'0123456789,."{}[]:\\\n\r\t user\x00\xff\xc3', dtype=np.uint8)
    path = tmp_path / "input"
    for _ in range(2000):
        path.write_bytes(rng.choice(alphabet, int(rng.integers(0, 400))).tobytes())
        for batch in batches(str(path), form=form, column=None if form == "text" else "1"):
            assert len(list(chunks(batch))) == 1
