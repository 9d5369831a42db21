"""Visits, returning users and means by period: every turn starts anew, and E is for a user and a period."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from panbayes.stream.panel_estimate import PanelEstimate
from panbayes.stream.portfolio import portfolio
from panbayes.stream.saved_setup import load_setup, save_setup
from panbayes.stream.setup import configure
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.statistic import Answer, SampledStatistic
from panbayes.stream.statistics.methods.visits import Visits
from panbayes.stream.statistics.registry import read_statistic, sampled
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import Window
from panbayes.stream.visits_estimate import VisitsEstimate

ANEW = Window(anew=True)


def test_visits_of_a_period_are_its_own(tmp_path: Path) -> None:
    with StreamEstimator.create(tmp_path / "s", 4000, Visits(3), epsilon=40, window=ANEW) as stream:
        shares: list[tuple[float, ...]] = []
        for visits in (2, 1, 0):
            for _ in range(visits):
                stream.update(np.arange(3000))
            answer = stream.estimate()
            assert isinstance(answer, VisitsEstimate)
            assert (answer.fresh, answer.releases_left) == (True, 0)
            assert "a user and a period" in repr(answer)
            assert str(answer.facts()["scope"]).startswith("a user and a period")
            shares.append(tuple(one.share for one in answer.exactly))
            stream.turn()
        assert stream.turns == 3
    for found, expected in zip(shares, [(0.25, 0, 0.75, 0), (0.25, 0.75, 0, 0), (1, 0, 0, 0)], strict=True):
        assert found == pytest.approx(expected, abs=0.05)
    assert portfolio([tmp_path / "s"]).total == 4 * 40


@pytest.mark.parametrize("name", ["visits", "returning", "cropped-mean"])
def test_a_turn_draws_counters_and_panels_from_the_initial_law(name: str, tmp_path: Path) -> None:
    """After a turn the counts are those of a new state, whatever was fed: within eight deviations of its mean."""
    most = None if name == "returning" else 5
    wanted: SampledStatistic[Answer] = sampled(read_statistic(name, most))
    setup = configure(20_000, statistic=wanted, epsilon=1, releases=1, window=ANEW)
    assert load_setup(save_setup(setup)) == setup
    StreamEstimator[Answer].start(tmp_path / "s", setup).close()
    with StreamEstimator[Answer].open(tmp_path / "s") as stream:
        for _ in range(9):
            stream.update(np.arange(20_000))
        stream.turn()
    StreamEstimator[Answer].start(tmp_path / "new", setup).close()
    found, expected = counts(tmp_path / "s"), counts(tmp_path / "new")
    for one, other in zip(found, expected, strict=True):
        assert abs(one - other) < 8 * np.sqrt(2 * 20_000 / 4)
    assert inspect_state(tmp_path / "s").turns == 1
    with StreamEstimator[Answer].open(tmp_path / "s", writing=False) as stream:
        answer = stream.estimate()
        if isinstance(answer, PanelEstimate):
            assert "a user and a period" in repr(answer)


def counts(path: Path) -> tuple[int, ...]:
    """The counts of a state before their noise, for a test alone."""
    seen: list[tuple[int, ...]] = []

    def look(count: ReleaseCount, entries: Entries) -> ReleaseCount:
        seen.append(entries.counts())
        return count

    store = StateFile(path, writing=True)
    store.transact(look)
    store.close()
    return seen[0]
