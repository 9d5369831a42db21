"""What measured blocks say: margins, which sets pass, and what the adaptive strategy makes of them."""

from __future__ import annotations

import math
from contextlib import closing
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduction.synthetic import cross_entropy, synthetic_network
from scipy.stats import chi2

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.maxent import Effort
from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.blocks import interaction, learned_from, margin, passing
from panbayes.consortium.analyst.adaptive.covering import covering, margin_variance
from panbayes.consortium.analyst.adaptive.division import TOTAL
from panbayes.consortium.analyst.adaptive.margins import adding_up
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.learn import learn
from panbayes.consortium.protocol.queries import GroupedTablesQuery
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import HolderRefusedError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from tests.consortium.studies import Wire, learn_over

Codes = NDArray[np.int64]
RECORDS = 20_000


def measured(codes: Codes, sizes: tuple[int, ...], *, deviation: float, seed: int = 1) -> list[Measurement]:
    """The blocks of records, with normal noise, of two holders."""
    rng = np.random.default_rng(seed)
    found = []
    for axes in covering(sizes):
        shape = [size for _, size in axes]
        tables = {}
        for name, part in (("a", slice(0, None, 3)), ("b", slice(1, None, 3)), ("c", slice(2, None, 3))):
            place = np.ravel_multi_index([codes[a][part] for a, _ in axes], shape)
            counts = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
            tables[name] = counts + rng.normal(0.0, deviation / math.sqrt(3), shape)
        found.append(Measurement(axes, tables, NoiseLaw(True, ((deviation / math.sqrt(3), 1),))))
    return found


def begun(blocks: list[Measurement], attributes: int, records: float = RECORDS) -> Belief:
    singles = [margin(blocks, (attribute,)) for attribute in range(attributes)]
    return Belief.begun(records, singles, ordered=[0] * attributes)


def chain(attributes: int, seed: int = 3) -> Codes:
    """Binary attributes, each the one before but for one time in five."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 2, RECORDS)]
    for _ in range(attributes - 1):
        rows.append(rows[-1] ^ (rng.random(RECORDS) < 0.2))
    return np.array(rows)


def sets(belief: Belief) -> set[tuple[int, ...]]:
    return {tuple(attribute for attribute, _ in table.axes) for table in belief.known}


@pytest.mark.parametrize("attributes", [(0,), (6,), (0, 1), (2, 6), (0, 1, 2)])
def test_a_margin_is_the_weighted_mean_of_sums_and_knows_its_noise(attributes: tuple[int, ...]) -> None:
    sizes = (2, 2, 2, 2, 2, 2, 3)
    rng = np.random.default_rng(2)
    blocks = [
        Measurement(
            axes,
            {name: rng.normal(100.0, 9.0, [size for _, size in axes]) for name in ("a", "b")},
            NoiseLaw(False, ((float(place + 1), 1),)),
        )
        for place, axes in enumerate(covering(sizes))
    ]
    found = margin(blocks, attributes)
    assert found.axes == tuple((a, sizes[a]) for a in attributes)
    variances = [block.law.deviation**2 for block in blocks]
    holding = [block for block in blocks if set(attributes) <= {a for a, _ in block.axes}]
    assert found.law.deviation**2 == pytest.approx(margin_variance(covering(sizes), variances, attributes))
    assert found.law.gaussian is False
    for name in ("a", "b"):
        sums, weights = [], []
        for block in holding:
            others = tuple(axis for axis, (a, _) in enumerate(block.axes) if a not in attributes)
            sums.append(block.tables[name].sum(axis=others))
            added = math.prod(size for a, size in block.axes if a not in attributes)
            weights.append(1 / (added * block.law.deviation**2))
        assert found.tables[name] == pytest.approx(np.average(sums, axis=0, weights=weights))


def test_a_margin_that_no_block_holds_is_an_error() -> None:
    blocks = measured(chain(7), (2,) * 7, deviation=1.0)
    held = {tuple(c) for block in blocks for c in combinations([a for a, _ in block.axes], 3)}
    missing = next(c for c in combinations(range(7), 3) if c not in held)
    with pytest.raises(ValueError, match="no block holds"):
        margin(blocks, missing)


@pytest.mark.parametrize("deviation", [1.0, 40.0, 300.0])
def test_a_chain_is_found_without_its_shadows(deviation: float) -> None:
    """All pairs of a chain depend on each other, but those of neighbours say it all."""
    blocks = measured(chain(8), (2,) * 8, deviation=deviation)
    belief = learned_from(begun(blocks, 8), blocks)
    assert sets(belief) >= {(i, i + 1) for i in range(7)}
    assert len(belief.known) <= 10


@pytest.mark.parametrize("deviation", [1.0, 40.0, 600.0])
def test_independent_attributes_stay_nearly_independent(deviation: float) -> None:
    rng = np.random.default_rng(5)
    taken = 0
    for seed in range(6):
        codes = (rng.random((9, RECORDS)) < rng.uniform(0.02, 0.98, (9, 1))).astype(np.int64)
        blocks = measured(codes, (2,) * 9, deviation=deviation, seed=seed)
        belief = learned_from(begun(blocks, 9), blocks)
        taken += len(belief.known)
    assert taken <= 6


def test_three_attributes_that_only_together_say_something_are_found_in_their_block() -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 2, (7, RECORDS))
    members = covering((2,) * 7)[1]
    first, second, third = [a for a, _ in members][:3]
    codes[third] = codes[first] ^ codes[second] ^ (rng.random(RECORDS) < 0.1)
    blocks = measured(codes, (2,) * 7, deviation=150.0)
    belief = learned_from(begun(blocks, 7), blocks)
    assert (first, second, third) in sets(belief)


def test_single_attributes_are_not_corrected_by_the_counts_they_were_estimated_from() -> None:
    blocks = measured(chain(6), (2,) * 6, deviation=200.0)
    before = begun(blocks, 6)
    after = learned_from(before, blocks)
    assert after.known
    for single, known in zip(before.singles, after.singles, strict=True):
        assert np.array_equal(single.distribution, known.distribution)
        assert np.all(known.variance >= single.variance)


def test_what_was_measured_and_says_nothing_is_not_offered_again() -> None:
    blocks = measured(chain(6), (2,) * 6, deviation=20.0)
    belief = learned_from(begun(blocks, 6), blocks)
    held = {
        members
        for block in blocks
        for width in (2, 3, 4)
        for members in combinations([a for a, _ in block.axes], width)
    }
    idle = {tuple(a for a, _ in axes) for axes in belief.idle}
    assert sets(belief) | idle == held
    assert not sets(belief) & idle


def test_interactions_of_a_right_law_are_chi_squared() -> None:
    """The mean of d degrees of freedom, with noise and with the chance of records, for sizes 3 and 4."""
    rng = np.random.default_rng(7)
    laws = [np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])]
    joint = np.outer(*laws)
    found = []
    for _ in range(400):
        counts = rng.multinomial(2_000, joint.ravel()).reshape(3, 4) + rng.normal(0.0, 15.0, (3, 4))
        table = Measurement(((0, 3), (1, 4)), {"a": counts}, NoiseLaw(True, ((15.0, 1),)))
        sums = [
            Measurement(((a, law.size),), {"a": 2_000 * law}, NoiseLaw(True, ((0.01, 1),)))
            for a, law in enumerate(laws)
        ]
        belief = Belief.begun(2_000.0, sums, ordered=[0, 0])
        (known,) = belief.expecting([table])
        square, free = interaction(known, belief)
        assert free == 6
        found.append(square)
    assert np.mean(found) == pytest.approx(6.0, abs=0.7)
    assert np.mean(np.array(found) > chi2.isf(0.1, 6)) == pytest.approx(0.1, abs=0.05)


def test_interactions_in_balanced_noise_are_chi_squared() -> None:
    """Noise that adds up to 0 in four cells is a third louder in the other three directions; hardly any chance."""
    rng = np.random.default_rng(3)
    half = np.array([0.5, 0.5])
    sums = [Measurement(((a, 2),), {"a": 50 * half}, NoiseLaw(True, ((0.01, 1),))) for a in range(2)]
    belief = Belief.begun(50.0, sums, ordered=[0, 0])
    found = []
    for _ in range(1_000):
        noise = rng.normal(0.0, 100.0, (2, 2))
        noise -= noise.mean()
        law = NoiseLaw(True, ((100.0 * 0.75**0.5, 1),), balanced=True)
        (known,) = belief.expecting([Measurement(((0, 2), (1, 2)), {"a": 12.5 + noise}, law)])
        found.append(interaction(known, belief)[0])
    assert np.mean(found) == pytest.approx(1.0, abs=0.15)


def test_a_table_of_balanced_noise_stays_as_it_is() -> None:
    table = Measurement(((0, 3),), {"a": np.array([7.0, 2.0, 1.0])}, NoiseLaw(False, ((3.0, 1),), balanced=True))
    assert adding_up(table, {"a": 10.0}) is table


def test_the_chance_of_three_uneven_attributes_is_that_of_records_with_these_margins() -> None:
    """Next to no noise; records are independent, and the law has their own margins: a square is 1 on average."""
    rng = np.random.default_rng(11)
    chances = (0.9, 0.25, 0.8)
    found = []
    for _ in range(400):
        codes = (rng.random((3, 2_000)) < np.array(chances)[:, None]).astype(np.int64)
        blocks = measured(codes, (2, 2, 2), deviation=0.01)
        belief = begun(blocks, 3, 2_000.0)
        (known,) = belief.expecting([margin(blocks, (0, 1, 2))])
        square, free = interaction(known, belief)
        assert free == 1
        found.append(square)
    assert np.mean(found) == pytest.approx(1.0, abs=0.2)


def test_what_a_law_with_tables_expects_has_their_noise() -> None:
    blocks = measured(chain(6), (2,) * 6, deviation=2_000.0)
    before = begun(blocks, 6)
    (pair,) = before.expecting([margin(blocks, (0, 3))])
    after = before.learned([margin(blocks, (4, 5))], (), effort=Effort(5), correcting=False)
    assert interaction(pair, before)[0] == pytest.approx(2 * interaction(pair, after)[0], rel=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_those_that_pass_are_those_of_benjamini_and_hochberg(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.integers(1, 7, 40).tolist()
    drawn = [(float(rng.chisquare(d) + 15 * (rng.random() < 0.3)), d) for d in free]
    chances = [float(chi2.sf(square, d)) for square, d in drawn]
    right = min(1.0, (1 + sum(chance > 0.5 for chance in chances)) / 20)
    ranks = [rank for rank in range(1, 41) if sorted(chances)[rank - 1] <= 0.1 * rank / (50 * right)]
    assert ranks
    assert passing(drawn, false=0.1, among=50) == sorted(range(40), key=lambda place: chances[place])[: max(ranks)]


def test_sets_beyond_all_chance_come_in_the_order_of_their_squares() -> None:
    assert passing([(1e5, 1), (0.1, 1), (1e6, 1), (0.2, 1)], false=0.1, among=4) == [2, 0]


def test_a_table_adds_up_to_the_records_and_rare_values_gain() -> None:
    """Drawn often: the variance of every cell is what the law says, for a number of records that is noisy itself."""
    rng = np.random.default_rng(9)
    cells = []
    law = NoiseLaw(True, ((30.0, 1),))
    for _ in range(3_000):
        number = 1_000 + rng.normal(0.0, 20.0)
        noisy = Measurement(((0, 3),), {"a": np.array([700.0, 250.0, 50.0]) + rng.normal(0.0, 30.0, 3)}, law)
        found = adding_up(noisy, {"a": number}, variance=400.0)
        assert found.tables["a"].sum() == pytest.approx(number)
        assert found.law.deviation**2 == pytest.approx(900 * 2 / 3 + 400 / 9)
        cells.append(found.tables["a"])
    assert np.var(cells, axis=0) == pytest.approx(np.full(3, 900 * 2 / 3 + 400 / 9), rel=0.1)
    assert np.mean(cells, axis=0) == pytest.approx([700, 250, 50], abs=2)


def dealt(table: Table, holders: int) -> dict[str, Table]:
    return {f"h{j}": table.select(slice(j, None, holders)) for j in range(holders)}


def test_the_thesis_network_is_learned_by_ten_holders_at_a_tenth() -> None:
    """Without blocks the first look sees nothing, and attributes stay alone, at 7.54 bits; the truth has 5.12."""
    table = synthetic_network().sample_table(40_000, 1, independent=True)
    agreed, wire = Study("thesis", table.schema, "adaptive", Fraction(1, 10)), Wire()
    network = learn_over(wire, agreed, dealt(table, 10), simulate=1)
    assert cross_entropy(network) < 5.5
    asked = [question.query for name, question in wire.asked if name == "h0"]
    assert [type(query) for query in asked] == [GroupedTablesQuery, GroupedTablesQuery]
    blocks = asked[1]
    assert isinstance(blocks, GroupedTablesQuery)
    members = [tuple(blocks.groupings[place].attribute for place in axes) for axes in blocks.tables]
    assert sorted(members) == sorted(tuple(a for a, _ in axes) for axes in covering(table.schema.sizes))
    assert sum(blocks.radii) == len(members)
    # In millionths of what blocks get, not of the grant: a run that an earlier version began is refused here, and free.
    assert sum(blocks.weights) == pytest.approx(10**6, abs=len(members))
    assert network.privacy is not None
    assert network.privacy.loss == agreed.grant
    assert any(f"{len(members)} blocks of attributes" in line for line in network.privacy.lines())
    assert len(network.posterior("X1", {"X0": "1"}).interval_texts()) == 2


def test_where_noise_is_low_what_lies_in_no_block_is_looked_for() -> None:
    """Two exclusive ors of three attributes each that no block holds: nothing but choices can find them."""
    sizes = (2,) * 9
    held = {c for axes in covering(sizes) for c in combinations([a for a, _ in axes], 3)}
    first = next(c for c in combinations(range(9), 3) if c not in held)
    second = next(c for c in combinations(range(9), 3) if c not in held and not set(c) & set(first))
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 2, (9, 2 * RECORDS))
    for one, other, both in (first, second):
        codes[both] = codes[one] ^ codes[other] ^ (rng.random(2 * RECORDS) < 0.05)
    schema = Schema("xor", tuple(Attribute(f"x{i}", categories=("no", "yes")) for i in range(9)))
    training, test = (Table(schema, codes[:, part].astype(np.uint8)) for part in (slice(0, None, 2), slice(1, None, 2)))
    network = learn(Study("xor", schema, "adaptive", Fraction(1)), dealt(training, 3), simulate=1)
    assert _bits(network, test) < 9 - 0.9 * 2 * (1 - 0.2864)


def _bits(network: Network, test: Table) -> float:
    return float(network.log_prob(test).mean()) / -math.log(2)


def test_a_study_that_a_version_without_blocks_began_is_refused_before_it_costs_more() -> None:
    """It measured single attributes where blocks are asked for now."""
    table = synthetic_network().sample_table(40_000, 1, independent=True)
    agreed = Study("thesis", table.schema, "adaptive", Fraction(1, 2))
    with closing(Ledger.in_memory()) as ledger:
        door = {"all": Gate(table, agreed, ledger, SimulatedNoise(5)).ask}
        session = Session.of(Federation(agreed, door, simulated=True))
        session.measure([()], TOTAL, "the number of records", round_number=0)
        alone: list[Axes] = [((attribute, size),) for attribute, size in enumerate(session.sizes)]
        session.measure(alone, Fraction(1, 10), "single attributes", round_number=2)
        before = ledger.summary().spent
        with pytest.raises(HolderRefusedError, match="another question for tables was answered in round 2"):
            learn_from(Federation(agreed, door, simulated=True))
        assert ledger.summary().spent == before
