"""What replicates answer, beside every record written out."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from panbayes.bayesnet.uncertainty import replicates as replicates_module
from panbayes.bayesnet.uncertainty import spread as spread_module
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.bayesnet.uncertainty.spread import Spread
from panbayes.errors import InputError
from tests.bayesnet.uncertainty.made import DRAWS, SIZES, TABLES, Floats, replicates, written_out


def by_hand(found: Replicates, number: int, targets: tuple[int, ...], evidence: dict[int, int]) -> Floats:
    """Sum over all records; then every target is brought to the law that the replicate has for it alone."""
    whole = written_out(found, number)
    keep = np.ones(len(whole.grid), dtype=bool)
    for v, code in evidence.items():
        keep &= whole.grid[:, v] == code
    answer = np.zeros([SIZES[v] for v in targets])
    np.add.at(answer, tuple(whole.grid[keep][:, v] for v in targets), whole.probability[keep])
    for axis, v in enumerate(targets):
        margin = np.bincount(found.groups[v][whole.grid[:, v]], whole.probability)
        law = np.bincount(found.groups[v], found.single_laws[v][number])
        factor = (law / margin)[found.groups[v]]
        answer = answer * factor.reshape([-1 if place == axis else 1 for place in range(len(targets))])
    return np.asarray(answer / answer.sum())


@pytest.mark.parametrize("seed", [1, 2])
def test_joint_laws_given_evidence_are_sums_over_all_records(seed: int) -> None:
    found = replicates(seed)
    for count in (1, 2, 3):
        for targets in permutations(range(4), count):
            rest = [v for v in range(4) if v not in targets]
            for given in [(), *combinations(rest, 1), *combinations(rest, 2)]:
                evidence = {v: (v + seed) % SIZES[v] for v in given}
                answers = list(Spread(found).joint(targets, evidence))
                assert len(answers) == DRAWS
                for number, answer in enumerate(answers):
                    expected = by_hand(found, number, targets, evidence)
                    np.testing.assert_allclose(answer, expected, atol=1e-12)


def test_all_single_attributes_at_once() -> None:
    found = replicates()
    for evidence in ({}, {0: 2}, {1: 1, 3: 0}):
        for number, answer in enumerate(Spread(found).singles(evidence)):
            for v in set(range(4)) - set(evidence):
                np.testing.assert_allclose(answer[v], by_hand(found, number, (v,), evidence), atol=1e-12)


@pytest.mark.parametrize("target", range(4))
def test_classification_is_the_law_given_all_others(target: int) -> None:
    found = replicates()
    codes = np.array(list(np.ndindex(SIZES)), dtype=np.uint8).T
    answers = list(Spread(found).conditional(target, codes))
    assert len(answers) == DRAWS
    for number, answer in enumerate(answers):
        for record in (0, 17, 60, 119):
            evidence = {v: int(codes[v, record]) for v in range(4) if v != target}
            np.testing.assert_allclose(answer[record], by_hand(found, number, (target,), evidence), atol=1e-12)


def test_what_is_too_large_has_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_module, "MOST_CELLS", 30)
    found = replicates()
    assert len(list(Spread(found).joint((0, 1), {}))) == DRAWS
    assert list(Spread(found).joint((0, 2), {})) == []
    monkeypatch.setattr(spread_module, "MOST_CELLS", 5)
    assert list(Spread(found).joint((0,), {1: 0})) == []
    assert list(Spread(found).singles({1: 0})) == []
    assert len(list(Spread(found).singles({}))) == DRAWS


def test_tables_whose_cells_take_too_long_to_find_have_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = replicates()
    monkeypatch.setattr(spread_module, "MOST_MAPPED", found.field.mapped)
    assert len(list(Spread(found).joint((0,), {1: 0}))) == DRAWS
    monkeypatch.setattr(spread_module, "MOST_MAPPED", found.field.mapped - 1)
    assert list(Spread(found).joint((0,), {1: 0})) == []
    assert list(Spread(replicates()).singles({1: 0})) == []


def test_tables_are_measured_once_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found = replicates()
    with pytest.raises(InputError, match="error: found a table twice"):
        replace(found, tables=(TABLES[0], TABLES[0]), parameters=np.zeros((DRAWS, 18), dtype=np.int16))
    monkeypatch.setattr(replicates_module, "MOST_TABLES", 0.5)
    assert replace(found) == found
    monkeypatch.setattr(replicates_module, "MOST_TABLES", 0.49)
    with pytest.raises(InputError, match="error: found 2 tables"):
        replace(found)
