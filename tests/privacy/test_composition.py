from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.composition import (
    Composition,
    Group,
    Parallel,
    PostProcessed,
    Sequential,
    Step,
    loss_of,
)
from panbayes.privacy.statement import PrivacyStatement

half = Step("counts of age", "discrete Laplace", Pure(Fraction(1, 2)))
third = Step("choice of parents", "permute-and-flip", Pure(Fraction(1, 3)))

releases = st.builds(
    Step,
    st.text(max_size=5),
    st.sampled_from(["discrete Laplace", "exponential"]),
    st.builds(Pure, st.fractions(min_value=0, max_value=9, max_denominator=1000)),
)
trees: st.SearchStrategy[Composition] = st.recursive(
    releases,
    lambda inner: st.one_of(
        st.builds(Sequential, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Group, inner, st.integers(1, 5)),
        st.builds(PostProcessed, inner, st.text(max_size=5)),
        st.builds(
            Parallel, st.lists(inner, min_size=1, max_size=3).map(tuple), st.just("replace"), separate=st.just(True)
        ),
    ),
    max_leaves=8,
)


def statement(composition: Composition, *, private: bool = True) -> PrivacyStatement:
    return PrivacyStatement("record", "replace", composition, ("the schema",), ("a note",), {"panbayes": "0"}, private)


def test_each_rule() -> None:
    assert loss_of(Sequential((half, third))) == Pure(Fraction(5, 6))
    assert loss_of(Parallel((half, third), "add-remove")) == Pure(Fraction(1, 2))
    assert loss_of(Group(half, 3)) == Pure(Fraction(3, 2))
    assert loss_of(PostProcessed(half, "sampling")) == Pure(Fraction(1, 2))
    assert loss_of(Sequential(())) == Pure(Fraction(0))


def test_parallel_composition_fails_under_replace_one() -> None:
    """Moving a record from one part to the other changes both releases: the exact loss is the sum, not the maximum.

    Two parts, one bit each, released by randomized response that tells the truth with probability 3/4. The record
    lies in part A with value 1, or in part B with value 1; an empty part holds the bit 0.
    """
    truth = {1: Fraction(3, 4), 0: Fraction(1, 4)}  # probability that the release is 1, given the bit
    in_a = truth[1] * (1 - truth[0])  # probability of the output (1, 0) if the record is in A
    in_b = truth[0] * (1 - truth[1])  # and if it is in B
    assert in_a / in_b == 9  # e^(2·ln 3): the losses add
    with pytest.raises(InputError, match="replace-one adjacency"):
        Parallel((half, third), "replace")
    assert loss_of(Parallel((half, third), "replace", separate=True)) == Pure(Fraction(1, 2))


def test_nothing_and_nobody_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Parallel((), "add-remove")
    with pytest.raises(ValueError, match="at least one"):
        Group(half, 0)


@given(trees)
def test_a_statement_survives_json(tree: Composition) -> None:
    original = statement(tree)
    text = json.dumps(original.to_json())
    assert PrivacyStatement.from_json(json.loads(text), argument="x") == original


@given(trees)
def test_the_total_is_never_below_any_step(tree: Composition) -> None:
    def leaves(node: Composition) -> list[Step]:
        match node:
            case Step():
                return [node]
            case Sequential() | Parallel():
                return [leaf for part in node.parts for leaf in leaves(part)]
            case Group() | PostProcessed():
                return leaves(node.part)

    assert all(leaf.loss.implies(loss_of(tree)) for leaf in leaves(tree))


def test_the_lines_say_whom_what_and_how_much() -> None:
    text = "\n".join(statement(Sequential((half, third))).lines())
    assert "ε = 0.833333 (5/6)" in text
    assert "replacing one record by another; the number of records is public" in text
    assert "counts of age: ε = 0.5, discrete Laplace" in text
    assert "the schema" in text
    assert "NOT PRIVATE" not in text


def test_equal_parts_are_said_once() -> None:
    many = Parallel((Sequential((half, third)),) * 100, "replace", separate=True)
    text = "\n".join(statement(many).lines())
    assert "each of 100 separate tables" in text
    assert text.count("counts of age") == 1


def test_simulated_noise_is_said_first() -> None:
    assert statement(half, private=False).lines()[0].startswith("NOT PRIVATE")


def test_an_edited_total_is_refused() -> None:
    data = statement(Sequential((half, third))).to_json()
    data["total"] = {"class": "pure", "epsilon": "1/100"}
    with pytest.raises(InputError, match="not the sum of its steps"):
        PrivacyStatement.from_json(data, argument="model.json")


@pytest.mark.parametrize("key", ["private", "unit", "adjacency", "total", "composition", "public", "notes", "versions"])
@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [7], {"a": 7}])
def test_damaged_statements_are_refused(key: str, value: object) -> None:
    good = statement(half).to_json()
    if type(value) is type(good[key]) and value in ("x", [], {}) and key in ("unit", "public", "notes", "versions"):
        return
    with pytest.raises(InputError):
        PrivacyStatement.from_json({**good, key: value}, argument="model.json")


def test_a_bottomless_composition_is_refused() -> None:
    data: dict[str, object] = {"release": "x", "mechanism": "y", "loss": {"class": "pure", "epsilon": "1"}}
    for _ in range(1000):
        data = {"group": data, "size": 1}
    with pytest.raises(InputError):
        PrivacyStatement.from_json({**statement(half).to_json(), "composition": data}, argument="x")
