"""A statement in a file: every node comes back as it was, and what panbayes did not write is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest

from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.composition import Composition, Group, Parallel, PostProcessed, Sequential, Step
from panbayes.privacy.events import DiscreteLaplace, Selection
from panbayes.privacy.statement import (
    MAX_DEPTH,
    PrivacyStatement,
    composition_from_json,
    composition_to_json,
)

BARE = Step("counts of age", "discrete Laplace", Pure(Fraction(1, 2)))
KEPT = Step.of("counts of sex", DiscreteLaplace(Fraction(6), 2), loss=Pure(Fraction(1, 3)))
RHO = Step("a choice", "exponential mechanism", ZeroConcentrated(Fraction(1, 8)))
CHOICE = Step.of("a choice", Selection("exponential", Fraction(1)), loss=ZeroConcentrated(Fraction(1, 8)))

NODES: list[Composition] = [
    BARE,
    KEPT,
    CHOICE,
    Sequential(()),
    Sequential((BARE, KEPT)),
    Parallel((BARE,), "add-remove"),
    Parallel((BARE, KEPT, RHO), "replace", separate=True),
    Parallel((KEPT, BARE), "add-remove", separate=True),
    Group(KEPT, 1),
    Group(BARE, 3),
    PostProcessed(KEPT, "learning"),
    PostProcessed(Parallel((Sequential((Group(KEPT, 2), BARE)), CHOICE), "replace", separate=True), "learning"),
]


def through_a_file(value: object) -> object:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_every_node_comes_back_as_it_was(node: Composition) -> None:
    assert composition_from_json(through_a_file(composition_to_json(node)), argument="x") == node
    whole = PrivacyStatement("person", "add-remove", node, ("a", "b"), ("c",), {"z": "1", "a": "2"}, private=False)
    assert PrivacyStatement.from_json(through_a_file(whole.to_json()), argument="x") == whole


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_a_node_with_more_or_less_in_it_is_refused(node: Composition) -> None:
    """Whatever a newer version may add could change what was spent: it is not read over."""
    data = composition_to_json(node)
    with pytest.raises(InputError, match=r"^x: found a composition that cannot be right"):
        composition_from_json({**data, "more": 1}, argument="x")
    for key in data:
        if key != "event":  # a step without one is what the first files hold
            with pytest.raises(InputError, match=r"^x: found a composition that cannot be right"):
                composition_from_json({name: value for name, value in data.items() if name != key}, argument="x")


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"group": composition_to_json(BARE), "size": 0},
        {"group": composition_to_json(BARE), "size": -1},
        {"group": composition_to_json(BARE), "size": "2"},
        {"parallel": [], "adjacency": "add-remove", "separate": True},
        {"parallel": [composition_to_json(BARE)], "adjacency": "swap", "separate": True},
        {"parallel": [composition_to_json(BARE)], "adjacency": "add-remove", "separate": 1},
        {"sequential": composition_to_json(BARE)},
        {"post_processed": composition_to_json(BARE), "how": 1},
        {"sequential": [{"group": composition_to_json(BARE), "size": 0}]},
    ],
)
def test_a_damaged_node_is_refused(data: object) -> None:
    with pytest.raises(InputError, match=r"^x: found a composition that cannot be right"):
        composition_from_json(data, argument="x")


def test_the_unsound_combination_cannot_be_read_either() -> None:
    with pytest.raises(InputError, match="replace-one adjacency over the union"):
        composition_from_json(
            {"parallel": [composition_to_json(BARE)], "adjacency": "replace", "separate": False}, argument="x"
        )


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: {"group": inner, "size": 1},
        lambda inner: {"sequential": [inner]},
        lambda inner: {"parallel": [inner], "adjacency": "add-remove", "separate": False},
        lambda inner: {"post_processed": inner, "how": "y"},
    ],
)
def test_a_composition_may_be_as_deep_as_stated_and_no_deeper(around: Callable[[object], dict[str, object]]) -> None:
    data = composition_to_json(BARE)
    for _ in range(MAX_DEPTH):
        data = around(data)
    assert composition_to_json(composition_from_json(data, argument="x")) == data
    with pytest.raises(InputError, match=r"^x: found a composition that cannot be right"):
        composition_from_json(around(data), argument="x")


def test_a_statement_with_more_or_less_in_it_is_refused() -> None:
    data = PrivacyStatement("record", "replace", BARE).to_json()
    damaged: list[object] = [None, [], list(data), {**data, "more": 1}]
    damaged += [{name: value for name, value in data.items() if name != key} for key in data]
    for found in damaged:
        with pytest.raises(InputError, match=r"^x: found a statement that cannot be right"):
            PrivacyStatement.from_json(found, argument="x")


def test_the_lines_say_what_a_group_comes_to_and_that_nothing_was_public() -> None:
    made = PrivacyStatement("person", "add-remove", Group(Sequential((BARE, KEPT)), 3), versions={"z": "1", "a": "2"})
    assert made.lines() == [
        "Guarantee: ε = 2.5 (pure differential privacy)",
        "Protects: adding or removing one person; the number of persons is private",
        "Spent on:",
        "  3 records per person, so ε = 2.5 in all:",
        "    counts of age: ε = 0.5, discrete Laplace",
        "    counts of sex: ε = 0.333333 (1/3), discrete Laplace",
        "Taken as public: nothing else",
        "Made with: a 2, z 1",
    ]
    assert json.dumps(made.to_json()["versions"]) == '{"a": "2", "z": "1"}'
    assert repr(made) == "\n".join(made.lines())
    for line in made.lines():
        assert line.partition(": ")[2] in made._repr_html_()
