"""State files of version 1, as panbayes 0.1 wrote them before there were kinds of universes: they mean what they meant.

Beside each file lie the facts that its writer knew about it: what was fixed, what was released, and which slots its ids
have.
"""

from __future__ import annotations

import json
import lzma
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.universes.registry import universe_kinds
from panbayes.stream.saved_setup import save_setup
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.release_count import ReleaseCount
from tests.stream.slots import slots_of

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.name.removesuffix(".json") for path in GOLDEN.glob("*.json"))


def unpack(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    path = folder / name
    path.write_bytes(lzma.decompress((GOLDEN / f"{name}.state.xz").read_bytes()))
    path.chmod(0o600)
    return path, json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def header_and_table(data: bytes, table: int) -> tuple[bytes, bytes]:
    length = struct.unpack_from("<I", data, 20)[0]
    return data[28 : 28 + length], data[len(data) - table :]


def test_there_is_a_file_of_every_kind() -> None:
    kinds = {json.loads(header_and_table(unpacked(name), 0)[0])["universe"]["kind"] for name in NAMES}
    assert kinds == {"integers", "ipv4", "list"}
    assert kinds <= set(universe_kinds())


def unpacked(name: str) -> bytes:
    return lzma.decompress((GOLDEN / f"{name}.state.xz").read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_an_old_state_file_means_the_same(tmp_path: Path, name: str) -> None:
    path, facts = unpack(name, tmp_path)
    with DensityEstimator.open(path, writing=False) as estimator:
        setup, calibration, law = estimator.setup, estimator.setup.calibration, estimator.setup.calibration.law
        assert setup.universe.describe() == facts["describe"]
        assert (setup.sampling.size, setup.sampling.sample) == (facts["size"], facts["sample"])
        assert calibration.epsilon == Fraction(facts["epsilon"])
        assert calibration.state_epsilon == Fraction(facts["state_epsilon"])
        assert calibration.noise_scale == Fraction(facts["noise_scale"])
        assert (law.name, law.levels, calibration.releases) == (facts["law"], facts["levels"], facts["releases"])
        last = estimator.last()
        assert last is not None
        assert (last.statistic, last.releases_left) == (facts["statistic"], facts["releases_left"])
        assert (last.low, last.high, last.rmse) == pytest.approx((facts["low"], facts["high"], facts["rmse"]))
        slots = [slot if 0 <= slot < setup.sampling.sample else -1 for slot in slots_of(setup.universe, facts["ids"])]
        assert slots == facts["slots"]


@pytest.mark.parametrize("name", NAMES)
def test_the_entries_of_an_old_state_file_are_where_they_were(tmp_path: Path, name: str) -> None:
    path, facts = unpack(name, tmp_path)
    sums: list[tuple[int, ...]] = []

    def add_up(count: ReleaseCount, entries: Entries) -> ReleaseCount:
        sums.append(entries.counts())
        return count

    store = StateFile(path, writing=False)
    store.transact(add_up)
    store.close()
    assert sums == [(facts["sum_of_scores"],)]


@pytest.mark.parametrize("name", NAMES)
def test_a_new_file_of_the_same_setup_has_the_same_bytes(tmp_path: Path, name: str) -> None:
    path, _ = unpack(name, tmp_path)
    data = path.read_bytes()
    with DensityEstimator.open(path, writing=False) as estimator:
        saved = save_setup(estimator.setup)
    assert (saved.header, saved.table) == header_and_table(data, len(saved.table))


@pytest.mark.parametrize("name", NAMES)
def test_an_old_stream_goes_on(tmp_path: Path, name: str) -> None:
    path, facts = unpack(name, tmp_path)
    with DensityEstimator.open(path) as estimator:
        estimator.update(facts["ids"])
        answer = estimator.estimate()
    left = facts["releases_left"]
    assert (answer.fresh, answer.releases_left) == (left > 0, max(0, left - 1))
    if left == 0:
        assert answer.statistic == facts["statistic"]
