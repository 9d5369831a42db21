"""How much one person can move a number that is computed from the records.

All figures here are for *replacing* one record by another, with the number of records n public (bounded differential
privacy), unless ``adjacency`` says otherwise. Logarithms are natural, as in :mod:`panbayes.bayesnet.learning.scores`: a
score and its sensitivity must use the same one.

========================== ============================================ ==================================
what                       largest change (Δ)                           attained
========================== ============================================ ==================================
a contingency table (L1)   2, or 1 under add-remove                     always
mutual information         see :func:`mutual_information`               one side binary; else for odd n
R                          3/n + 2/n²                                   no: a bound
F                          1/n                                          for n ≥ 2, |Π| ≥ 2
a contingency table (L2²)  2, or 1 under add-remove                     always
‖c − e‖₁, e public         2, or 1 under add-remove                     for a domain of 2 or more
========================== ============================================ ==================================

The ``padded_score`` figures add 2E for the error E of computing a score in floating point
(:mod:`panbayes.exact.score_rounding`), and are rounded upwards. Mechanisms must use those.

Where a person may have several records (``max_records``), all of them may change and their number is not public
(errata 6): tables scale by group privacy, scores are taken per person (:func:`score_per_person`).

Thesis: Lemma lemma_sensitivity_mutual_info; Theorem thm_group; see errata 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from panbayes.errors import InputError
from panbayes.exact.score_rounding import (
    MAX_RECORDS,
    UNIT_ROUNDOFF,
    ScoreName,
    f_error,
    information_error,
    r_error,
    round_up,
)
from panbayes.privacy.adjacency import Adjacency

__all__ = [
    "f_score",
    "l1_distance",
    "mutual_information",
    "padded_score",
    "r_score",
    "score_per_person",
    "step_sensitivity",
    "table_l1",
    "table_l2_squared",
]


def table_l1(*, adjacency: Adjacency, max_records: int = 1, tables: int = 1) -> int:
    """Return the L1 sensitivity of ``tables`` contingency tables of the same records, released together.

    Replacing a record takes 1 from a cell and adds 1 to another: 2 per table. Adding or removing one: 1 per table. A
    person with up to ``max_records`` records changes that many times as much (group privacy).

    >>> table_l1(adjacency="replace"), table_l1(adjacency="add-remove", max_records=3, tables=10)
    (2, 30)
    """
    if max_records < 1:
        raise InputError("max_records", found=f"found {max_records}", remedy="give 1 or more")
    if tables < 1:
        raise InputError("tables", found=f"found {tables}", remedy="give 1 or more")
    return (2 if adjacency == "replace" else 1) * max_records * tables


def table_l2_squared(*, adjacency: Adjacency, max_records: int = 1) -> int:
    """Return the squared L2 sensitivity of one contingency table.

    Let m = ``max_records``. Replacing a person changes the table by Σᵢ (e_yᵢ − e_xᵢ) over at most m records that leave
    cells xᵢ for yᵢ (or only leave, or only come: e_x or e_y alone): each term has the norm √2 at most, the sum m·√2,
    its square 2m². Adding or removing a person changes it by Σᵢ e_xᵢ, of norm m at most, and m². Several tables add up
    their squares.

    >>> table_l2_squared(adjacency="replace"), table_l2_squared(adjacency="add-remove", max_records=3)
    (2, 9)
    """
    each = table_l1(adjacency=adjacency, max_records=1)
    return each * table_l1(adjacency="add-remove", max_records=max_records) ** 2


def l1_distance(*, adjacency: Adjacency, max_records: int = 1) -> int:
    """Return the sensitivity of ‖c − e‖₁ = Σ|c(x) − e(x)|, c a contingency table and e any fixed public numbers.

    By the triangle inequality, |‖c' − e‖₁ − ‖c − e‖₁| ≤ ‖c' − c‖₁ whatever e is: the sensitivity is the table's own in
    L1. The score ½‖c − e‖₁ has half of it: 1 under replace-one, ½ under add-remove. e may come from an untrusted
    analyst and need not be a distribution; it must only be fixed before c is looked at, and the arithmetic exact.

    >>> l1_distance(adjacency="replace"), l1_distance(adjacency="add-remove")
    (2, 1)
    """
    return table_l1(adjacency=adjacency, max_records=max_records)


def mutual_information(*, records: int, child: int, parents: int) -> float:
    """Return Δ of the empirical mutual information Î(X; Π) of natural logarithm, under replace-one.

    With n = ``records``, |X| = ``child`` and |Π| = ``parents``, the size of the *joint* domain of all parents:

    - (1/n)·ln n + ((n−1)/n)·ln(n/(n−1))  if |X| = 2 or |Π| = 2;
    - (2/n)·ln((n+1)/2) + ((n−1)/n)·ln((n+1)/(n−1))  otherwise;
    - 0 if one side has a single value, or n ≤ 1: the mutual information is 0 then.

    Thesis: Lemma lemma_sensitivity_mutual_info; see errata 6 (two binary parents have four joint values).

    >>> round(mutual_information(records=3, child=2, parents=9), 6)  # one record in three against three alike
    0.636514
    """
    n = _checked(records, child, parents)
    if n < 2 or child == 1 or parents == 1:
        return 0.0
    # ln(1 + x) by log1p: for large n the quotients are too close to 1 to be taken first.
    if child == 2 or parents == 2:
        return (math.log(n) + (n - 1) * math.log1p(1 / (n - 1))) / n
    return (2 * math.log((n + 1) / 2) + (n - 1) * math.log1p(2 / (n - 1))) / n


def r_score(*, records: int) -> float:
    """Return a bound on Δ of PrivBayes's R under replace-one: 3/n + 2/n² for n = ``records``.

    R(X, Π) = ½‖p(X, Π) − p(X)·p(Π)‖₁ of any domains. A bound: it is not attained on small domains (errata 6).
    """
    n = _checked(records)
    return 0.0 if n < 2 else 3 / n + 2 / n**2


def f_score(*, records: int) -> float:
    """Return Δ of PrivBayes's F under replace-one: 1/n for n = ``records``.

    F(X, Π) = −min (½ − K₀)₊ + (½ − K₁)₊ of a binary X, where every value of Π goes with one value of X, and Kₓ is the
    fraction of records that have x and one of the values that go with x. A replaced record lowers one of K₀, K₁ by 1/n
    and raises one by 1/n, at most, so no sum moves by more than 1/n; nor does the least of them.
    """
    n = _checked(records)
    return 0.0 if n < 1 else 1 / n


def padded_score(score: ScoreName, *, records: int, child: int, parents: int) -> float:
    """Return Δ + 2E, rounded upwards: the sensitivity of ``score`` as it is computed.

    ``child`` and ``parents`` are the domain size of X and of all parents jointly, as in :func:`mutual_information`. F
    is defined for a binary child only.
    """
    n = _checked(records, child, parents)
    if score == "I":
        delta = mutual_information(records=n, child=child, parents=parents)
        error = information_error(records=n, child=child, parents=parents)
    elif score == "R":
        delta, error = r_score(records=n), r_error()
    else:
        if child != 2:
            raise InputError("score", found=f"F and a child with {child} values", remedy="use R, or a binary child")
        delta, error = f_score(records=n), f_error()
    return round_up(delta + 2 * error)


def step_sensitivity(score: ScoreName, *, records: int, candidates: Iterable[tuple[int, int]]) -> float:
    """Return the one padded Δ that a selection among ``candidates`` must use: the largest.

    Each candidate is (|X|, |Π|): the domain size of the child and that of its parents jointly (errata 6).

    >>> step_sensitivity("I", records=100, candidates=[(2, 2), (3, 4)]) == padded_score(
    ...     "I", records=100, child=3, parents=4
    ... )
    True
    """
    deltas = {pair: padded_score(score, records=records, child=pair[0], parents=pair[1]) for pair in set(candidates)}
    if not deltas:
        raise InputError("candidates", found="found none", remedy="offer at least one candidate")
    return max(deltas.values())


def score_per_person(
    score: ScoreName, *, persons: int, max_records: int, candidates: Iterable[tuple[int, int]]
) -> float:
    """Return the padded Δ of scores per person, for replacing one person with up to m = ``max_records`` records.

    The number n of records is private then, so the scores of this module are multiplied by n/P, P = ``persons``.
    Replacing a person removes up to m records and adds up to m, one at a time. Per record added or removed:

    - n·R = ½Σ|c − a·b/n| changes by less than 2: with a record (x, π) more, the counts c change by 1 in L1, and
      a'b'/(n+1) − ab/n = (n·eₓb + n·a·e_π + n·eₓe_π − ab)/(n(n+1)) has an L1 norm of at most (3n² + n)/(n² + n) < 3;
    - n·F = −min [(n/2 − k₀)₊ + (n/2 − k₁)₊] by at most 1: for every assignment, n/2 moves by ½ in both terms, and one
      of k₀, k₁ by at most 1, so each term moves by at most ½;
    - n·Î by at most (n+1)·ln(n+1) − n·ln n, which grows with n ≤ m·P (errata 6).

    So Δ = 2m/P times 2, 1, or (N+1)·ln(N+1) − N·ln N with N = m·P; padding as in :func:`padded`, times n/P ≤ m.
    """
    if persons < 1 or max_records < 1:
        raise InputError("persons", found=f"found {persons}, {max_records}", remedy="give 1 or more of both")
    most = _checked(persons * max_records)
    pairs = set(candidates)
    if not pairs:
        raise InputError("candidates", found="found none", remedy="offer at least one candidate")
    if score == "I":
        each = math.log(most + 1) + most * math.log1p(1 / most)
        # The error grows with n but for a step of 2 in the unit of rounding.
        error = 2 * max(information_error(records=most, child=child, parents=parents) for child, parents in pairs)
    elif score == "R":
        each, error = 2.0, r_error()
    else:
        each, error = 1.0, f_error()
    scaled = max_records * (error + 4 * UNIT_ROUNDOFF * (math.log(most + 1) + 1))
    return round_up(2 * max_records * each / persons + 2 * scaled)


def _checked(records: int, child: int = 1, parents: int = 1) -> int:
    if not 0 <= records <= MAX_RECORDS:
        raise InputError("records", found=f"found {records}", remedy=f"give 0 to {MAX_RECORDS:,}")
    if child < 1 or parents < 1:
        raise InputError("candidates", found="found a domain without values", remedy="give sizes of 1 or more")
    return records
