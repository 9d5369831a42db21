"""Exact inference against the whole joint distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given as forall
from hypothesis import settings

from panbayes.bayesnet.inference.engine import Engine, ZeroProbabilityError
from panbayes.bayesnet.inference.junction import compile_tree
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from tests.bayesnet.brute import (
    FloatArray,
    given,
    joint,
    marginal,
    plain_schema,
    random_evidence,
    random_network,
    seeds,
)
from tests.effort import often


def check_all_answers(engine: Engine, whole: FloatArray, evidence: Mapping[int, int], seed: int) -> None:
    """Hold every answer of an engine against the joint distribution."""
    rng = np.random.default_rng(seed)
    kept = given(whole, evidence)
    total = kept.sum()
    size = whole.ndim
    targets = tuple(rng.choice(size, int(rng.integers(1, size + 1)), replace=False).tolist())
    if total == 0:
        assert engine.log_evidence(evidence) == -math.inf
        with pytest.raises(ZeroProbabilityError):
            engine.posteriors(evidence)
        with pytest.raises(ZeroProbabilityError):
            engine.posterior(targets, evidence)
        with pytest.raises(ZeroProbabilityError):
            engine.most_probable(evidence)
        with pytest.raises(ZeroProbabilityError):
            engine.sample(evidence, 3, rng, np.uint8, independent=True)
        return
    assert engine.log_evidence(evidence) == pytest.approx(math.log(total), abs=1e-10)
    for v, found in enumerate(engine.posteriors(evidence)):
        np.testing.assert_allclose(found, marginal(kept, [v]) / total, atol=1e-12)
    np.testing.assert_allclose(engine.posterior(targets, evidence), marginal(kept, targets) / total, atol=1e-12)
    best = engine.most_probable(evidence)
    assert kept[best] == pytest.approx(kept.max(), rel=1e-12)
    drawn = engine.sample(evidence, 50, rng, np.uint8, independent=True)
    assert np.all(kept[tuple(drawn)] > 0)


@settings(max_examples=often(30, 150), deadline=None)
@forall(seeds)
def test_agrees_with_the_joint_distribution(seed: int) -> None:
    network = random_network(seed)
    check_all_answers(network.engine, joint(network), random_evidence(network, seed + 1), seed)


@settings(max_examples=often(16, 80), deadline=None)
@forall(seeds)
def test_agrees_when_every_question_has_its_own_tree(seed: int) -> None:
    network = random_network(seed)
    engine = Engine(network.structure, network.schema.sizes, network.tables, reuse=False)
    check_all_answers(engine, joint(network), random_evidence(network, seed + 1), seed)


@pytest.mark.parametrize("reuse", [True, False])
@settings(max_examples=often(8, 40), deadline=None)
@forall(seeds)
def test_joints_with_groups_agree_with_the_joint_distribution(reuse: bool, seed: int) -> None:
    """Any network, any grouping of one attribute's values; some groups are empty or impossible."""
    network = random_network(seed)
    whole = joint(network)
    engine = Engine(network.structure, network.schema.sizes, network.tables, reuse=reuse)
    rng = np.random.default_rng(seed)
    attribute = int(rng.integers(whole.ndim))
    groups = np.array(rng.integers(0, 3, whole.shape[attribute]), dtype=np.intp)
    member = np.arange(int(groups.max()) + 1)[:, None] == groups
    for v, found in enumerate(engine.joints(attribute, groups)):
        pair = np.diag(marginal(whole, [v])) if v == attribute else marginal(whole, [attribute, v])
        np.testing.assert_allclose(found, member @ pair, atol=1e-12)


@settings(max_examples=often(30, 150), deadline=None)
@forall(seeds)
def test_cliques_hang_together_each_on_the_smallest_that_can_hold_what_it_shares(seed: int) -> None:
    """By the definition: the cliques with an attribute are connected; no earlier and smaller one has the separator."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 12).tolist()
    scopes = [tuple(rng.choice(12, int(rng.integers(1, 5)), replace=False).tolist()) for _ in range(14)]
    tree = compile_tree(scopes, sizes)
    assert all(tree.containing(scope) is not None for scope in scopes)
    cells = [math.prod(sizes[v] for v in clique) for clique in tree.cliques]
    for v in range(12):
        having = [c for c, clique in enumerate(tree.cliques) if v in clique]
        hosts = [c for c in having if c == having[0] or v in tree.cliques[tree.parent[c]]]
        assert hosts == having, "each but the first hangs on another that has it"
    for c, clique in enumerate(tree.cliques[1:], start=1):
        shared = set(clique) & set().union(*tree.cliques[:c])
        host = int(tree.parent[c])
        assert shared <= set(tree.cliques[host])
        if shared:
            assert cells[host] == min(cells[d] for d in range(c) if shared <= set(tree.cliques[d]))


def test_everything_observed() -> None:
    network = random_network(3, zeros=0)
    evidence = dict.fromkeys(range(6), 0)
    check_all_answers(network.engine, joint(network), evidence, 0)


def test_independent_components_and_single_values() -> None:
    schema = plain_schema([1, 3, 2])
    tables = (np.array([1.0]), np.array([0.2, 0.3, 0.5]), np.array([0.9, 0.1]))
    network = Network(schema, Structure.independent(3), tables)
    check_all_answers(network.engine, joint(network), {1: 2}, 5)


def test_tiny_probabilities_do_not_underflow() -> None:
    """A hundred observations of probability 1e-9 each, and as many children of one attribute that disagree."""
    size = 120
    pairs = [(0, ()), *((child, (0,)) for child in range(1, size))]
    favours = np.array([[1e-9, 1 - 1e-9], [1e-8, 1 - 1e-8]])
    tables = [np.array([0.5, 0.5]), *(favours if child % 2 else favours[::-1] for child in range(1, size))]
    network = Network(plain_schema([2] * size), Structure.of(pairs), tuple(tables))
    evidence = dict.fromkeys(range(1, size), 0)
    logs = [sum(math.log(tables[child][x, 0]) for child in evidence) for x in (0, 1)]
    expected = 1 / (1 + math.exp(logs[1] - logs[0]))
    assert network.engine.posteriors(evidence)[0][0] == pytest.approx(expected, rel=1e-9)
    assert network.engine.posterior((0,), evidence)[0] == pytest.approx(expected, rel=1e-9)
    assert network.engine.log_evidence(evidence) == pytest.approx(
        math.log(0.5) + np.logaddexp(logs[0], logs[1]), rel=1e-12
    )
    assert network.engine.most_probable(evidence)[0] == int(logs[1] > logs[0])


def test_a_long_chain_compiles_quickly_and_answers() -> None:
    size = 2000
    step = np.array([[0.9, 0.1], [0.2, 0.8]])
    network = Network(
        plain_schema([2] * size),
        Structure.of([(0, ()), *((i, (i - 1,)) for i in range(1, size))]),
        (np.array([1.0, 0.0]), *([step] * (size - 1))),
    )
    last = network.engine.posteriors({})[size - 1]
    np.testing.assert_allclose(last, [2 / 3, 1 / 3], atol=1e-9)


def test_a_network_that_is_too_dense_is_refused_before_it_is_allocated() -> None:
    """Thirty attributes of eight values, and one that joins them all pairwise: a clique of 8^30 cells."""
    size = 30
    scopes = [(a, b) for a in range(size) for b in range(a)]
    with pytest.raises(InputError, match=r"a clique of 30 attributes with 1\.24e\+27 cells"):
        compile_tree(scopes, [8] * size)


def test_evidence_makes_a_dense_network_answerable() -> None:
    network = random_network(11, degree=4, zeros=0, schema=plain_schema([3] * 8))
    engine = Engine(network.structure, network.schema.sizes, network.tables, max_cells=40)
    with pytest.raises(InputError, match="clique"):
        engine.posteriors({})
    evidence = dict.fromkeys(range(7), 0)
    whole = given(joint(network), evidence)
    np.testing.assert_allclose(engine.posteriors(evidence)[7], marginal(whole, [7]) / whole.sum(), atol=1e-12)


def test_irrelevant_attributes_do_not_count_towards_the_size() -> None:
    """Asking for a root leaves out everything below it."""
    network = random_network(11, degree=4, zeros=0, schema=plain_schema([3] * 8))
    engine = Engine(network.structure, network.schema.sizes, network.tables, max_cells=8)
    root = network.structure.order[0]
    np.testing.assert_allclose(engine.posterior((root,), {}), network.tables[root], atol=1e-12)
