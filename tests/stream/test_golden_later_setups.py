"""Setups as state files of version 3 keep them, whole: hashed ids, windows, copies, filters, groups, schedules.

Beside each header lie the facts that its writer knew: what was fixed, the slots of some records in the first and in the
third period, and what a release was taken to mean.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.stream.ids.records import Records
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.saved_setup import entries_bytes, load_setup, save_setup
from panbayes.stream.setup import StreamSetup
from panbayes.stream.statistics.methods.statistic import Released
from tests.stream.slots import record_slots
from tests.stream.test_golden_setups import assert_close

GOLDEN = Path(__file__).parent / "golden_setups3"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.json"))
USERS = ("ann@example.org", "17", "007", "2001:db8::1", "::ffff:10.1.2.3", " Ame\u0301lie ", "")
LANDS = ("DE", "FR", "US", "de")
RECORDS = Records(
    [one for one in USERS for _ in LANDS],
    {"country": [land for _ in USERS for land in LANDS], "age": [str(9 * i) for i in range(len(USERS) * len(LANDS))]},
)


def golden(name: str) -> tuple[Saved, dict[str, Any]]:
    facts = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
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


def test_everything_that_came_with_hashed_ids_has_a_setup() -> None:
    assert (
        sorted(
            [
                "tiers",
                "expect",
                "ipv6",
                "rotating",
                "panel",
                "periods",
                "half-life",
                "flipped",
                "where",
                "groups",
                "daily",
            ]
        )
        == NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_setup_means_the_same_and_is_written_as_it_was(name: str) -> None:
    saved, facts = golden(name)
    setup = load_setup(saved)
    assert save_setup(setup) == saved
    assert entries_bytes(saved.header) == facts["bytes"]
    for key in ("epsilon", "state_epsilon", "noise_scale", "eta"):
        assert getattr(setup.calibration, key) == Fraction(facts[key])
    assert_close(json.loads(json.dumps(facts_of(setup))), facts)


@pytest.mark.parametrize("name", NAMES)
def test_a_setup_with_something_unknown_is_refused(name: str) -> None:
    saved, _ = golden(name)
    for old, new in ((b'{"universe"', b'{"more":1,"universe"'), (b'"sample"', b'"more":1,"sample"')):
        assert old in saved.header
        with pytest.raises(ValueError, match="more"):
            load_setup(Saved(saved.header.replace(old, new)))
