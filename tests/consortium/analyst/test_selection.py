"""Which measured tables the law holds: what they say by hand, shadows left out, and the tree kept for the strong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.maxent import Effort
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.analyst.adaptive import fitting as fitting_module
from panbayes.consortium.analyst.adaptive import selection as selection_module
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import pairs
from panbayes.consortium.analyst.adaptive.selection import said, with_worthwhile

Floats = NDArray[np.float64]
RECORDS = 20_000
QUIET = NoiseLaw(True, ((1.0, 1),))


def codes(seed: int = 3) -> NDArray[np.int64]:
    """A chain 0 → 1 → 2 → 3 of three values each, and 4, of two, by itself."""
    g = np.random.default_rng(seed)
    rows = [g.integers(0, 3, RECORDS)]
    for _ in range(3):
        rows.append(np.where(g.random(RECORDS) < 0.4, g.integers(0, 3, RECORDS), rows[-1]))
    return np.array([*rows, g.integers(0, 2, RECORDS)])


CODES = codes()
SIZES = (3, 3, 3, 3, 2)


def counted(members: tuple[int, ...]) -> Measurement:
    cells = np.zeros([SIZES[a] for a in members])
    np.add.at(cells, tuple(CODES[a] for a in members), 1)
    return Measurement(tuple((a, SIZES[a]) for a in members), {"h": cells}, QUIET)


def begun() -> Belief:
    laws = [np.bincount(row, minlength=size) / RECORDS for row, size in zip(CODES, SIZES, strict=True)]
    nested = tuple(Nested.of(law, ordered=False) for law in laws)
    return Belief(float(RECORDS), tuple(Estimate(law, np.ones(law.size)) for law in laws), nested)


def sets_of(belief: Belief) -> set[tuple[int, ...]]:
    return {tuple(a for a, _ in table.axes) for table in belief.known}


def test_what_a_table_says_is_its_divergence_less_one_nat_for_each_cell_that_holds_something() -> None:
    mean, expected = np.array([[600.0, 200.0], [199.75, 0.25]]), np.array([[500.0, 300.0], [199.9, 0.1]])
    zeros = np.zeros((2, 2))
    table = Known(((0, 2), (1, 2)), mean, QUIET, expected, mean, zeros, zeros)
    divergence = sum(m * math.log(m / e) for m, e in zip(mean.ravel(), expected.ravel(), strict=True))
    assert said(table, 1_000.0) == pytest.approx(divergence - 3.25)
    assert said(table, 2_000.0) == pytest.approx(2 * divergence - 3.25)
    same = Known(((0, 2), (1, 2)), mean, QUIET, mean, mean, zeros, zeros)
    assert said(same, 1_000.0) == pytest.approx(-3.25)


def test_shadows_of_stronger_tables_stay_out_and_become_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of a chain depend on each other; once its links are in, the others say nothing more."""
    monkeypatch.setattr(selection_module, "_AT_ONCE", 3)
    every = [counted((a, b)) for a in range(5) for b in range(a + 1, 5)]
    found = with_worthwhile(begun(), every)
    assert sets_of(found) == {(0, 1), (1, 2), (2, 3)}
    assert {tuple(a for a, _ in axes) for axes in found.idle} == {
        (a, b) for a in range(5) for b in range(a + 1, 5) if b != a + 1 or b == 4
    }
    assert list(pairs(found, 0.1)) == [], "they are not offered again"
    assert with_worthwhile(begun(), []).known == ()


def test_after_the_last_round_pairs_that_say_no_more_than_chance_are_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triples are not, nor is what the tree has no room for; and the law then has the pairs of the records."""
    every = [counted((a, b)) for a in range(5) for b in range(a + 1, 5)]
    triple = counted((0, 2, 4))
    first = with_worthwhile(begun(), [*every, triple])
    found = with_worthwhile(begun(), [*every, triple], last=True)
    assert sets_of(first) < sets_of(found) == {(a, b) for a in range(5) for b in range(a + 1, 5)}
    assert len(found.known) == len(sets_of(found)), "each once"
    assert found.idle == (triple.axes,)
    assert len({table.batch for table in found.known}) == 2, "what chance alone says tells nothing of the others"
    (weakest,) = [table for table in every if table.axes == ((0, 3), (4, 2))]
    law = begun().spanned([weakest.axes])
    assert law.tables == (weakest.axes,)
    misses = []
    for belief in (first, found):
        fitted = belief.fitted(Effort(100))
        (expected,) = [table.expected for table in fitted.expecting([weakest])]
        misses.append(float(np.abs(expected - weakest.pooled).sum()))
    assert misses[1] < misses[0] / 3
    for module in (fitting_module, selection_module):
        monkeypatch.setattr(module, "TREE", 40)
    crowded = with_worthwhile(begun(), every, last=True)
    assert {(0, 1), (1, 2), (2, 3)} < sets_of(crowded) < sets_of(found)
    assert fitting_module.weight(crowded, []) <= 40


def test_idle_tables_stay_idle() -> None:
    first = begun().idling([((0, 3), (4, 2))])
    second = with_worthwhile(first, [counted((0, 1)), counted((2, 4))])
    assert second.idle == (((0, 3), (4, 2)), ((2, 3), (4, 2)))


def test_tables_that_a_full_tree_cannot_hold_stay_out_and_the_stronger_ones_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Room for two links of the chain and not for the weaker table of its ends and all."""
    triple: Axes = ((0, 3), (1, 3), (3, 3))
    weak = counted((0, 1, 3))
    assert weak.axes == triple
    for module in (fitting_module, selection_module):
        monkeypatch.setattr(module, "TREE", 26)
    found = with_worthwhile(begun(), [weak, counted((1, 2)), counted((0, 1))])
    assert sets_of(found) == {(0, 1), (1, 2)}
    assert triple in found.idle


def test_the_order_is_by_what_a_table_says_for_each_cell_the_tree_grows_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """A triple says as much as a link and more, but the tree would grow by thrice the cells."""
    monkeypatch.setattr(selection_module, "_AT_ONCE", 1)
    parts: list[tuple[Axes, ...]] = []
    learned = Belief.learned

    def kept(self: Belief, new: list[Measurement], again: tuple[()], *, effort: Effort, batch: int) -> Belief:
        parts.append(tuple(table.axes for table in new))
        return learned(self, new, again, effort=effort, batch=batch)

    monkeypatch.setattr(Belief, "learned", kept)
    tables = [counted((0, 1, 4)), counted((1, 2))]
    monkeypatch.setattr(selection_module, "_GROWTH", 1e9)
    with_worthwhile(begun(), tables)
    monkeypatch.setattr(selection_module, "_GROWTH", 1.0)
    with_worthwhile(begun(), tables)
    strongest = max(tables, key=lambda t: said(_known(t), RECORDS)).axes
    assert parts[0] == (strongest,)
    assert parts[2] == (tables[1].axes,)


def _known(table: Measurement) -> Known:
    (known,) = begun().expecting([table])
    return Known(
        known.axes, known.noisy, known.law, known.expected, known.noisy + 1e-9, known.variance, known.parameters
    )


def test_tables_of_one_round_are_one_batch_and_those_of_the_next_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_module, "_AT_ONCE", 1)
    first = with_worthwhile(begun(), [counted((0, 1)), counted((1, 2))])
    second = with_worthwhile(first, [counted((2, 3))])
    assert [table.batch for table in second.known] == [1, 1, 2]
