"""Setups as state files of version 2 keep them: they are read, mean what they meant, and are written the same.

Beside each header lie the facts that its writer knew: what was fixed, which slots its ids have, and what counts that a
release might have told were taken to mean. (A whole file of version 2 is bound to its place and cannot be kept here.)
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from panbayes.errors import InputError
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.saved_setup import entries_bytes, load_setup, save_setup
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.statistic import Released
from tests.stream.slots import slots_of

GOLDEN = Path(__file__).parent / "golden_setups"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.json"))


def golden(name: str) -> tuple[Saved, dict[str, Any]]:
    facts = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return Saved(facts["header"].encode(), bytes.fromhex(facts["table"])), facts


def test_every_statistic_that_came_with_version_2_has_a_setup() -> None:
    assert {golden(name)[1]["statistic"] for name in NAMES} == {"density", "visits", "cropped-mean", "returning"}


@pytest.mark.parametrize("name", NAMES)
def test_a_setup_means_the_same(name: str) -> None:
    saved, facts = golden(name)
    setup = load_setup(saved)
    assert repr(setup) == facts["describe"]
    assert (setup.statistic.name, setup.statistic.most) == (facts["statistic"], facts["most"])
    calibration = setup.calibration
    for key in ("epsilon", "state_epsilon", "noise_scale"):
        assert getattr(calibration, key) == Fraction(facts[key])
    assert (calibration.releases, setup.sampling.size, setup.sampling.sample) == (
        facts["releases"],
        facts["size"],
        facts["sample"],
    )
    assert setup.error() == pytest.approx(facts["error"])
    assert entries_bytes(saved.header) == setup.state_bytes
    found = slots_of(setup.universe, facts["ids"])
    assert [slot if 0 <= slot < setup.sampling.sample else -1 for slot in found] == facts["slots"]


@pytest.mark.parametrize("name", NAMES)
def test_a_setup_is_written_as_it_was(name: str) -> None:
    saved, _ = golden(name)
    assert save_setup(load_setup(saved)) == saved


@pytest.mark.parametrize("name", NAMES)
def test_released_counts_mean_the_same(name: str) -> None:
    saved, facts = golden(name)
    setup = load_setup(saved)
    kept = ReleaseCount.from_bytes(ReleaseCount(1, tuple(facts["counts"])).to_bytes())
    assert kept.last == tuple(facts["counts"])
    release = Released(kept.last, fresh=True, left=1, private=True)
    answer = setup.statistic.answer(setup.calibration, setup.universe, release, confidence=0.9)
    assert_close(json.loads(json.dumps(answer.facts())), facts["answer"])


def assert_close(found: object, expected: object) -> None:
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys()
        for key in expected:
            assert_close(found[key], expected[key])
    elif isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("visits", '"statistic":{"name":"visits","most":5}', '"statistic":{"name":"visits","most":6}'),
        ("visits", '"statistic":{"name":"visits","most":5}', '"statistic":{"name":"visits","most":99}'),
        ("visits", '"statistic":{"name":"visits","most":5}', '"statistic":{"name":"returning"}'),
        ("visits", '"statistic":{"name":"visits","most":5}', '"statistic":{"name":"anything"}'),
        ("visits", ',"statistic":{"name":"visits","most":5}', ""),
        ("visits", '"releases":3', '"releases":4'),
        ("visits", '"name":"counter"', '"name":"dwork"'),
        ("returning", '"statistic":{"name":"returning"}', '"statistic":{"name":"density"}'),
        ("returning", '"statistic":{"name":"returning"}', '"statistic":{"name":"visits","most":5}'),
        ("returning", '"panels":[[', '"panels":[[1,1,1],['),
        ("returning", '"key":"', '"key":"00'),
        ("cropped-mean", '"most":5', '"most":1'),
        ("graph", '"releases":1', '"releases":1,"statistic":{"name":"visits","most":2}'),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(name: str, old: str, new: str) -> None:
    saved, _ = golden(name)
    header = saved.header.replace(old.encode(), new.encode())
    assert header != saved.header
    with pytest.raises((ValueError, InputError, msgspec.MsgspecError)):
        load_setup(Saved(header, saved.table))


@pytest.mark.parametrize("name", ["visits"])
def test_a_counter_with_uneven_probabilities_is_refused(name: str) -> None:
    """They would lose more than the two numbers of a counter say."""
    saved, facts = golden(name)
    init = json.loads(facts["header"])["law"]["init"]
    uneven = [init[0], init[1] - 5, init[2] + 5, *init[3:]]
    header = saved.header.replace(json.dumps(init, separators=(",", ":")).encode(), json.dumps(uneven).encode())
    assert header != saved.header
    with pytest.raises(ValueError, match="one probability"):
        load_setup(Saved(header, saved.table))
