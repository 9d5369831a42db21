"""Setups as state files keep them: they are read, mean what they meant, and are written the same.

Beside each header lie the facts that its writer knew: what was fixed, which slots its ids have, and what counts that a
release might have told were taken to mean. Users of ``known`` setups are listed or numbered; those of ``hashed`` ones
have windows, copies, filters, groups and schedules besides.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from panbayes.errors import InputError
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.saved_setup import entries_bytes, load_setup, save_setup
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.statistic import Released
from tests.stream.slots import record_slots, slots_of

GOLDEN = Path(__file__).parent / "golden"
KNOWN = sorted(path.stem for path in (GOLDEN / "known").glob("*.json"))
HASHED = sorted(path.stem for path in (GOLDEN / "hashed").glob("*.json"))
USERS = ("ann@example.org", "17", "007", "2001:db8::1", "::ffff:10.1.2.3", " Ame\u0301lie ", "")
LANDS = ("DE", "FR", "US", "de")
RECORDS = Records(
    [one for one in USERS for _ in LANDS],
    {"country": [land for _ in USERS for land in LANDS], "age": [str(9 * i) for i in range(len(USERS) * len(LANDS))]},
)


def golden(name: str) -> tuple[Saved, dict[str, Any]]:
    facts = json.loads((GOLDEN / "known" / f"{name}.json").read_text(encoding="utf-8"))
    return Saved(facts["header"].encode(), bytes.fromhex(facts["table"])), facts


def test_every_statistic_of_known_users_has_a_setup() -> None:
    assert {golden(name)[1]["statistic"] for name in KNOWN} == {"density", "visits", "cropped-mean", "returning"}


@pytest.mark.parametrize("name", KNOWN)
def test_a_setup_means_the_same_and_is_written_as_it_was(name: str) -> None:
    saved, facts = golden(name)
    setup = load_setup(saved)
    assert save_setup(setup) == saved
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


@pytest.mark.parametrize("name", KNOWN)
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


def hashed(name: str) -> tuple[Saved, dict[str, Any]]:
    facts = json.loads((GOLDEN / "hashed" / f"{name}.json").read_text(encoding="utf-8"))
    return Saved(facts["header"].encode()), facts


def slots_at(setup: StreamSetup, turn: int) -> list[int]:
    found = record_slots(RECORDS, setup.users_at(turn), setup.where)
    return [slot if 0 <= slot < setup.universe.entries else -1 for slot in found]


def answer_of(setup: StreamSetup, counts: tuple[int, ...]) -> object:
    release = Released(counts, True, 1, True, setup.half_life, setup.scope)
    answer = setup.statistic.answer(setup.calibration, setup.universe, release, confidence=0.9)
    return json.loads(json.dumps(answer.facts()))


def facts_of(setup: StreamSetup) -> dict[str, Any]:
    """What is written down of a setup; counts a little above those of an empty state."""
    calibration, sections = setup.calibration, setup.universe.sections
    counts = tuple(round(setup.universe.entries / sections * 0.55) + k for k in range(sections))
    return {
        "header": save_setup(setup).header.decode(),
        "describe": repr(setup),
        "universe": setup.universe.describe(),
        "scope": setup.scope,
        "epsilon": str(calibration.epsilon),
        "state_epsilon": str(calibration.state_epsilon),
        "noise_scale": str(calibration.noise_scale),
        "releases": calibration.releases,
        "flipped": calibration.flipped,
        "eta": str(calibration.eta),
        "forget": setup.forget,
        "where": [str(condition) for condition in setup.where],
        "at": None if setup.schedule is None else setup.schedule.name,
        "bytes": setup.state_bytes,
        "error": setup.error(),
        "slots": [slots_at(setup, 0), slots_at(setup, 2)],
        "counts": counts,
        "answer": answer_of(setup, counts),
    }


@pytest.mark.parametrize("name", HASHED)
def test_a_setup_of_hashed_users_means_the_same_and_is_written_as_it_was(name: str) -> None:
    saved, facts = hashed(name)
    setup = load_setup(saved)
    assert save_setup(setup) == saved
    assert entries_bytes(saved.header) == facts["bytes"]
    for key in ("epsilon", "state_epsilon", "noise_scale", "eta"):
        assert getattr(setup.calibration, key) == Fraction(facts[key])
    assert_close(json.loads(json.dumps(facts_of(setup))), facts)


@pytest.mark.parametrize("name", HASHED)
def test_a_setup_with_something_unknown_is_refused(name: str) -> None:
    saved, _ = hashed(name)
    for old, new in ((b'{"universe"', b'{"more":1,"universe"'), (b'"sample"', b'"more":1,"sample"')):
        assert old in saved.header
        with pytest.raises(ValueError, match="more"):
            load_setup(Saved(saved.header.replace(old, new)))
