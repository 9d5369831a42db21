"""Intervals, what was unseen, and what is said of them."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from panbayes.bayesnet.inference.engine import Engine
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.results import Posterior
from panbayes.bayesnet.uncertainty import doubt as doubt_module
from panbayes.bayesnet.uncertainty import spread as spread_module
from panbayes.bayesnet.uncertainty.bounds import remarks
from panbayes.bayesnet.uncertainty.intervals import around, log_odds, mean_limits, perhaps_never
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.bayesnet.uncertainty.residual import pair_variance, question_variance
from panbayes.bayesnet.uncertainty.unseen import Unseen
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from tests.bayesnet.uncertainty.made import network, replicates

REACH = 1.645


def test_each_side_has_its_own_spread_on_the_log_odds() -> None:
    centre, steps = 0.3, np.array([0.4, -0.1, 0.2, -0.3])
    odds = math.log(centre / (1 - centre))
    answers = [np.array([1 / (1 + math.exp(-(odds + step)))]) for step in steps]
    low, high = around(np.array([centre]), answers, np.array([0.05])) or (np.zeros(1), np.zeros(1))
    up = REACH * math.sqrt(1.1**2 * 2 * (0.4**2 + 0.2**2) / 4 + 0.05)
    down = REACH * math.sqrt(1.1**2 * 2 * (0.1**2 + 0.3**2) / 4 + 0.05)
    assert high[0] == pytest.approx(max(1 / (1 + math.exp(-odds - up)), centre + up * 0.21))
    assert low[0] == pytest.approx(min(1 / (1 + math.exp(-odds + down)), centre - down * 0.21))
    assert around(np.array([centre]), [], np.array([0.05])) is None


def test_what_cannot_be_told_from_zero_or_one_reaches_it() -> None:
    published = np.array([1e-4, 1 - 1e-4])
    low, high = around(published, [published], np.array([0.5, 0.5])) or (published, published)
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert high[0] < 4e-4
    sure = around(published, [published], np.zeros(2)) or (low, high)
    assert np.allclose(sure[0], published)
    assert np.allclose(sure[1], published)


def test_limits_of_a_mean() -> None:
    low, high = mean_limits(10.0, [10.5, 9.0], 0.3, np.array([0.0, 50.0, 20.0]))
    assert high - 10 == pytest.approx(REACH * math.sqrt(1.1**2 * (0.25 + 1) / 2 + 0.09))
    assert 10 - low == pytest.approx(high - 10)
    assert mean_limits(10.0, [10.5, 9.0], 0.3, np.array([9.5, 10.2, 9.9])) == (9.5, 10.2), "no mean lies beyond"


def test_what_is_hardly_any_of_what_independence_says_may_be_never_or_always() -> None:
    published, independent = np.array([0.0039, 0.0041, 0.9961, 0.9959]), np.array([0.2, 0.2, 0.8, 0.8])
    low, high = perhaps_never((published * 0.99, published * 1.001), published, independent)
    assert (low == 0).tolist() == [True, False, False, False]
    assert (high == 1).tolist() == [False, False, True, False]
    assert low[1:] == pytest.approx(published[1:] * 0.99)
    assert np.delete(high, 2) == pytest.approx(np.delete(published, 2) * 1.001)


def test_log_odds_of_certainty_are_finite() -> None:
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


def test_more_noise_fewer_records_and_more_cells_hide_more() -> None:
    base = Unseen(20_000, 50.0)
    assert base.deviation(9) == pytest.approx(0.4 * 4.5 / math.sqrt(20_000) + 3.2 * 3 * 50 / 20_000)
    assert base.deviation(10**6) == base.deviation(67)  # finer tables than 6σ a cell were not worth it
    assert Unseen(20_000, 5000.0).deviation(100) == Unseen(20_000, 5000.0).deviation(4)
    assert Unseen(20_000, 50.0, passed=0.5).deviation(9) == pytest.approx(0.5 + base.deviation(9))
    for bad in ((0.0, 1.0, 0.0), (math.nan, 1.0, 0.0), (10.0, -1.0, 0.0), (10.0, 1.0, math.inf)):
        with pytest.raises(InputError):
            Unseen(*bad)


def test_a_question_adds_up_its_pairs() -> None:
    found = replicates()
    made = network(found)

    def pairs(one: int, other: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return made.engine.posterior((one, other), {})

    alone = pair_variance(found, pairs, 3, 0)[:, 2]
    assert question_variance(found, pairs, (3,), {0: 2}).tolist() == alone.tolist()
    both = question_variance(found, pairs, (3,), {0: 2, 1: 1})
    np.testing.assert_allclose(both, 1.5 * (alone + pair_variance(found, pairs, 3, 1)[:, 1]))
    joint = question_variance(found, pairs, (3, 1), {0: 2})
    np.testing.assert_allclose(
        joint,
        1.5 * (alone[:, None] + pair_variance(found, pairs, 1, 0)[:, 2] + pair_variance(found, pairs, 3, 1)),
    )
    assert question_variance(found, pairs, (3,), {}).tolist() == [0.0, 0.0]


def test_what_is_unseen_is_shared_out_and_groups_differ_as_far_as_attributes_depend() -> None:
    found = replicates()
    joint = np.array([[0.2, 0.1, 0.05], [0.1, 0.05, 0.1], [0.05, 0.15, 0.1], [0.02, 0.05, 0.03]])
    unseen = Unseen(10_000, 40.0).deviation(12) * joint**-0.25 / (joint**0.75).sum()
    assert (joint * unseen).sum() == pytest.approx(Unseen(10_000, 40.0).deviation(12))
    apart = (joint * np.log(joint / np.outer(joint.sum(1), joint.sum(0))) ** 2).sum()
    grouped = found.grouped[0][:, None] * np.ones(3)  # of the second attribute every value was measured by itself
    assert 0 < grouped.sum() < 12
    assert not found.grouped[1].any()
    # A table holds both attributes: only a part of what is unseen counts.
    np.testing.assert_allclose(pair_variance(found, lambda *_: joint, 0, 1), (0.7 * unseen) ** 2 + apart * grouped)
    np.testing.assert_allclose(
        pair_variance(found, lambda *_: joint.T, 1, 0), ((0.7 * unseen) ** 2 + apart * grouped).T
    )
    five = np.full((2, 5), 0.1)
    unseen = Unseen(10_000, 40.0).deviation(10) * five**-0.25 / (five**0.75).sum()
    np.testing.assert_allclose(pair_variance(found, lambda *_: five, 3, 2), unseen**2)
    far = replace(found, unseen=Unseen(10.0, 1000.0))
    assert pair_variance(far, lambda *_: five, 3, 2).tolist() == [[4.0] * 5] * 2


def test_answers_have_intervals_and_say_what_widens_them() -> None:
    made = network(replicates(draws=24))
    answer = made.posterior("b", {"a": "q"})
    assert answer.low is not None
    assert answer.high is not None
    assert (answer.low < answer.probabilities).all()
    assert (answer.probabilities < answer.high).all()
    assert answer.interval("y") == (float(answer.low[1]), float(answer.high[1]))
    assert answer.remarks == (
        "a: its 4 values were measured in 3 groups; inside a group they are told apart by their own frequencies alone, "
        "and intervals are wider.",
    )
    assert "90 % interval" in repr(answer)
    assert "measured in 3 groups" in repr(answer)
    assert made.posterior("c", {"b": "x"}).remarks == (
        "c: in no measured table that says how attributes go together; intervals allow for what that hides.",
    )
    assert made.posterior("a").remarks == ()
    certain = made.posterior(["a", "b"], {"a": "q"})
    assert certain.low is not None
    assert (certain.low[0] == 0).all()
    assert certain.low[1].tolist() == pytest.approx(answer.low.tolist())


@pytest.mark.parametrize(
    ("many", "named"), [(1, "v0"), (5, "v0, v1, v2, v3, v4"), (7, "v0, v1, v2, v3, v4 and 2 more")]
)
def test_attributes_of_which_nothing_more_is_known_are_named_in_one_line(many: int, named: str) -> None:
    schema = Schema("many", tuple(Attribute(f"v{i}", categories=("x", "y")) for i in range(many)))
    apart = cast(Replicates, SimpleNamespace(groups=[np.zeros(2, dtype=np.int64)] * many, unseen=None))
    (line,) = remarks(schema, apart, range(many), known=True)
    assert line.startswith(f"{named}: in no measured table")
    assert remarks(schema, apart, [0], known=True, alone=True) == ()


def test_all_ways_to_ask_agree() -> None:
    made = network(replicates(draws=24))
    evidence = {"a": "q", "c": "no"}
    intervals = made.intervals(evidence)
    assert intervals is not None
    for name in ("b", "age"):
        answer = made.posterior(name, evidence)
        assert answer.low is not None
        assert answer.high is not None
        np.testing.assert_allclose(intervals[name][:, 0], answer.low, atol=1e-12)
        np.testing.assert_allclose(intervals[name][:, 1], answer.high, atol=1e-12)
    assert intervals["a"][1].tolist() == [1.0, 1.0]
    records = made.sample_table(50, seed=1)
    found = made.classify_table(records, "b")
    assert found.low is not None
    assert found.high is not None
    surest = int(found.low.max(axis=1).argmax())
    assert 0 < found.low[surest].max() < found.high[surest].max() < 1
    given = {
        attribute.name: attribute.labels[code]
        for attribute, code in zip(made.schema.attributes, records.codes[:, surest].tolist(), strict=True)
        if attribute.name != "b"
    }
    alone = made.posterior("b", given)
    assert alone.low is not None
    assert alone.high is not None
    np.testing.assert_allclose(found.low[surest], alone.low, atol=1e-9)
    np.testing.assert_allclose(found.high[surest], alone.high, atol=1e-9)
    frame = made.classify(records, "b")
    assert frame.columns == ["predicted", "probability", "low", "high"]
    assert ((frame["low"] <= frame["probability"]) & (frame["probability"] <= frame["high"])).all()
    kept = copy.deepcopy(alone)  # as pickle does, with the intervals and without the network
    assert kept.low is not None
    assert kept.low.tolist() == alone.low.tolist()
    assert len(pickle.dumps(alone)) < 5000


def test_means_have_intervals() -> None:
    made = network(replicates(draws=24))
    law = made.posteriors({"b": "x"})["age"][:4]
    middle = np.array([10.0, 30.0, 50.0, 70.0])
    found = made.expectation("age", {"b": "x"})
    assert found.mean == pytest.approx(float(law @ middle / law.sum()))
    assert found.interval is not None
    assert found.interval[0] < found.mean < found.interval[1]
    alone = made.expectation("age").interval
    assert alone is not None
    assert alone[1] - alone[0] < found.interval[1] - found.interval[0]
    with pytest.raises(InputError, match=r'name: "b" is not numeric'):
        made.expectation("b")


def test_the_mean_of_what_is_given_is_certain_and_what_has_no_number_says_so() -> None:
    made = network(replicates())
    known = made.expectation("age", {"age": 30, "b": "x"})
    assert (known.mean, known.interval) == (30.0, (30.0, 30.0))
    assert made.expectation("age", {"age": 30}).interval == (30.0, 30.0)
    with pytest.raises(InputError, match=r'name: "age" has no number here: all its values are "other" or "missing"'):
        made.expectation("age", {"age": "missing"})


TOO_MANY = ("No error is known: these attributes together are too many to say.",)


def test_records_whose_replicates_are_too_large_are_classified_without_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spread_module, "MOST_CELLS", 5)
    made = network(replicates())
    records = made.sample_table(3, seed=1)
    found = made.classify_table(records, "a")
    assert found.low is None
    assert found.high is None
    assert found.remarks == TOO_MANY
    assert made.classify(records, "a").columns == ["predicted", "probability"]


def test_an_answer_stands_where_a_pair_is_too_large_to_say_how_wrong_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = network(replicates()).posterior("age", {"a": "q"})
    assert whole.low is not None
    narrow, small = network(replicates()), network(replicates())
    vars(narrow)["engine"] = Engine(narrow.structure, narrow.schema.sizes, narrow.tables, 19)
    without_an_error_of_age_and_a(narrow, whole)
    monkeypatch.setattr(doubt_module, "MOST_CELLS", 19)
    without_an_error_of_age_and_a(small, whole)
    assert small.posterior(["a", "b"]).low is not None
    assert small.posterior(["a", "b", "c"]).remarks == TOO_MANY


def without_an_error_of_age_and_a(made: Network, whole: Posterior) -> None:
    """Ask about the pair of 20 cells, and about one of 12."""
    answer = made.posterior("age", {"a": "q"})
    np.testing.assert_allclose(answer.probabilities, whole.probabilities)
    assert answer.low is None
    assert answer.remarks == TOO_MANY
    assert made.intervals({"a": "q"}) is None
    assert made.expectation("age", {"a": "q"}).interval is None
    assert made.classify_table(made.sample_table(2, seed=1), "age").low is None
    assert made.posterior("a", {"b": "x"}).low is not None


def test_networks_without_replicates_say_that_no_error_is_known() -> None:
    made = Network.example()
    answer = made.posterior("rain")
    assert answer.low is None
    assert answer.high is None
    assert answer.interval("yes") is None
    assert answer.remarks == ("No error is known: the model does not keep what its measurements would also allow.",)
    assert "interval" not in repr(answer)
    assert made.intervals() is None
    assert made.classify(made.sample_table(2, seed=1), "rain").columns == ["predicted", "probability"]


def test_where_nobody_looked_at_dependencies_only_single_attributes_have_an_error() -> None:
    made = network(replace(replicates(), unseen=None))
    assert made.posterior("b").low is not None
    for answer in (made.posterior("b", {"a": "q"}), made.posterior(["a", "b"])):
        assert answer.low is None
        assert answer.remarks == ("No error is known: nobody looked at how attributes depend on each other.",)
        assert repr(answer).endswith(f"\n{answer.remarks[0]}")
    assert made.intervals() is not None
    assert made.intervals({"a": "q"}) is None
    assert made.expectation("age").interval is not None
    assert made.expectation("age", {"a": "q"}).interval is None
    assert made.classify_table(made.sample_table(2, seed=1), "a").low is None
