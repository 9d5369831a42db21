"""Events in compositions and files: never a loss that its event does not have."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.composition import Group, Parallel, PostProcessed, Sequential, Step, loss_of
from panbayes.privacy.events import (
    MAX_EVENT_DIGITS,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    OneRadius,
    Selection,
    Together,
    event_from_json,
    event_to_json,
)
from panbayes.privacy.statement import PrivacyStatement
from panbayes.privacy.written import MAX_DIGITS

short = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)
# What becomes of the longest losses when they are divided, and squared.
long = st.builds(Fraction, *[st.integers(1, 10 ** (2 * MAX_DIGITS + 20))] * 2)
ratios = short | long
simple: st.SearchStrategy[Event] = st.one_of(
    st.builds(DiscreteLaplace, ratios, st.integers(1, 100)),
    st.builds(DiscreteGaussian, ratios, st.integers(1, 100)),
    st.builds(OneRadius, ratios, st.integers(1, 100)),
    st.builds(Selection, st.sampled_from(["permute-and-flip", "exponential"]), ratios),
)
events = simple | st.builds(Together, st.lists(simple, min_size=1, max_size=3).map(tuple), st.integers(1, 9))

LAPLACE = DiscreteLaplace(Fraction(4), 2)
TABLE = Step.of("a table", LAPLACE, loss=Pure(Fraction(1, 2)))
CHOICE = Step.of("a choice", Selection("exponential", Fraction(1, 4)), loss=Pure(Fraction(1, 2)))


@given(events)
def test_what_is_written_is_read(event: Event) -> None:
    assert event_from_json(json.loads(json.dumps(event_to_json(event))), argument="x") == event


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"laplace": "0", "l1": 2},
        {"laplace": "1", "l1": 0},
        {"laplace": "1", "l1": 2, "more": 1},
        {"laplace": "1/0", "l1": 2},
        {"laplace": "1" * (MAX_EVENT_DIGITS + 1), "l1": 2},
        {"gaussian": "1", "l2_squared": -1},
        {"gaussian": "1", "l2_squared": 0},
        {"gaussian": "1", "l2_squared": 2, "more": 1},
        {"one_radius": "0", "l1": 2},
        {"one_radius": "1", "l1": 0},
        {"one_radius": "1", "l1": -1},
        {"one_radius": "1", "l1": "2"},
        {"one_radius": "1"},
        {"one_radius": "1", "l1": 2, "more": 1},
        {"one_radius": "1", "laplace": "1", "l1": 2},
        {"selection": "exponential", "epsilon_squared": "1", "more": 1},
        {"selection": "best", "epsilon_squared": "1"},
        {"together": [], "times": 1},
        {"together": [{"laplace": "1", "l1": 1}], "times": 0},
        {"together": [{"laplace": "1", "l1": 1}], "times": 1, "more": 1},
        {"together": [1], "times": 1},
        {"together": [None], "times": 1},
        {"together": ["together"], "times": 1},
        {"together": [{"together": [{"laplace": "1", "l1": 1}], "times": 1}], "times": 1},
        {"together": [{"laplace": "1", "l1": 1}, {"together": [{"laplace": "1", "l1": 1}], "times": 1}], "times": 1},
    ],
)
def test_unknown_and_damaged_events_are_refused(data: object) -> None:
    with pytest.raises(InputError, match=r"x: found an event of an unknown kind|x: found a damaged event"):
        event_from_json(data, argument="x")


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(-1)])
def test_noise_of_no_size_is_no_event(bad: Fraction) -> None:
    for build in (
        lambda: DiscreteLaplace(bad, 1),
        lambda: DiscreteLaplace(Fraction(1), int(bad)),
        lambda: DiscreteGaussian(bad, 1),
        lambda: DiscreteGaussian(Fraction(1), int(bad)),
        lambda: OneRadius(bad, 1),
        lambda: OneRadius(Fraction(1), int(bad)),
        lambda: Selection("exponential", bad),
    ):
        with pytest.raises(ValueError, match="must be positive"):
            build()


def test_the_parameters_of_an_event_are_exact() -> None:
    for build in (
        lambda: DiscreteLaplace(cast(Fraction, 0.1), 1),
        lambda: DiscreteLaplace(Fraction(1), cast(int, 1.5)),
        lambda: DiscreteGaussian(cast(Fraction, 0.1), 1),
        lambda: DiscreteGaussian(Fraction(1), cast(int, 1.5)),
        lambda: OneRadius(cast(Fraction, 0.1), 1),
        lambda: OneRadius(Fraction(1), cast(int, 1.5)),
        lambda: Selection("exponential", cast(Fraction, 0.1)),
    ):
        with pytest.raises(TypeError, match="must be of type"):
            build()


def test_noise_of_one_radius_is_not_taken_for_laplace_noise() -> None:
    """They lose the same by their parameters, which mean something else."""
    radius, laplace = OneRadius(Fraction(4), 2), DiscreteLaplace(Fraction(4), 2)
    assert event_to_json(radius) == {"one_radius": "4", "l1": 2}
    assert event_from_json({"one_radius": "4", "l1": 2}, argument="x") == radius
    assert event_from_json({"laplace": "4", "l1": 2}, argument="x") != radius
    assert Together((laplace, radius)).mechanism == "discrete Laplace, noise of one radius"
    assert Step.of("tables", radius, loss=Pure(Fraction(1, 2))).mechanism == "noise of one radius"
    with pytest.raises(ValueError, match="does not describe its event"):
        Step.of("tables", radius, loss=Pure(Fraction(49, 100)))


def test_events_together_are_some_and_happened() -> None:
    for events, times in (((), 1), ((LAPLACE,), 0), ((LAPLACE,), -1), ((), 0)):
        with pytest.raises(ValueError, match="at least one, at least once"):
            Together(events, times)


def test_events_together_name_each_mechanism_once() -> None:
    gaussian, choice = DiscreteGaussian(Fraction(1), 1), Selection("permute-and-flip", Fraction(1))
    assert Together((LAPLACE,), 5).mechanism == "discrete Laplace"
    assert Together((LAPLACE, choice, LAPLACE, gaussian)).mechanism == (
        "discrete Laplace, permute-and-flip, discrete Gaussian"
    )


def test_a_step_cannot_say_less_than_its_event_loses() -> None:
    with pytest.raises(ValueError, match="does not describe its event"):
        Step.of("a table", LAPLACE, loss=Pure(Fraction(49, 100)))
    with pytest.raises(ValueError, match="does not describe its event"):
        Step("a table", "discrete Gaussian", Pure(Fraction(1)), LAPLACE)
    with pytest.raises(ValueError, match="does not describe its event"):
        Step.of("a table", DiscreteGaussian(Fraction(1), 1), loss=Pure(Fraction(1)))
    assert Step.of("a table", LAPLACE, loss=Pure(Fraction(1))).loss == Pure(Fraction(1))


def test_the_same_events_under_another_class() -> None:
    whole = PostProcessed(Parallel((Sequential((TABLE, CHOICE)), TABLE), "replace", separate=True), "learning")
    assert loss_of(whole) == Pure(Fraction(1))
    rho = ZeroConcentrated(Fraction(0))
    assert loss_of(whole, measure=rho) == ZeroConcentrated(Fraction(1, 8) + Fraction(1, 32))
    assert loss_of(Group(TABLE, 3), measure=rho) == ZeroConcentrated(Fraction(9, 8))
    gaussian = Step.of("a table", DiscreteGaussian(Fraction(50), 2), loss=ZeroConcentrated(Fraction(1, 50)))
    with pytest.raises(InputError, match="discrete Gaussian has no pure differential privacy"):
        loss_of(gaussian, measure=Pure(Fraction(0)))
    old = Step("a table", "discrete Laplace", Pure(Fraction(1, 2)))
    assert loss_of(old, measure=rho) == ZeroConcentrated(Fraction(1, 8))


def test_a_statement_keeps_its_events_and_notices_a_forged_one() -> None:
    statement = PrivacyStatement("record", "replace", Sequential((TABLE, CHOICE)))
    data = json.loads(json.dumps(statement.to_json()))
    assert PrivacyStatement.from_json(data, argument="x") == statement
    assert statement.loss_as("zcdp") == ZeroConcentrated(Fraction(1, 8) + Fraction(1, 32))
    with pytest.raises(InputError, match=r"^tag: found .renyi.; known: pure, zcdp"):
        statement.loss_as("renyi")
    data["composition"]["sequential"][0]["event"]["laplace"] = "3"
    with pytest.raises(InputError, match="does not describe its event"):
        PrivacyStatement.from_json(data, argument="x")


def test_rho_is_exact_and_not_negative() -> None:
    assert ZeroConcentrated(Fraction(0)).rho == 0
    with pytest.raises(ValueError, match="rho cannot be negative, found -1/2"):
        ZeroConcentrated(Fraction(-1, 2))
    with pytest.raises(TypeError, match="rho must be a Fraction, found float"):
        ZeroConcentrated(cast(Fraction, 0.5))
