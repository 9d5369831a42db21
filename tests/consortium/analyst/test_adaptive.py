"""The adaptive strategy: it learns, abstains, stays within its grant and asks the same when resumed."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.division import CHOOSING, Division, Grant
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.local.learn import learn
from panbayes.consortium.protocol.transport import Ask
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import HolderFailedError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.composition import Parallel, PostProcessed, loss_of
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table

SIZES = (2, 3, 12, 2, 4, 2, 3, 5)
SCHEMA = Schema(
    "chain",
    tuple(
        Attribute(f"x{i}", bins=tuple(range(size + 1)))
        if size > 10
        else Attribute(f"x{i}", categories=tuple(f"v{value}" for value in range(size)))
        for i, size in enumerate(SIZES)
    ),
)
SETTINGS: list[tuple[Adjacency, Fraction]] = [
    ("replace", Fraction(0)),
    ("add-remove", Fraction(0)),
    ("replace", Fraction(1, 10**9)),
    ("add-remove", Fraction(1, 10**9)),
]


def population(*, dependent: bool = True) -> Network:
    """A tree with strong dependencies, or the same attributes without any."""
    rng = np.random.default_rng(4)
    parents = (None, 0, 0, 1, 1, 2, 2, 5)
    pairs = [(i, () if p is None or not dependent else (p,)) for i, p in enumerate(parents)]
    tables = [
        rng.dirichlet(np.full(SIZES[i], 0.5 if pa else 2.0), size=SIZES[pa[0]] if pa else None) for i, pa in pairs
    ]
    return Network(SCHEMA, Structure.of(pairs), tuple(tables))


TRUTH = population()
TRAINING, TEST = TRUTH.sample_table(12_000, 1), TRUTH.sample_table(6_000, 2)


def study(epsilon: str = "1", adjacency: Adjacency = "replace", delta: Fraction = Fraction(0)) -> Study:
    return Study("test", SCHEMA, "adaptive", Fraction(epsilon), adjacency=adjacency, delta=delta)


def holders(table: Table, count: int) -> dict[str, Table]:
    return {f"h{j}": table.select(slice(j, None, count)) for j in range(count)}


def bits(network: Network, test: Table = TEST) -> float:
    return float(network.log_prob(test).mean()) / -math.log(2)


@pytest.mark.parametrize(("adjacency", "delta"), SETTINGS)
@pytest.mark.parametrize("count", [1, 3])
def test_it_finds_dependencies_and_stays_within_its_grant(adjacency: Adjacency, delta: Fraction, count: int) -> None:
    """At ε = 1 it closes most of the gap between independence and the truth (2.6 bits), in every setting."""
    agreed = study("1", adjacency, delta)
    network = learn(agreed, holders(TRAINING, count), simulate=7)
    truth = bits(TRUTH)
    alone = bits(learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7))
    assert bits(network) < truth + 0.35 * (alone - truth)
    assert network.structure.degree in (1, 2)
    assert network.privacy is not None
    assert network.privacy.loss.implies(agreed.grant)
    assert not network.privacy.private
    assert ("the number of records" in network.privacy.public) == (adjacency == "replace")
    lines = "\n".join(network.privacy.lines())
    assert ("(ε, δ) = (1, 1e-09)" in lines) == bool(delta)


@pytest.mark.parametrize("epsilon", ["1/200", "1/50", "1/20", "1/5", "1", "5"])
@pytest.mark.parametrize("dependent", [True, False])
def test_it_is_never_much_worse_than_private_independence(epsilon: str, dependent: bool) -> None:
    """Within 0.3 bits at every ε, with dependencies to be tempted by and without; means of four runs."""
    truth = population(dependent=dependent)
    training, test = truth.sample_table(12_000, 1), truth.sample_table(4_000, 2)
    alone = Study("i", SCHEMA, "independent", Fraction(epsilon), clip="analyst")
    mine, theirs = (
        np.mean([bits(learn(s, training, simulate=seed), test) for seed in range(4)]) for s in (study(epsilon), alone)
    )
    assert mine < theirs + 0.3


def test_it_abstains_where_the_noise_would_win() -> None:
    network = learn(study("1/500"), TRAINING, simulate=1)
    assert network.structure.degree == 0
    assert network.privacy is not None
    assert len(learn(study("1"), population(dependent=False).sample_table(12_000, 3), simulate=1).structure.edges) < 7


@pytest.mark.parametrize(("adjacency", "delta"), SETTINGS[::2])
def test_a_holder_that_has_no_turn_to_choose_spends_less_and_the_statement_says_so(
    adjacency: Adjacency, delta: Fraction
) -> None:
    """Three holders and one pick: it is the largest holder's, and the others keep what the choice would have cost."""
    agreed = study("1/20", adjacency, delta)
    division = Division.of(Grant.of(agreed), SIZES, total=TRAINING.records, holders=3)
    assert (division.pair_picks, division.triple_picks) == (1, 0)
    cuts = {"a": slice(0, 3_000), "b": slice(3_000, 8_000), "c": slice(8_000, None)}
    network = learn(agreed, {name: TRAINING.select(cut) for name, cut in cuts.items()}, simulate=1)
    assert network.privacy is not None
    whole = network.privacy.composition
    assert isinstance(whole, PostProcessed)
    assert isinstance(whole.part, Parallel)
    less = agreed.grant.part(1 - CHOOSING * division.pairs)
    assert [loss_of(part) for part in whole.part.parts] == [less, agreed.grant, less]
    assert network.privacy.loss == agreed.grant


def test_labels_that_differ_between_holders_do_not_break_it() -> None:
    """A split by the value of an attribute: holders disagree about every distribution."""
    values = TRAINING.codes[1]
    split = {f"h{v}": TRAINING.select(np.flatnonzero(values == v)) for v in range(3)}
    agreed = study("1", "add-remove", Fraction(1, 10**9))
    alone = bits(learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7))
    assert bits(learn(agreed, split, simulate=3)) < alone - 1


def test_a_person_may_have_several_records() -> None:
    schema = replace(SCHEMA, unit=Unit("person", 2))
    table = Table(schema, TRAINING.codes, persons=7_000)
    network = learn(replace(study("2"), schema=schema), table, simulate=1)
    assert network.privacy is not None
    assert network.privacy.unit == "person"
    assert bits(replace(network, schema=SCHEMA)) < bits(
        learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7)
    )


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 2), (1, 2, 1), (300, 2, 2)])
@pytest.mark.parametrize("records", [0, 1, 500])
def test_small_and_odd_tables(sizes: tuple[int, ...], records: int) -> None:
    attributes = [Attribute(f"x{i}", categories=tuple(f"v{v}" for v in range(size))) for i, size in enumerate(sizes)]
    schema = Schema("odd", tuple(attributes))
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, records) for size in sizes])
    table = Table(schema, codes.astype(np.uint16 if max(sizes) > 256 else np.uint8))
    for adjacency, delta in SETTINGS:
        agreed = Study("odd", schema, "adaptive", Fraction(1), adjacency=adjacency, delta=delta)
        network = learn(agreed, holders(table, 2), simulate=2)
        assert all(np.all(table > 0) for table in network.tables)


class _StopsError(Exception):
    """The connection is lost."""


def test_a_resumed_run_asks_the_same_questions_and_gets_the_same_network() -> None:
    """Lose the connection after each number of messages in turn; with the same ledgers the run ends the same way."""
    agreed = study("1", "add-remove", Fraction(1, 10**9))
    tables = holders(TRAINING, 2)
    with open_gates(agreed, tables, simulate=5) as gates:
        whole = learn_from(Federation(agreed, gates, simulated=True))
    ledgers = {name: Ledger.in_memory() for name in tables}
    doors = {
        name: Gate(table, agreed, ledgers[name], SimulatedNoise(5).spawn(f"holder {name}".encode()))
        for name, table in tables.items()
    }
    for stop in (1, 3, 5, 8):
        with pytest.raises(HolderFailedError):
            learn_from(Federation(agreed, _failing(doors, stop), simulated=True))
    resumed = learn_from(Federation(agreed, {name: door.ask for name, door in doors.items()}, simulated=True))
    assert resumed == whole
    for ledger in ledgers.values():
        assert ledger.summary().spent.implies(agreed.grant)
        ledger.close()


def _failing(doors: Mapping[str, Gate], stop: int) -> dict[str, Ask]:
    messages = [0]

    def reach(name: str, data: bytes) -> bytes:
        messages[0] += 1
        if messages[0] > stop:
            raise _StopsError
        return doors[name].ask(data)

    return {name: partial(reach, name) for name in doors}


def test_with_secure_noise_the_ledger_is_spent_and_the_same_study_is_free(tmp_path: object) -> None:
    agreed = study("1", "add-remove", Fraction(1, 10**9))
    first = learn(agreed, holders(TRAINING, 2), state=str(tmp_path))
    again = learn(agreed, holders(TRAINING, 2), state=str(tmp_path))
    assert first == again
    assert first.privacy is not None
    assert first.privacy.private
    assert bits(first) < bits(learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7))


LEARN_AND_TELL = """
import json, sys
from tests.consortium.studies import STUDIES, Wire, learn_over, tables_for
for study in STUDIES:
    if study.strategy == "adaptive":
        wire = Wire()
        network = learn_over(wire, study, tables_for(study), simulate=3)
        asked = sorted((name, question.id) for name, question in wire.asked)
        print(json.dumps([asked, [table.ravel().tolist() for table in network.tables]]))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the settings below are names of x86 processors")
def test_an_older_processor_asks_the_same_and_differs_in_the_last_digits_only() -> None:
    """Without AVX2, AVX-512 and FMA, in NumPy, in its linear algebra and in the C library."""
    older = {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL",
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    }
    told = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LEARN_AND_TELL],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).resolve().parents[3],
            env={**os.environ, **more},
        ).stdout.splitlines()
        for more in ({}, older)
    ]
    assert len(told[0]) == len(told[1]) > 3
    for here, there in zip(*told, strict=True):
        (asked, tables), (asked_there, tables_there) = json.loads(here), json.loads(there)
        assert asked == asked_there
        for table, other in zip(tables, tables_there, strict=True):
            assert other == pytest.approx(table, rel=1e-12, abs=1e-13)
