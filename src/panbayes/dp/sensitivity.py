"""How much one person can move a score that is computed from the records.

How far contingency tables can be apart stands in :mod:`panbayes.privacy.adjacency`. All figures here are for
*replacing* one record by another, with the number of records n public (bounded differential privacy). Logarithms are
natural, as in the scores (:mod:`panbayes.bayesnet.learning.scores.score`): a score and its sensitivity must use the
same one, and are registered under the same name (:data:`SENSITIVITIES`).

========================== ============================================ ==================================
score                      largest change (Δ)                           attained
========================== ============================================ ==================================
mutual information         see :func:`mutual_information`               one side binary; else for odd n
R                          3/n + 2/n²                                   no: a bound
F                          1/n                                          for n ≥ 2, |Π| ≥ 2
========================== ============================================ ==================================

The ``padded_score`` figures add 2E for the error E of computing a score in floating point
(:mod:`panbayes.exact.score_rounding`), and are rounded upwards. Mechanisms must use those.

Where a person may have several records (``max_records``), all of them may change and their number is not public
(errata 6): scores are then taken per person (:func:`score_per_person`).

Thesis: Lemma lemma_sensitivity_mutual_info; Theorem thm_group; see errata 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from panbayes.errors import InputError, nearest
from panbayes.exact.score_rounding import (
    MAX_RECORDS,
    UNIT_ROUNDOFF,
    RoundingError,
    f_error,
    information_error,
    r_error,
    round_up,
)

__all__ = [
    "SENSITIVITIES",
    "Delta",
    "ScoreSensitivity",
    "f_score",
    "linear_score",
    "mutual_information",
    "padded_score",
    "r_score",
    "score_per_person",
    "sensitivity_of",
    "step_sensitivity",
]


class Delta(Protocol):
    """Bounds by how much a score changes when one record is replaced by another."""

    def __call__(self, *, records: int, child: int, parents: int) -> float:
        """Return Δ for ``child`` values and ``parents`` values of all parents jointly, among ``records`` records."""


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


def r_score(*, records: int, child: int, parents: int) -> float:
    """Return a bound on Δ of PrivBayes's R under replace-one: 3/n + 2/n² for n = ``records``.

    R(X, Π) = ½‖p(X, Π) − p(X)·p(Π)‖₁ with domains of ``child`` and ``parents`` values. A bound: it is not attained
    on small domains (errata 6).
    """
    n = _checked(records, child, parents)
    return 0.0 if n < 2 else 3 / n + 2 / n**2


def f_score(*, records: int, child: int, parents: int) -> float:
    """Return Δ of PrivBayes's F under replace-one: 1/n for n = ``records``.

    F(X, Π) = −min (½ − K₀)₊ + (½ − K₁)₊ of a binary X (``child`` = 2) and any ``parents``, where every value of Π goes
    with one value of X, and Kₓ is the fraction of records that have x and one of the values that go with x. A replaced
    record lowers one of K₀, K₁ by 1/n and raises one by 1/n, at most, so no sum moves by more than 1/n; nor does the
    least of them.
    """
    n = _checked(records, child, parents)
    return 0.0 if n < 1 else 1 / n


def linear_score(*, max_records: int, parents: int) -> int:
    """Return Δ of the linear score of votes, in records: 2m·k for m = ``max_records`` of a person, k = ``parents``.

    For every pair of the child and one of its k parents, S = Σ w(r) over the records r, with a weight w(r) = a·b − e,
    where the signs a, b ∈ {−1, 1} follow from the record, and e is public, the product of two means in [−1, 1]. So w
    lies in the interval [−1 − e, 1 − e], which has length 2 and, since |e| ≤ 1, holds 0. Replacing a person takes at
    most m records away and adds at most m: a record in place of another moves S by at most the length of the interval,
    and one that only comes or only leaves by at most max |w| ≤ 2. S moves by at most 2m therefore, whether the number
    of records is public or not; so does |S|, and Σ |S| over k pairs by at most 2m·k. Adding or removing a person moves
    S by at most m·max |w| ≤ 2m: the same bound holds there.

    The score is rounded down to whole records, and Δ is an integer: where a number moves by at most Δ, so does its
    floor. It is attained for k parents that always agree.

    >>> linear_score(max_records=1, parents=1), linear_score(max_records=3, parents=2)
    (2, 12)
    """
    if max_records < 1 or parents < 1:
        raise InputError("parents", found=f"found {parents}", remedy="give 1 or more of records and of parents")
    return 2 * max_records * parents


@dataclass(frozen=True, slots=True)
class ScoreSensitivity:
    """How much one person can move a score: what a private selection by it must know.

    ``name`` is that of the score (:mod:`panbayes.bayesnet.learning.scores`). ``replace_one`` is Δ under replace-one.
    ``per_record(N)`` bounds the change of n·score by one record more or less, n ≤ N the number of records.
    ``rounding_error`` is the score's own E; ``error_factor`` times E at N records bounds E at any n ≤ N.
    ``binary_child`` says that the score is defined for children with two values only. No score may exceed ln(N + 1) + 1
    in absolute value: :func:`score_per_person` bounds the rounding of its last product by that.
    """

    name: str
    replace_one: Delta
    per_record: Callable[[int], float]
    rounding_error: RoundingError
    error_factor: int = 1
    binary_child: bool = False

    def check_child(self, size: int) -> None:
        """Refuse a child whose domain the score is not defined for."""
        if self.binary_child and size != 2:
            raise InputError(
                "score",
                found=f"{self.name} and a child with {size} values",
                remedy="use another score, or a binary child",
            )


def _information_per_record(most: int) -> float:
    """Return (N+1)·ln(N+1) − N·ln N, N = ``most``."""
    return math.log(most + 1) + most * math.log1p(1 / most)


SENSITIVITIES: Final = {
    found.name: found
    for found in (
        # The error grows with n but for a step of 2 in the unit of rounding, hence the factor.
        ScoreSensitivity("I", mutual_information, _information_per_record, information_error, error_factor=2),
        ScoreSensitivity("R", r_score, lambda _: 2.0, r_error),
        ScoreSensitivity("F", f_score, lambda _: 1.0, f_error, binary_child=True),
    )
}
"""Every score's sensitivity by the score's name; :func:`score_per_person` proves the figures per record."""


def sensitivity_of(score: str) -> ScoreSensitivity:
    """Return the sensitivity of the score of this name."""
    if score not in SENSITIVITIES:
        raise InputError("score", found=f'found "{score}"', remedy=nearest(score, sorted(SENSITIVITIES)))
    return SENSITIVITIES[score]


def padded_score(score: str, *, records: int, child: int, parents: int) -> float:
    """Return Δ + 2E, rounded upwards: the sensitivity of ``score`` as it is computed.

    ``child`` and ``parents`` are the domain size of X and of all parents jointly, as in :func:`mutual_information`.
    """
    own = sensitivity_of(score)
    own.check_child(child)
    delta = own.replace_one(records=records, child=child, parents=parents)
    return round_up(delta + 2 * own.rounding_error(records=records, child=child, parents=parents))


def step_sensitivity(score: str, *, records: int, candidates: Iterable[tuple[int, int]]) -> float:
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


def score_per_person(score: str, *, persons: int, max_records: int, candidates: Iterable[tuple[int, int]]) -> float:
    """Return the padded Δ of scores per person, for replacing one person with up to m = ``max_records`` records.

    The number n of records is private then, so the scores of this module are multiplied by n/P, P = ``persons``.
    Replacing a person removes up to m records and adds up to m, one at a time. Per record added or removed:

    - n·R = ½Σ|c − a·b/n| changes by less than 2: with a record (x, π) more, the counts c change by 1 in L1, and
      a'b'/(n+1) − ab/n = (n·eₓb + n·a·e_π + n·eₓe_π − ab)/(n(n+1)) has an L1 norm of at most (3n² + n)/(n² + n) < 3;
    - n·F = −min [(n/2 − k₀)₊ + (n/2 − k₁)₊] by at most 1: for every assignment, n/2 moves by ½ in both terms, and one
      of k₀, k₁ by at most 1, so each term moves by at most ½;
    - n·Î by at most (n+1)·ln(n+1) − n·ln n, which grows with n ≤ m·P (errata 6).

    So Δ = 2m/P times 2, 1, or (N+1)·ln(N+1) − N·ln N with N = m·P; padding as in :func:`padded_score`, times n/P ≤ m.
    """
    if persons < 1 or max_records < 1:
        raise InputError("persons", found=f"found {persons}, {max_records}", remedy="give 1 or more of both")
    most = _checked(persons * max_records)
    pairs = set(candidates)
    if not pairs:
        raise InputError("candidates", found="found none", remedy="offer at least one candidate")
    own = sensitivity_of(score)
    for child, _ in pairs:
        own.check_child(child)
    errors = (own.rounding_error(records=most, child=child, parents=parents) for child, parents in pairs)
    error = own.error_factor * max(errors)
    scaled = max_records * (error + 4 * UNIT_ROUNDOFF * (math.log(most + 1) + 1))
    return round_up(2 * max_records * own.per_record(most) / persons + 2 * scaled)


def _checked(records: int, child: int = 1, parents: int = 1) -> int:
    if not 0 <= records <= MAX_RECORDS:
        raise InputError("records", found=f"found {records}", remedy=f"give 0 to {MAX_RECORDS:,}")
    if child < 1 or parents < 1:
        raise InputError("candidates", found="found a domain without values", remedy="give sizes of 1 or more")
    return records
