"""What never happens: the fitted law has bounds, so it says that it hardly ever does, and intervals reach zero."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from panbayes import Attribute, Network, Schema, learn
from panbayes.bayesnet.results import Posterior

RECORDS = 100_000
SCHEMA = Schema(
    "clinic",
    (
        Attribute("sex", categories=("F", "M")),
        Attribute("pregnant", categories=("no", "yes")),
        *(Attribute(f"v{i}", categories=("1", "2", "3")) for i in range(6)),
    ),
)
"""Too many cells for blocks of all pairs to be exact: choices and a fit decide."""


@pytest.fixture(scope="module")
def learned() -> Network:
    """Nobody of sex M is pregnant, three in ten of the others are."""
    rng = np.random.default_rng(0)
    male = rng.integers(0, 2, RECORDS)
    pregnant = (male == 0) & (rng.random(RECORDS) < 0.3)
    shared = rng.integers(0, 3, RECORDS)
    frame = {"sex": np.array(["F", "M"])[male], "pregnant": np.array(["no", "yes"])[pregnant.astype(int)]}
    for i in range(6):
        other = rng.integers(0, 3, RECORDS)
        frame[f"v{i}"] = np.array(["1", "2", "3"])[np.where(rng.random(RECORDS) < 0.5, shared, other)]
    return learn(pl.DataFrame(frame), SCHEMA, epsilon=1, simulate=0)


def ends(answer: Posterior, value: str) -> tuple[float, float]:
    found = answer.interval(value)
    assert found is not None
    return found


def test_every_way_to_ask_reaches_zero_and_certainty(learned: Network) -> None:
    answer = learned.posterior("pregnant", {"sex": "M"})
    assert 1e-4 < answer["yes"] < 1e-3
    assert ends(answer, "yes")[0] == 0
    assert ends(answer, "no")[1] == 1
    assert ends(answer, "yes")[1] < 0.002
    both = learned.posterior(["pregnant", "sex"])
    assert both.low is not None
    assert both.low[1, 1] == 0
    assert (np.delete(both.low.ravel(), 3) > 0.01).all()
    limits = learned.intervals({"sex": "M"})
    assert limits is not None
    assert limits["pregnant"][1, 0] == 0
    assert limits["pregnant"][0, 1] == 1
    records = pl.DataFrame({"sex": ["M", "F"], **{f"v{i}": ["1", "1"] for i in range(6)}})
    found = learned.classify(records, "pregnant")
    assert found["high"][0] == 1
    assert found["low"][0] > 0.9


def test_what_happens_does_not_reach_zero(learned: Network) -> None:
    answer = learned.posterior("pregnant", {"sex": "F"})
    low, high = ends(answer, "yes")
    assert 0.25 < low <= answer["yes"] <= high < 0.35
    alone = ends(learned.posterior("pregnant"), "yes")
    assert 0.13 < alone[0] < alone[1] < 0.17
