"""Markov fields against all records written out: log Z, margins, pairs; and how heavy their trees are."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from panbayes.bayesnet.inference.junction import compile_tree
from panbayes.bayesnet.markov.field import Axes, reduced_sizes, weight_of
from tests.bayesnet.markov.laws import WrittenOut, field_of, random_fields


def test_the_law_is_that_of_all_records_written_out() -> None:
    """log Z, the cells of every table and of every pair, attributes that no table speaks of among them."""
    absent = 0
    for whole in random_fields(60, seed=1):
        field, parameters = whole.field, whole.parameters
        absent += any(size == 1 for size in field.sizes)
        if field.tables:
            cliques, logarithm = field.calibrated(parameters)
            assert logarithm == pytest.approx(whole.logarithm, abs=1e-10)
            for axes, found in zip(field.tables, field.split(field.margins(cliques)), strict=True):
                assert found == pytest.approx(whole.margin(axes), abs=1e-12)
        check_pairs(whole)
    assert absent > 10


def check_pairs(whole: WrittenOut) -> None:
    sizes = whole.field.sizes
    found, start = whole.field.pairs(whole.parameters), np.concatenate([[0], np.cumsum(sizes)])
    assert found.shape == (start[-1], start[-1])
    for a, b in combinations(range(len(sizes)), 2):
        exact = whole.margin(((a, sizes[a]), (b, sizes[b])))
        assert found[start[a] : start[a + 1], start[b] : start[b + 1]] == pytest.approx(exact, abs=1e-12)
        assert found[start[b] : start[b + 1], start[a] : start[a + 1]] == pytest.approx(exact.T, abs=1e-12)


def test_many_tables_of_one_clique_are_bundled_and_none_is_lost() -> None:
    """Six attributes of four values, all joined: 60 tables of one clique of 4,096 cells, in several bundles."""
    rng = np.random.default_rng(2)
    laws = [rng.dirichlet(np.ones(4)) for _ in range(6)]
    every = [*combinations(range(6), 2), *combinations(range(6), 3)]
    tables: list[Axes] = [tuple((v, 4) for v in members) for members in every]
    tables += [tuple((v, 2) for v in members) for members in every if len(members) == 3]
    tables += [((0, 4), (1, 3)), ((0, 2), (1, 4)), ((5, 3),), ((5, 4),), ((2, 3), (3, 3))]
    field = field_of(laws, tables)
    whole = WrittenOut.of(field, rng.normal(0, 0.4, int(field.start[-1])))
    assert len(field.tree.cliques) == 1
    cliques, logarithm = field.calibrated(whole.parameters)
    assert logarithm == pytest.approx(whole.logarithm, abs=1e-10)
    for axes, found in zip(tables, field.split(field.margins(cliques)), strict=True):
        assert found == pytest.approx(whole.margin(axes), abs=1e-12)
    assert vars(field)["_layout"].table_maps.size <= field.mapped == len(tables) * 4**4
    with_all = field_of(laws, [*tables, tuple((v, 4) for v in range(6))])
    with_all.potentials(np.zeros(int(with_all.start[-1])))
    assert vars(with_all)["_layout"].table_maps.size <= with_all.mapped == (len(tables) + 1) * 4**6


def test_pairs_meet_wherever_the_tree_parts_them() -> None:
    """Children with one separator, one that is an attribute's own, and what hangs on nothing; each with itself too."""
    rng = np.random.default_rng(3)
    shapes: list[Axes] = [
        tuple((v, 2 + (v % 2)) for v in members)
        for members in [(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (1, 3, 5), (3, 5, 6), (7, 8), (3, 9)]
    ]
    laws = [rng.dirichlet(np.ones(2 + (v % 2))) for v in range(10)]
    field = field_of(laws, shapes)
    whole = WrittenOut.of(field, rng.normal(0, 1.0, int(field.start[-1])))
    cliques, parents = field.tree.cliques, field.tree.parent.tolist()
    separators = [frozenset(cliques[c]) & set(cliques[parents[c]]) for c in range(1, len(cliques))]
    assert len(separators) > len(set(separators)), "two children have the same separator"
    assert frozenset() in separators
    check_pairs(whole)
    start = np.concatenate([[0], np.cumsum(field.sizes)])
    found = field.pairs(whole.parameters)
    for v, size in enumerate(field.sizes):
        own = found[start[v] : start[v + 1], start[v] : start[v + 1]]
        assert own == pytest.approx(np.diag(whole.margin(((v, size),))), abs=1e-12)


def test_tables_that_rule_out_what_others_leave_do_not_make_a_clique_vanish() -> None:
    """In different bundles, so that their product would be nothing everywhere: where all is as rare, nothing is."""
    rng = np.random.default_rng(4)
    laws = [rng.dirichlet(np.ones(4)) for _ in range(5)]
    every: list[Axes] = [((a, 4), (b, 4)) for a, b in combinations(range(5), 2)]
    field = field_of(laws, [*every, ((0, 4), (1, 4), (2, 4)), ((0, 4), (3, 4), (4, 4))])
    plain = np.concatenate([rng.normal(0, 0.5, 16 * len(every)), np.zeros(128)])
    first = np.repeat([-800.0, 0.0, -800.0, 0.0], 16)
    split = plain + np.concatenate([np.zeros(16 * len(every)), first, -800.0 - first])
    cliques, logarithm = field.calibrated(plain)
    found, shifted = field.calibrated(split)
    assert len(field.tree.cliques) == 1
    assert shifted == pytest.approx(logarithm - 800.0)
    assert field.margins(found) == pytest.approx(field.margins(cliques), abs=1e-12)


def test_large_parameters_do_not_overflow() -> None:
    """Seven hundred to each cell: exp of them is near the largest number there is, log Z and margins are right."""
    field = field_of([np.array([0.25, 0.75]), np.full(3, 1 / 3)], [((0, 2), (1, 3)), ((0, 2),)])
    parameters = np.concatenate([np.full(6, 700.0), np.full(2, 700.0)])
    cliques, logarithm = field.calibrated(parameters)
    assert logarithm == pytest.approx(1400.0)
    assert field.split(field.margins(cliques))[1] == pytest.approx([0.25, 0.75])
    assert field.split(field.margins(cliques))[0] == pytest.approx(np.outer([0.25, 0.75], np.full(3, 1 / 3)))


def test_without_parameters_attributes_are_independent_and_finer_ones_are_summed() -> None:
    laws = [np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.5])]
    field = field_of(laws, [((0, 4),), ((0, 2), (1, 2))], ordered=True)
    assert field.sizes == [4, 2]
    one, two = field.split(field.margins(field.calibrated(np.zeros(8))[0]))
    assert one == pytest.approx(laws[0])
    assert two == pytest.approx(np.outer([0.6, 0.4], laws[1]))


def test_reduced_sizes_are_the_finest_groupings() -> None:
    assert reduced_sizes(4, [((0, 2), (2, 5)), ((0, 3),), ((2, 4), (3, 1))]) == [3, 1, 5, 1]
    assert reduced_sizes(2, []) == [1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_the_weight_is_never_less_than_that_of_the_lighter_tree(seed: int) -> None:
    """Cliques inside others count as well, so it is an upper bound of the tree eliminated in that order."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        sizes = rng.integers(1, 7, int(rng.integers(2, 9))).tolist()
        tables: list[Axes] = [
            tuple((int(v), 2) for v in sorted(rng.choice(len(sizes), min(len(sizes), 3), replace=False)))
            for _ in range(int(rng.integers(1, 9)))
        ]
        used = {v for axes in tables for v, _ in axes}
        alone = sum(sizes[v] for v in range(len(sizes)) if v not in used)
        tree = compile_tree([tuple(v for v, _ in axes) for axes in tables], sizes)
        assert weight_of(tables, sizes) - alone >= tree.cells * (1 - 1e-9)


def test_the_weight_counts_what_is_eliminated() -> None:
    """By hand: a chain a–b–c–d of 2, 3, 4, 5 values, and a cycle of four, which needs a chord."""
    chain: list[Axes] = [((0, 2), (1, 2)), ((1, 2), (2, 2)), ((2, 2), (3, 2))]
    assert weight_of(chain, [2, 3, 4, 5]) == pytest.approx(2 * 3 + 3 * 4 + 4 * 5 + 5)
    cycle: list[Axes] = [*chain, ((0, 2), (3, 2))]
    # The lightest neighbourhood is that of b (2·3·4 = 24); then a and c are joined, and a (2·4·5) goes.
    assert weight_of(cycle, [2, 3, 4, 5]) == pytest.approx(24 + 40 + 20 + 5)
    assert weight_of([], [2, 3]) == pytest.approx(5)


def test_pairs_of_a_value_so_rare_that_it_underflows_are_never_met() -> None:
    """A hundred and forty tables, each of which makes it e⁶ times as rare: the others are as they would be without."""
    laws = [np.full(2, 0.5) for _ in range(141)]
    field = field_of(laws, [((0, 2), (v, 2)) for v in range(1, 141)])
    found = field.pairs(np.tile([-6.0, -6.0, 0.0, 0.0], 140))
    assert np.all(found[0] == 0.0)
    assert found[1, 1:] == pytest.approx(np.r_[1.0, np.full(280, 0.5)])
    assert found[2, 3:] == pytest.approx(np.r_[0.0, np.full(278, 0.25)])


def test_pairs_of_many_attributes_take_little_beside_themselves() -> None:
    """A band of 300 binary attributes: 3 MB of pairs. What a clique passes up is not kept once it is used."""
    laws = [np.array([0.4, 0.6])] * 300
    tables: list[Axes] = [((a, 2), (a + step, 2)) for a in range(300) for step in range(1, 7) if a + step < 300]
    field = field_of(laws, tables)
    parameters = np.random.default_rng(1).normal(0, 0.3, 4 * len(tables))
    first = field.pairs(parameters)
    tracemalloc.start()
    second = field.pairs(parameters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(first, second)
    assert peak < 5 * second.nbytes
