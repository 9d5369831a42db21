"""Scores: against exact arithmetic and brute force, one by one and at once, and the bounds on their errors."""

from __future__ import annotations

import decimal
import itertools
import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray
from panbayes.bayesnet.information_units import KNOWN
from panbayes.bayesnet.learning.scores.f_score import f_score, f_scores
from panbayes.bayesnet.learning.scores.mutual_information import mutual_information
from panbayes.bayesnet.learning.scores.r_score import r_score, r_scores
from panbayes.bayesnet.learning.scores.registry import score_named, scores
from panbayes.bayesnet.learning.scores.score import Score
from panbayes.bayesnet.structure import Family
from panbayes.dp import sensitivity
from panbayes.errors import InputError
from panbayes.exact.score_rounding import (
    LOG_ULPS,
    MAX_RECORDS,
    f_error,
    information_bits,
    information_error,
    r_error,
)
from panbayes.tables.counting.count_tables import CountTables, contingencies
from panbayes.tables.counting.engines import Kernels
from tests.effort import often

BOTH: tuple[Kernels, ...] = ("numba", "numpy")
Table = NDArray[np.int64]


def exact_f(counts: list[int]) -> Decimal:
    """Σ c·ln c to 40 digits."""
    with decimal.localcontext(prec=40):
        return sum((c * times * Decimal(c).ln() for c, times in Counter(counts).items() if c > 1), Decimal(0))


def exact_information(table: Table) -> Decimal:
    pairs = table.reshape(table.shape[0], -1)
    n = int(table.sum())
    with decimal.localcontext(prec=40):
        margins = exact_f(pairs.sum(axis=0).tolist()) + exact_f(pairs.sum(axis=1).tolist())
        return (exact_f(pairs.ravel().tolist()) - margins + exact_f([n])) / n


def exact_r(table: Table) -> Fraction:
    pairs: list[list[int]] = table.reshape(table.shape[0], -1).tolist()
    n = int(table.sum())
    child = [sum(row) for row in pairs]
    parents = [sum(column) for column in zip(*pairs, strict=True)]
    total = sum(
        abs(n * c - a * b) for row, a in zip(pairs, child, strict=True) for c, b in zip(row, parents, strict=True)
    )
    return Fraction(total, 2 * n * n)


def exact_f_score(table: Table) -> Fraction:
    """Try all assignments."""
    zeros, ones = table.reshape(2, -1).tolist()
    n = int(table.sum())
    least = min(
        max(n - 2 * sum(z for z, side in zip(zeros, sides, strict=True) if side == 0), 0)
        + max(n - 2 * sum(o for o, side in zip(ones, sides, strict=True) if side == 1), 0)
        for sides in itertools.product((0, 1), repeat=len(zeros))
    )
    return Fraction(-least, 2 * n)


def as_tables(tables: list[Table]) -> tuple[CountTables, list[Family]]:
    """Put tables with a common total into one CountTables; the child's axis moves from one to the next."""
    sizes: list[int] = []
    sets: list[tuple[int, ...]] = []
    families: list[Family] = []
    flat: list[NDArray[np.int32]] = []
    for e, table in enumerate(tables):
        axis = e % table.ndim
        names = tuple(range(len(sizes), len(sizes) + table.ndim))
        sizes += table.shape
        counted = (*names[1 : axis + 1], names[0], *names[axis + 1 :])
        sets.append(counted)
        families.append((names[0], names[1:]))
        flat.append(np.moveaxis(table, 0, axis).astype(np.int32).ravel())
    offsets = np.concatenate(([0], np.cumsum([part.size for part in flat]))).astype(np.int64)
    counts = CountTables(tuple(sizes), tuple(sets), int(tables[0].sum()), np.concatenate(flat), offsets)
    return counts, families


def random_tables(seed: int, records: int, shapes: list[tuple[int, ...]]) -> list[Table]:
    rng = np.random.default_rng(seed)
    return [
        rng.multinomial(records, rng.dirichlet(np.full(math.prod(shape), rng.choice([0.05, 0.5, 5])))).reshape(shape)
        for shape in shapes
    ]


SHAPES: list[tuple[int, ...]] = [(2, 2), (2, 7), (5, 3), (2, 3, 4), (7, 2, 2, 3), (1, 4), (3,), (2, 1), (2, 10)]


@pytest.mark.parametrize("records", [1, 2, 3, 17, 1000, 71_518, 2_000_003, MAX_RECORDS])
def test_information_is_within_its_error_bound(records: int) -> None:
    for table in random_tables(records, records, SHAPES):
        child, parents = table.shape[0], math.prod(table.shape[1:])
        error = information_error(records=records, child=child, parents=parents)
        assert abs(Decimal(mutual_information(table)) - exact_information(table)) <= Decimal(error)


EXACT: dict[str, Callable[[Table], Decimal | Fraction]] = {"I": exact_information, "R": exact_r, "F": exact_f_score}


@pytest.mark.parametrize("score", scores().values(), ids=lambda score: score.name)
@pytest.mark.parametrize("records", [1, 2, 3, 17, 1000, 71_518])
def test_every_score_is_within_its_error_bound(score: Score, records: int) -> None:
    """A score without an exact reference of its own does not pass."""
    for table in random_tables(records, records, [s for s in SHAPES if s[0] == 2 or not score.binary_child]):
        error = score.rounding_error(records=records, child=table.shape[0], parents=table.size // table.shape[0])
        with decimal.localcontext(prec=40):
            exact = EXACT[score.name](table)
            true = exact if isinstance(exact, Decimal) else Decimal(exact.numerator) / exact.denominator
            assert abs(Decimal(score.value(table)) - true) <= Decimal(error)


@pytest.mark.parametrize("records", [71_518, 2_000_000, 100_000_000])
def test_information_bound_where_rounding_errors_add_up(records: int) -> None:
    """All cells alike, so that the rounding errors have one sign; then the bound must hold, and not by far."""
    reached = 0.0
    for count in range(2, 12):
        parents = min(records // (2 * count), 10**6)
        table = np.full((2, parents), count, dtype=np.int64)
        table[0, 0] += records - int(table.sum())
        error = information_error(records=records, child=2, parents=parents)
        off = abs(Decimal(mutual_information(table)) - exact_information(table))
        assert off <= Decimal(error)
        reached = max(reached, float(off) / error)
    assert reached > 0.25


def test_information_bound_is_small_beside_the_sensitivity() -> None:
    for records in (1000, 71_518, 2_000_000, 100_000_000):
        delta = sensitivity.mutual_information(records=records, child=10, parents=100)
        assert information_error(records=records, child=10, parents=100) < 1e-6 * delta


@pytest.mark.parametrize("records", [2, 3, 71_518, 10**9, MAX_RECORDS])
def test_sums_of_units_fit_in_64_bits(records: int) -> None:
    bits = information_bits(records)
    assert records * math.log(records) * 2.0**bits < 2.0**61
    assert bits == 52 or records * math.log(records) * 2.0**bits >= 2.0**60, "no precision is given away"


def test_the_logarithm_is_as_good_as_assumed() -> None:
    rng = np.random.default_rng(0)
    counts = np.unique(np.concatenate([np.arange(2, 3000), rng.integers(2, MAX_RECORDS, 3000)]))
    values = np.log(counts.astype(np.float64))
    for count, value in zip(counts.tolist(), values.tolist(), strict=True):
        with decimal.localcontext(prec=40):
            error = abs(Decimal(value) - Decimal(count).ln())
        assert error <= Decimal(LOG_ULPS) * Decimal(math.ulp(value))


@pytest.mark.parametrize("records", [1, 2, 5, 1000, 71_518, MAX_RECORDS])
def test_r_is_exact_up_to_its_error_bound(records: int) -> None:
    for table in random_tables(records, records, SHAPES):
        assert abs(Fraction(r_score(table)) - exact_r(table)) <= Fraction(r_error())


def test_r_does_not_overflow_at_the_largest_size() -> None:
    half = MAX_RECORDS // 2
    for table in (
        np.array([[half, 0], [0, half + 1]]),
        np.array([[MAX_RECORDS, 0], [0, 0]]),
        np.full((2, 8), 2**27 - 1),
    ):
        counts, families = as_tables([table])
        expected = exact_r(table)
        for value in (r_score(table), *r_scores(counts, families)):
            assert abs(Fraction(float(value)) - expected) <= Fraction(r_error())


@settings(max_examples=often(30, 150), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 40) | st.sampled_from([0, 1, 64, 1000]), st.integers(0, 40) | st.just(1000)),
        min_size=1,
        max_size=9,
    )
)
def test_f_is_the_best_of_all_assignments(values: list[tuple[int, int]]) -> None:
    table = np.array(values, dtype=np.int64).T
    if not table.sum():
        return
    expected = exact_f_score(table)
    counts, families = as_tables([table])
    assert abs(Fraction(f_score(table)) - expected) <= Fraction(f_error())
    for kernels in BOTH:
        assert f_scores(counts, families, kernels=kernels)[0] == f_score(table)


@pytest.mark.parametrize("seed", range(6))
def test_f_of_wide_tables_agrees_between_kernels(seed: int) -> None:
    """Many parents' values, where no enumeration reaches; also counts made to be hard to split evenly."""
    rng = np.random.default_rng(seed)
    wide = 2 ** rng.integers(0, 12, size=(2, 60))
    even = np.full((2, 41), 7)
    near = np.stack([rng.integers(900, 1100, 31), rng.integers(900, 1100, 31)])
    skewed = np.stack([rng.integers(0, 2000, 90), rng.integers(0, 3, 90)])
    for table in (wide, even, near, skewed, np.repeat([[3], [5]], 200, axis=1)):
        counts, families = as_tables([table.astype(np.int64)])
        assert f_scores(counts, families)[0] == f_score(table)


@pytest.mark.parametrize("records", [0, 1, 2, 40, 3000, 2_500_000])
@pytest.mark.parametrize(("many", "one"), [(r_scores, r_score), (f_scores, f_score)])
def test_all_at_once_is_the_same_as_one_by_one(
    many: Callable[..., NDArray[np.float64]], one: Callable[[CountArray], float], records: int
) -> None:
    shapes = [s for s in SHAPES if s[0] == 2] if one is f_score else SHAPES
    if one is f_score and records > 10**6:
        shapes = [(2, 3)]
    tables = random_tables(9, records, shapes * 4)
    counts, families = as_tables(tables)
    expected = [one(table) for table in tables]
    for kernels in BOTH:
        assert many(counts, families, kernels=kernels).tolist() == expected


def test_families_of_counted_records() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, size=(4, 500)).astype(np.uint8)
    codes[3] = codes[0] ^ codes[1]
    counts = contingencies(codes, (2, 2, 2, 2), [(0,), *itertools.combinations(range(4), 2), (0, 1, 3)])
    for many in (r_scores, f_scores):
        dependent, independent = many(counts, [(3, (1, 0)), (3, (2,))])
        assert dependent > independent + 0.3
        with pytest.raises(KeyError):
            many(counts, [(0, (1, 2))])
        assert many(counts, []).shape == (0,)
    assert r_scores(counts, [(0, ())]).tolist() == [0]


@pytest.mark.parametrize("score", scores().values(), ids=lambda score: score.name)
def test_no_records_score_zero(score: Score) -> None:
    for shape in ((2, 3), (2, 2, 2), (2,)):
        assert score.value(np.zeros(shape, dtype=np.int64)) == score.value(np.zeros(shape)) == 0


@pytest.mark.parametrize("score", scores().values(), ids=lambda score: score.name)
def test_the_order_of_values_and_whole_floats_do_not_matter(score: Score) -> None:
    for table in random_tables(1, 2000, [shape for shape in SHAPES if shape[0] == 2]):
        assert score.value(np.flip(table)) == score.value(table)
        error = score.rounding_error(records=2000, child=2, parents=table.size // 2)
        assert score.value(table.astype(np.float64)) == pytest.approx(score.value(table), abs=2 * error + 1e-12)


def test_scores_are_known_by_their_names() -> None:
    assert all(score_named(name) is score and score.name == name for name, score in scores().items())
    with pytest.raises(InputError, match=r'--score: found "i"; did you mean "I"\?'):
        score_named("i", argument="--score")


@pytest.mark.parametrize("score", scores().values(), ids=lambda score: score.name)
def test_every_score_has_its_sensitivity_under_the_same_name(score: Score) -> None:
    own = sensitivity.sensitivity_of(score.name)
    assert own.rounding_error is score.rounding_error, "the padding must be of the error that the score has"
    assert own.binary_child == score.binary_child


def test_no_sensitivity_without_a_score() -> None:
    assert set(sensitivity.SENSITIVITIES) == set(scores())


def entropy(table: Table) -> float:
    """H(X) = I(X; X)."""
    return mutual_information(np.diag(table.ravel()))


@settings(max_examples=often(12, 60), deadline=None)
@given(st.data())
def test_relations_between_scores(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.just(2), st.integers(1, 5), st.integers(1, 4)))
    cells = data.draw(st.lists(st.integers(0, 50), min_size=math.prod(shape), max_size=math.prod(shape)))
    table = np.array(cells, dtype=np.int64).reshape(shape)
    n = int(table.sum())
    information = mutual_information(table)
    error = information_error(records=n, child=2, parents=shape[1] * shape[2])
    assert 0 <= information <= min(entropy(table.sum(axis=(1, 2))), entropy(table.sum(axis=0))) + 2 * error
    assert mutual_information(table.sum(axis=2)) <= information + 2 * error, "more parents never tell less"
    assert 2 * r_score(table) ** 2 <= information + 1e-9, "Pinsker"
    assert -0.5 <= f_score(table) <= 0
    flipped = table[::-1, ::-1]
    assert (mutual_information(flipped), r_score(flipped), f_score(flipped)) == (
        information,
        r_score(table),
        f_score(table),
    )
    real = table.astype(np.float64)
    assert mutual_information(real) == pytest.approx(information, abs=1e-12)
    assert r_score(real) == pytest.approx(r_score(table), abs=1e-12)


def test_counts_beyond_the_lookup_table() -> None:
    table = np.array([[KNOWN + 5, 3], [1, 2 * KNOWN]])
    error = Decimal(information_error(records=int(table.sum()), child=2, parents=2))
    assert abs(Decimal(mutual_information(table)) - exact_information(table)) <= error


def test_what_cannot_be_scored() -> None:
    with pytest.raises(InputError, match="F and a child with 3 value"):
        f_score(np.ones((3, 2), dtype=np.int64))
    counts, families = as_tables([np.ones((3, 2), dtype=np.int64)])
    with pytest.raises(InputError, match="F and a child with 3 value"):
        f_scores(counts, families)
    with pytest.raises(InputError, match="negative"):
        mutual_information(np.array([[1, -1], [1, 1]]))
    with pytest.raises(InputError, match="negative or infinite"):
        mutual_information(np.array([[1.0, math.nan], [1, 1]]))
    with pytest.raises(InputError, match="at most 2,147,483,647"):
        r_score(np.array([[MAX_RECORDS, 1]]))
