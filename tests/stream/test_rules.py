"""Filters and the clock as arguments of every estimator: they are in the setup, and bare ids are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from panbayes import DensityEstimator, DistinctCounter, StreamEstimator, Visits
from panbayes.errors import InputError
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.where import describe
from panbayes.stream.private_stream import PrivateStream

WHERE = ("kind=buy", "price>=10")

MAKERS: dict[str, Callable[[Path], PrivateStream]] = {
    "density": lambda _: DensityEstimator(100, epsilon=40, where=WHERE, at="daily"),
    "density in a file": lambda path: DensityEstimator.create(path, 100, epsilon=40, where=WHERE, at="daily"),
    "distinct": lambda _: DistinctCounter(epsilon=40, expect=100, where=WHERE, at="daily"),
    "distinct in a file": lambda path: DistinctCounter.create(path, epsilon=40, expect=100, where=WHERE, at="daily"),
    "visits": lambda _: StreamEstimator(100, Visits(3), epsilon=40, where=WHERE, at="daily"),
    "visits in a file": lambda path: StreamEstimator.create(path, 100, Visits(3), epsilon=40, where=WHERE, at="daily"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_rules_are_in_the_setup(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panbayes.stream.schedule.time.time", lambda: 20_000.5 * 86_400)  # noon
    with MAKERS[kind](tmp_path / "s") as stream:
        assert describe(stream.setup.where) == "kind=buy and price>=10"
        assert stream.setup.schedule is not None
        assert stream.setup.schedule.name == "daily"
        due = stream.due()
        assert due is not None
        assert not due.now
        stream.update(Records([1, 2], {"kind": ["buy", "look"], "price": [20, None]}))
        with pytest.raises(InputError, match="looks at kind and price"):
            stream.update([1, 2])


def test_one_condition_may_be_one_text_and_only_its_records_count() -> None:
    with DensityEstimator(4_000, epsilon=40, where="kind=buy") as stream:
        stream.update(Records(range(4_000), {"kind": ["buy", "look", "buy", None] * 1_000}))
        assert stream.estimate().density == pytest.approx(0.5, abs=0.01)


def test_rules_are_named_as_arguments() -> None:
    with pytest.raises(InputError, match=r"^where: found 'kind'"):
        DistinctCounter(epsilon=1, where="kind")
    with pytest.raises(InputError, match=r"^at: found 'noon'"):
        DistinctCounter(epsilon=1, at="noon")
