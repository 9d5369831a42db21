"""The measures that claims of accuracy rest on, against their definitions, and the tables they are taken on."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.contest import compare, page
from bench.curves import SETS, alone, points
from bench.measures import area_under_curve, distance, of_records, references, triples_distance
from bench.quality import Method
from bench.real_tables import DEVELOPMENT, UNTOUCHED
from bench.stress_tables import STRESS, make
from bench.subjects import Subject, as_table, subject
from numpy.typing import NDArray

from bench import singles
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

SIZES = (2, 3, 4, 2)
SCHEMA = Schema("small", tuple(Attribute(f"a{j}", categories=tuple(range(size))) for j, size in enumerate(SIZES)))


def table(records: int, seed: int) -> Table:
    g = np.random.default_rng(seed)
    return as_table(SCHEMA, np.array([g.integers(0, size, records) for size in SIZES]))


def apart(one: Table, other: Table, attributes: tuple[int, ...]) -> float:
    """Half the sum of differences of frequencies, cell by cell."""
    total = 0.0
    for cell in itertools.product(*(range(SIZES[a]) for a in attributes)):
        shares = [np.mean(np.all(np.array(cell) == t.codes[list(attributes)].T, axis=1)) for t in (one, other)]
        total += abs(float(shares[0] - shares[1]))
    return total / 2


@pytest.mark.parametrize(("measure", "width"), [(distance, 2), (triples_distance, 3)])
def test_distances_are_half_the_sum_of_differences(measure: Callable[[Table, Table], float], width: int) -> None:
    one, other = table(60, 1), table(40, 2)
    expected = np.mean([apart(one, other, some) for some in itertools.combinations(range(4), width)])
    assert measure(one, other) == pytest.approx(expected, abs=1e-12)
    assert measure(one, one) == 0


def test_area_under_curve_counts_pairs_in_order_and_ties_half() -> None:
    g = np.random.default_rng(3)
    truth, score = g.random(50) < 0.3, g.integers(0, 6, 50).astype(float)
    won = [(a > b) + 0.5 * (a == b) for a in score[truth] for b in score[~truth]]
    assert area_under_curve(truth, score) == pytest.approx(np.mean(won), abs=1e-12)


def held(target: NDArray[np.int64]) -> Subject:
    """Half of the records to learn from, half to test on; the last attribute is the given one."""
    codes = table(400, 4).codes.astype(np.int64)
    codes[3] = target[:400]
    whole = as_table(SCHEMA, codes)
    return Subject("small", whole.select(slice(0, 200)), whole.select(slice(200, 400)), 3)


def test_classifiers_find_what_is_there_and_nothing_else() -> None:
    copy = table(400, 4).codes[0].astype(np.int64)
    found = of_records(held(copy).training, held(copy))
    assert found["accuracy"] == found["auc"] == found["accuracy_linear"] == found["auc_linear"] == 1
    chance = np.random.default_rng(5).integers(0, 2, 400)
    found = of_records(held(chance).training, held(chance))
    assert all(0.3 < found[key] < 0.7 for key in ("accuracy", "auc", "accuracy_linear", "auc_linear"))


def test_synthetic_records_of_one_class_predict_it() -> None:
    mixed = held((np.arange(400) % 4 > 0).astype(np.int64))
    alone = mixed.training.select(np.flatnonzero(mixed.training.codes[3] == 1))
    found = of_records(alone, mixed)
    assert found["accuracy"] == found["accuracy_linear"] == 0.75
    assert found["auc"] == found["auc_linear"] == 0.5


def test_references_are_in_bits_per_record() -> None:
    known = held(np.arange(400) % 2)
    found = references(known, only_bits=True)
    assert found["uniform"]["bits"] == pytest.approx(math.log2(2 * 3 * 4 * 2))
    training, test = known.training, known.test
    shares = [
        (np.bincount(column, minlength=size) + 0.5) / (training.records + 0.5 * size)
        for column, size in zip(training.codes, SIZES, strict=True)
    ]
    surprise = -sum(np.log2(share[column]) for share, column in zip(shares, test.codes, strict=True)).mean()
    assert found["independent"]["bits"] == pytest.approx(surprise, abs=1e-9)


def test_a_comparison_takes_the_rivals_better_setting_and_better_bits() -> None:
    other = {"triples": 0.1, "pairs_tenfold": 0.1, "accuracy": 0.5, "accuracy_linear": 0.5, "auc_linear": 0.5}
    rival = {"table": "t", "epsilon": "1", **other}
    rivals = [
        {**rival, "rounds": 2, "seed": 0, "bits": 5.0, "bits_refit": 4.0, "pairs": 0.3, "auc": 0.6},
        {**rival, "rounds": 2, "seed": 1, "bits": 5.0, "bits_refit": 6.0, "pairs": 0.3, "auc": 0.8},
        {**rival, "rounds": 16, "seed": 0, "bits": 4.6, "bits_refit": 7.0, "pairs": 0.2, "auc": 0.5},
        {"table": "t", "epsilon": "1", "rounds": 16, "seed": 1, "failed": "not done"},
    ]
    method = {"epsilon": "1", "delta": "1/1000000000", "adjacency": "add-remove", "holders": 1}
    mine = {"bits": 3.0, "pairs": 0.1, "auc": 0.9, **other}
    ours = [
        {"table": "t", "method": method, **mine},
        {"table": "t", "method": {**method, "holders": 3}, **mine, "bits": 9.0},
        {"table": "t", "method": {**method, "delta": "0"}, **mine, "bits": 9.0},
    ]
    header, line = compare(ours, rivals)
    cells = dict(zip(header.split()[2:], re.sub(r"/ +", "/", line).split()[2:], strict=True))
    assert (cells["bits"], cells["pairs"], cells["auc"]) == ("3.000/4.500", "0.1000/0.2000", "0.9000/0.7000")


@pytest.mark.parametrize("name", STRESS)
def test_made_tables_stay_inside_their_domains_and_never_change(name: str) -> None:
    codes, sizes = make(name, 300)
    assert codes.shape == (len(sizes), 300)
    assert (codes >= 0).all()
    assert (codes.max(axis=1) < np.array(sizes)).all()
    assert (codes == make(name, 300)[0]).all()


def test_a_real_table_is_split_into_all_its_records(tmp_path: Path) -> None:
    codes = np.array([np.arange(100) % 3, np.arange(100) // 10])
    facts = {"names": ["kind", "size"], "sizes": [3, 10], "ordered": [False, True], "missing": [False, True]}
    arrays: dict[str, Any] = {key: np.array(value) for key, value in facts.items()}
    np.savez(tmp_path / "given.npz", codes=codes, target=np.array(0), **arrays)
    found = subject("given", [tmp_path])
    assert (found.training.records, found.test.records, found.target) == (80, 20, 0)
    both = np.concatenate([found.training.codes, found.test.codes], axis=1)
    assert sorted(map(tuple, both.T.tolist())) == sorted(map(tuple, codes.T.tolist()))
    kind, size = found.schema.attributes
    assert (kind.numeric, kind.missing, size.numeric, size.missing, size.size) == (False, None, True, "missing", 10)


def test_real_tables_are_declared_without_slips() -> None:
    assert not set(DEVELOPMENT) & set(UNTOUCHED)
    for source in (DEVELOPMENT | UNTOUCHED).values():
        columns = source.columns.split()
        assert len(set(columns)) == len(columns)
        assert {source.target, *source.edges, *source.names.split()} <= set(columns)
        assert all(list(edges) == sorted(set(edges)) for edges in source.edges.values())


def run(epsilon: str, seed: int, bits: float, area: float) -> dict[str, Any]:
    method = {"epsilon": epsilon, "delta": "1/1000000000", "adjacency": "add-remove", "holders": 1, "seed": seed}
    measures = dict.fromkeys(("pairs", "triples", "accuracy", "accuracy_linear", "auc_linear"), 0.5)
    return {"table": "wages", "method": method, "bits": bits, "auc": area, **measures}


def test_the_page_sets_the_better_one_in_bold_only_beyond_two_standard_errors() -> None:
    ours = [run("1", 0, 30.0, 0.80), run("1", 1, 30.2, 0.90), run("0.1", 0, 33.0, 0.6)]
    rival = {"table": "wages", "epsilon": "1", "rounds": 2, "bits": 31.0, "bits_refit": 30.9, "auc": 0.9}
    rival |= dict.fromkeys(("pairs", "triples", "accuracy", "accuracy_linear", "auc_linear"), 0.4)
    lines = page(ours, [rival], ["wages", "churn"])
    assert len(lines) == 4
    alone, beside = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:])
    assert alone[:4] == ["wages", "(0.1, 10⁻⁹), add-remove", "1", "33.00"]
    assert beside[1] == "(1, 10⁻⁹), add-remove"
    assert beside[3:6] == ["**30.10** / 30.90", "0.5000 / **0.4000**", "0.5000 / **0.4000**"]
    assert beside[6:8] == ["**0.500** / 0.400", "0.850 / 0.900"]


def test_a_curve_holds_every_run_once_and_seeds_of_their_own() -> None:
    for name in SETS:
        found = list(points(name))
        assert len(set(found)) == len(found)
        assert (name == "bounds") == (not found)
        assert {point.seed for point in found} <= {0, 1, 2}


def test_single_attributes_under_noise_come_close_as_epsilon_grows() -> None:
    training = table(4000, 6)
    private = "1/1000000000", "add-remove"
    exact = [np.bincount(row, minlength=size) / 4000 for row, size in zip(training.codes, SIZES, strict=True)]
    apart = [
        max(
            float(np.abs(law - truth).max())
            for law, truth in zip(alone(Method("alone", epsilon, *private), training).tables, exact, strict=True)
        )
        for epsilon in ("0.01", "1", "1000")
    ]
    assert apart[2] < 0.002 < apart[1] < 0.05 < apart[0]


def test_what_noise_costs_ordered_attributes_is_their_divergence_with_their_order_and_without() -> None:
    """A hill of forty values beside an attribute without an order, which costs nothing here."""
    hill = Attribute("hill", categories=tuple(range(40)))
    texts = Attribute("texts", categories=("a", "b", "c"))
    g = np.random.default_rng(4)
    codes = np.array([np.clip(g.normal(20, 6, 20_000), 0, 39).astype(np.int64), g.integers(0, 3, 20_000)])
    held = as_table(Schema("both", (hill, texts)), codes)
    without, along = singles.lost(held, 0.01, runs=3)
    assert 0 < along < 0.7 * without
    assert singles.lost(as_table(Schema("texts", (texts,)), codes[1:]), 0.01, runs=1) == (0.0, 0.0)
