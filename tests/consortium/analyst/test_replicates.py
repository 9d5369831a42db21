"""Replicates are drawn as the noise and the chance in the records have it, and intervals hold the truth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.maxent import Effort
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.uncertainty import intervals, residual
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive import replicates as drawing
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.replicates import draw_replicates, single_replicates
from panbayes.consortium.analyst.adaptive.selection import said as said_beyond_chance
from panbayes.consortium.local.learn import learn
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from tests.consortium.analyst.test_belief import OTHER, PAIR, RECORDS, begun, dependent, measured

Floats = NDArray[np.float64]
TREE = 150_000


def test_single_laws_spread_as_noise_and_chance_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of variance v and the records' chance m, divided by their sum: the variance of q is (v·Σ(…)² + m…)/n²."""
    monkeypatch.setattr(drawing, "DRAWS", 250)
    law = np.array([0.5, 0.3, 0.2])
    found = single_replicates([law], 900.0, 10_000, np.random.default_rng(1)).single_laws[0]
    counts = 900.0 + 10_000 * law
    expected = [((1 - q) ** 2 * own + q**2 * (counts.sum() - own)) / 1e8 for q, own in zip(law, counts, strict=True)]
    assert found.var(axis=0) == pytest.approx(expected, rel=0.25)  # five standard errors of 250 draws are 0.45
    assert found.mean(axis=0) == pytest.approx(law, abs=0.002)


@pytest.mark.parametrize("added_up", [False, True])
def test_values_that_were_added_up_spread_as_much_as_their_estimates_do(
    monkeypatch: pytest.MonkeyPatch, added_up: bool
) -> None:
    """Two even values of variance v each: with the records' chance v + n/4, and v/2 + n/4 if nobody knew of the sum."""
    monkeypatch.setattr(drawing, "DRAWS", 250)
    even = Estimate(np.full(2, 0.5), np.full(2, 10_000.0))
    belief = Belief(10_000.0, (even,), (Nested(2, ()),))
    found = draw_replicates(belief, np.random.default_rng(1), noise=None, tree=TREE, added_up=added_up).single_laws[0]
    assert 1e8 * found.var(axis=0)[0] == pytest.approx((10_000 if added_up else 5_000) + 2_500, rel=0.2)


def test_tables_spread_around_what_was_fitted_and_follow_their_noise() -> None:
    belief = begun().learned([measured(PAIR, dependent(begun(), PAIR, 3))], (), effort=Effort(60))
    noisy = tuple(
        type(table)(
            table.axes, table.noisy, table.law, table.expected, table.mean, 100 * table.variance, table.parameters
        )
        for table in belief.known
    )
    spreads = []
    for known in (belief.known, noisy):
        own = type(belief)(belief.records, belief.singles, belief.nested, known)
        found = draw_replicates(own, np.random.default_rng(1), noise=10.0, tree=TREE)
        assert found.tables == (PAIR,)
        assert found.unseen is not None
        assert (found.unseen.records, found.unseen.noise) == (RECORDS, 10.0)
        spreads.append(found.table_parameters.std(axis=0).mean())
        assert found.table_parameters.mean(axis=0) == pytest.approx(belief.parameters, abs=spreads[-1])
    assert spreads[1] > 2 * spreads[0]
    again = draw_replicates(belief, np.random.default_rng(1), noise=10.0, tree=TREE)
    assert again == draw_replicates(belief, np.random.default_rng(1), noise=10.0, tree=TREE)
    assert draw_replicates(belief, np.random.default_rng(1), noise=None, tree=TREE).unseen is None
    hidden = draw_replicates(belief, np.random.default_rng(1), noise=10.0, first=0.25 * belief.records, tree=TREE)
    assert hidden.unseen is not None
    assert hidden.unseen.passed == 0.25


def test_a_full_tree_counts_as_what_the_last_tables_said() -> None:
    belief = begun().learned([measured(PAIR, dependent(begun(), PAIR, 3))], (), effort=Effort(20))
    said = np.abs(belief.known[0].mean - belief.known[0].expected).sum() / RECORDS
    for tree, passed in ((TREE, 0.0), (8, said)):
        found = draw_replicates(belief, np.random.default_rng(1), noise=10.0, tree=tree).unseen
        assert found is not None
        assert found.passed == pytest.approx(passed, abs=1e-6)
    (table,) = belief.expecting([measured(OTHER, np.ones((3, 2)))])
    with_chance = belief.learned([measured(OTHER, table.expected)], (), effort=Effort(20))
    assert said_beyond_chance(with_chance.known[1], RECORDS) < 0 < said_beyond_chance(with_chance.known[0], RECORDS)
    beside = draw_replicates(with_chance, np.random.default_rng(1), noise=10.0, tree=8).unseen
    assert beside is not None
    assert beside.passed == pytest.approx(said, rel=0.01), "what says no more than chance tells nothing of others"
    looked = draw_replicates(belief, np.random.default_rng(1), noise=10.0, look=900.0, tree=TREE).unseen
    assert looked is not None
    assert looked.passed == pytest.approx(900 / RECORDS / 6, abs=1e-6)  # one of six pairs was found to depend
    alone = draw_replicates(begun(), np.random.default_rng(1), noise=10.0, tree=8).unseen
    assert alone is not None
    assert alone.passed == 0.0


def population() -> Network:
    """Eight attributes of three values in a chain, with a weak link from each to the one after the next."""
    rng = np.random.default_rng(5)
    strong = [rng.dirichlet(np.full(3, 1.0), 3) for _ in range(8)]
    pairs: list[tuple[int, tuple[int, ...]]] = []
    tables: list[Floats] = []
    for i in range(8):
        parents = tuple(range(max(0, i - 2), i))
        pairs.append((i, parents))
        near = strong[i] if i else strong[i][0]
        weak = np.exp(rng.normal(0, 0.25, (3, 3)))
        table = near if i < 2 else weak[:, None, :] * near[None]
        tables.append(table / table.sum(axis=-1, keepdims=True))
    attributes = tuple(Attribute(f"x{i}", categories=("a", "b", "c")) for i in range(8))
    return Network(Schema("chain", attributes), Structure(tuple(pairs)), tuple(tables))


def asked(truth: Network, network: Network) -> list[tuple[float, float, float]]:
    """The true probability and the interval of every conditional law of one attribute given another."""
    found = []
    for target in range(8):
        for given in range(8):
            for code, value in enumerate(("a", "b", "c")) if given != target else ():
                answer = network.posterior(f"x{target}", {f"x{given}": value})
                assert answer.low is not None
                assert answer.high is not None
                exact = truth.engine.posterior((target,), {given: code})
                found += list(zip(exact.tolist(), answer.low.tolist(), answer.high.tolist(), strict=True))
    return found


def covered(cells: list[tuple[float, float, float]]) -> float:
    return float(np.mean([low <= exact <= high for exact, low, high in cells]))


def learned(truth: Network) -> list[Network]:
    study = Study("s", truth.schema, "adaptive", Fraction(1), adjacency="add-remove", delta=Fraction(1, 10**9))
    tables = [truth.sample_table(8_000, seed=seed, independent=True) for seed in range(4)]
    return [learn(study, {"h": Table(truth.schema, table.codes)}, simulate=7 + i) for i, table in enumerate(tables)]


def test_intervals_hold_the_truth_and_neither_part_of_them_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = population()
    networks = learned(truth)
    whole = covered([cell for network in networks for cell in asked(truth, network)])
    assert 0.885 <= whole <= 0.985
    with monkeypatch.context() as narrower:
        narrower.setattr(intervals, "_REACH", 0.7 * 1.645)
        assert covered([cell for network in networks for cell in asked(truth, network)]) < 0.885
    with monkeypatch.context() as dropped:
        dropped.setattr(residual, "_MEASURED", 0.0)
        dropped.setattr(residual, "_LARGEST", 0.0)
        assert covered([cell for network in networks for cell in asked(truth, network)]) < 0.885


@pytest.mark.parametrize("holders", [1, 3])
def test_models_of_single_attributes_know_the_error_of_these_alone(holders: int) -> None:
    truth = population()
    held = 0
    for seed in range(6):
        codes = truth.sample_table(9_000, seed=seed, independent=True).codes
        tables = {f"h{i}": Table(truth.schema, np.ascontiguousarray(codes[:, i::holders])) for i in range(holders)}
        network = learn(Study("s", truth.schema, "independent", Fraction(1)), tables, simulate=seed)
        intervals = network.intervals()
        assert intervals is not None
        exact = np.concatenate(list(truth.posteriors().values()))
        ends = np.concatenate(list(intervals.values()))
        held += int(((ends[:, 0] <= exact) & (exact <= ends[:, 1])).sum())
        assert np.median(ends[:, 1] - ends[:, 0]) < 0.08
        assert network.posterior(["x0", "x1"]).low is None
    assert 0.82 <= held / (6 * 24) <= 0.985
