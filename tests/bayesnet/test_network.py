"""The network value: validation, names and values in questions, errors that name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given as forall
from hypothesis import settings

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from tests.bayesnet.brute import all_records, joint, plain_schema, random_network, seeds
from tests.effort import often


@pytest.fixture
def clinic() -> Network:
    """Insulin depends on age; nobody under 40 gets it Up."""
    schema = Schema(
        "clinic",
        (
            Attribute("age", bins=(0, 40, 65, 120)),
            Attribute("insulin", categories=("No", "Up")),
            Attribute("sex", categories=("F", "M")),
        ),
    )
    tables = (np.array([0.5, 0.3, 0.2]), np.array([[1.0, 0.0], [0.7, 0.3], [0.4, 0.6]]), np.array([0.55, 0.45]))
    return Network(schema, Structure(((0, ()), (1, (0,)), (2, ()))), tables)


def test_questions_take_labels_and_values_inside_the_domain(clinic: Network) -> None:
    by_label = clinic.posterior("insulin", {"age": "[65, 120]"})
    by_value = clinic.posterior("insulin", {"age": 70})
    assert by_label["Up"] == by_value["Up"] == pytest.approx(0.6)
    assert [labels for labels, _ in by_label.rows()] == [("No",), ("Up",)]
    assert [probability for _, probability in by_label.rows()] == pytest.approx([0.4, 0.6])
    both = clinic.posterior(["sex", "age"], {"insulin": "Up"})
    assert both.probabilities.shape == (2, 3)
    assert both["F", "[65, 120]"] == pytest.approx(0.55 * 0.12 / 0.21)
    assert clinic.posteriors({"insulin": "Up"})["age"] == pytest.approx([0, 0.09 / 0.21, 0.12 / 0.21])
    observed = clinic.posterior(["age", "sex"], {"age": 70, "sex": "M"})
    assert observed["[65, 120]", "M"] == 1
    best = clinic.most_probable({"insulin": "Up"})
    assert best.values == {"age": "[65, 120]", "insulin": "Up", "sex": "F"}
    assert best.log_prob == pytest.approx(np.log(0.2 * 0.6 * 0.55))


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"age": 30, "insulin": "Up"}, r"age=\[0, 40\), insulin=Up has probability zero"),
        ({"dose": 1}, '"dose" is not in schema "clinic"'),
        ({"insulin": "Sideways"}, '"Sideways" is not a value of "insulin"; known: No, Up'),
        ({"insulin": "up"}, r'"up" is not a value of "insulin"; did you mean "Up"\?'),
        ({"age": 300}, '"300" is not a value of "age"'),
        ({"age": None}, '"None" is not a value of "age"'),
        ({"age": [1]}, r'"\[1\]" is not a value of "age"'),
        ({7: "Up"}, "found 7; give the name of an attribute"),
    ],
)
def test_bad_evidence_is_named(clinic: Network, evidence: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        clinic.posterior("sex", evidence)
    assert caught.value.argument == "evidence"
    for ask in (clinic.posteriors, clinic.most_probable):
        with pytest.raises(InputError, match=message):
            ask(evidence)
    with pytest.raises(InputError, match=message) as caught:
        clinic.sample_table(3, 1, given=evidence)
    assert caught.value.argument == "given"


def test_bad_targets_are_named(clinic: Network) -> None:
    with pytest.raises(InputError, match='targets: "dose" is not in schema'):
        clinic.posterior("dose")
    with pytest.raises(InputError, match="targets: found none, or one twice"):
        clinic.posterior(["age", "age"])
    with pytest.raises(InputError, match="targets: found none"):
        clinic.posterior([])
    with pytest.raises(InputError, match='target: "dose"'):
        clinic.classify(clinic.sample_table(2, 1), "dose")
    with pytest.raises(InputError, match='target: "dose"'):
        clinic.classify(clinic.sample(2, 1), "dose")
    with pytest.raises(InputError, match="n: found -1"):
        clinic.sample_table(-1)
    with pytest.raises(InputError, match="seed: found -7"):
        clinic.sample(1, seed=-7)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("Yes", "labels: found 1; give one for each of: age, insulin"),
        (("[0, 40)", "up"), r'labels: "up" is not a value of "insulin"; did you mean "Up"\?'),
        ((300, "Up"), r'labels: "300" is not a value of "age"; known: \[0, 40\), \[40, 65\), \[65, 120\]'),
        ((30, "Up", "F"), "labels: found 3"),
        ((), "labels: found 0"),
    ],
)
def test_unknown_labels_of_a_posterior_are_named(clinic: Network, labels: Any, message: str) -> None:
    posterior = clinic.posterior(["age", "insulin"])
    with pytest.raises(InputError, match=message):
        posterior[labels]
    assert posterior[30, "No"] == posterior["[0, 40)", "No"] == posterior[cast(int, np.int64(30)), "No"] == 0.5


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([[0.5, 0.5]]), r"shape \(1, 2\); its parents and domain ask for \(3, 2\)"),
        (np.array([[0.5, 0.5], [1.2, -0.2], [1, 0]]), "negative"),
        (np.array([[0.5, 0.5], [np.nan, 0.2], [1, 0]]), "negative or infinite"),
        (np.array([[0.5, 0.5], [0.5, 0.5 + 1e-8], [1, 0]]), "does not sum to one"),
    ],
)
def test_tables_are_validated(clinic: Network, table: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Network(clinic.schema, clinic.structure, (clinic.tables[0], table, clinic.tables[2]))
    assert caught.value.argument == 'table of "insulin"'


def test_shape_of_the_whole_is_validated(clinic: Network) -> None:
    with pytest.raises(InputError, match="structure: found 2 attributes"):
        Network(clinic.schema, Structure.independent(2), clinic.tables)
    with pytest.raises(InputError, match="tables: found 2"):
        Network(clinic.schema, clinic.structure, clinic.tables[:2])


def test_is_a_value(clinic: Network) -> None:
    given = [table.copy() for table in clinic.tables]
    network = Network(clinic.schema, clinic.structure, tuple(given))
    given[0][:] = 0
    assert network == clinic
    assert hash(network) == hash(clinic)
    with pytest.raises(ValueError, match="read-only"):
        network.tables[0][0] = 1
    assert network != Network(clinic.schema, clinic.structure, (np.array([0.4, 0.4, 0.2]), *clinic.tables[1:]))
    assert network != clinic.schema
    assert network.parameters == 2 + 3 + 1


def test_a_table_of_another_schema_is_refused(clinic: Network) -> None:
    other = Table(plain_schema([2]), np.zeros((1, 4), dtype=np.uint8))
    with pytest.raises(InputError, match="table: is encoded by another schema"):
        clinic.log_prob(other)


@settings(max_examples=often(12, 60), deadline=None)
@forall(seeds)
def test_log_prob_and_classify_agree_with_the_joint(seed: int) -> None:
    network = random_network(seed, attributes=5)
    whole = joint(network)
    table = all_records(network)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(network.log_prob(table), np.log(whole).ravel(), atol=1e-12)
    target = seed % 5
    found = network.classify_table(table, network.schema.names[target])
    others = whole.sum(axis=target, keepdims=True)
    possible = np.broadcast_to(others, whole.shape).ravel() > 0
    with np.errstate(invalid="ignore"):
        expected = np.moveaxis(np.broadcast_to(whole / others, whole.shape), target, -1)
    per_record = np.repeat(np.expand_dims(expected, target), network.schema.sizes[target], axis=target)
    expected_rows = per_record.reshape(-1, network.schema.sizes[target])
    np.testing.assert_allclose(found.probabilities[possible], expected_rows[possible], atol=1e-12)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(found.codes, found.probabilities.argmax(axis=1))
    assert found.labels()[0] == found.target.labels[found.codes[0]]


def test_a_record_that_nothing_explains_goes_to_the_value_contradicted_least() -> None:
    """Target value 0 contradicts one child, value 1 contradicts both."""
    never, always = [0.0, 1.0], [1.0, 0.0]
    tables = (np.array([0.1, 0.9]), np.array([never, never]), np.array([always, never]))
    network = Network(plain_schema([2, 2, 2]), Structure(((0, ()), (1, (0,)), (2, (0,)))), tables)
    record = Table(network.schema, np.zeros((3, 1), dtype=np.uint8))
    assert network.classify_table(record, "x0").codes.tolist() == [0]


def test_empty_tables_have_empty_answers(clinic: Network) -> None:
    nothing = clinic.sample_table(0, 1)
    assert nothing.records == 0
    assert clinic.log_prob(nothing).shape == (0,)
    assert clinic.classify_table(nothing, "sex").probabilities.shape == (0, 2)
    assert clinic.sample_table(0, 1, given={"sex": "F"}).records == 0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda network: network.posterior(3), "targets: found 3; give the name of an attribute"),
        (lambda network: network.posterior(["rain", 3]), "targets: found 3"),
        (lambda network: network.posterior("rain", ["grass"]), "evidence: found a list; give values by name"),
        (lambda network: network.sample(2, seed="x"), "seed: found 'x'"),
        (lambda network: network.sample(2, seed=-1), "seed: found -1"),
        (lambda network: network.sample("2"), "n: found '2'"),
    ],
)
def test_what_is_of_the_wrong_kind_is_said_by_name(ask: Callable[[Network], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(Network.example())
