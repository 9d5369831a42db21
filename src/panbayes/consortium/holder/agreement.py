"""Whether a query belongs to a study: what each strategy may ask, how often, and at which share of ε.

The study is the agreement that the holder's people were promised ε under; a query outside it is refused even if it
would be affordable. Let N be the number of attributes, k the degree, ε the study's budget and s its split:

=========================== ================================================================== =========================
strategy                    questions, each at most so many times                              ε of each
=========================== ================================================================== =========================
privbayes, noisy-model      1 model                                                            sε and (1 − s)ε
independent                 1 counts: every attribute alone                                    ε
noisy-sufficient-statistics 1 counts: all C(N, k + 1) sets                                     ε
noisy-majority-voting       N − 1 votes, then 1 counts: N sets of at most k + 1 attributes     sε/(N − 1); (1 − s)ε
adaptive                    4 tables: of one to three attributes, or none (the total)          any; all together
                            2 choices: among tables of two or three attributes                 at most ε, or ρ
non-private                 none: records never leave a holder
=========================== ================================================================== =========================

Score, mechanism, degree, first attribute and who clips must be the study's. With ``degree = "auto"`` (a model only) the
query names the study's θ and the most parents to consider, which is the asker's choice: ε does not depend on it. Sets
that make no sense or are too large are refused by :func:`panbayes.consortium.holder.answers.check`.

Under ``adaptive`` the analyst decides what is worth measuring and at which share; the guarantee does not depend on its
decisions, because every share is charged for and the total may not exceed the study's grant. Privacy class (ε, or ρ
where the study has a delta) and adjacency must be the study's.

Everything here is a pure function of public values, so a refusal reveals nothing.

Thesis: Algorithm "Sharing the Noisy Sufficient Statistics", Theorem thm_noisy_ss_priv; Algorithm "Noisy Majority
Voting", Theorem thm_noisy_mv_priv; Theorem thm_composition; see errata 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Final, TypeAlias

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.protocol.messages import (
    GroupedTablesQuery,
    ModelQuery,
    ParentChoiceQuery,
    Query,
    TableChoiceQuery,
    TablesQuery,
    ratio,
)

__all__ = ["NotInStudyError", "check_query", "kind_of", "times_allowed"]


ADAPTIVE_TABLES: Final = 4
"""Sets of tables that the adaptive strategy measures: the total, single attributes, pairs, triples."""

ADAPTIVE_CHOICES: Final = 2
"""Its choices: of pairs, and of triples."""


class NotInStudyError(Exception):
    """The query is not one of the study's; the text says why, in public terms."""


Rule: TypeAlias = Callable[[Study, Query], None]


def kind_of(query: Query) -> str:
    """Name the kind of a query, as its tag does."""
    match query:
        case TablesQuery():
            return "counts"
        case ParentChoiceQuery():
            return "vote"
        case ModelQuery():
            return "model"
        case GroupedTablesQuery():
            return "tables"
        case TableChoiceQuery():
            return "choice"


def times_allowed(study: Study, query: Query) -> int:
    """Return how many different questions of this kind the study may ask one holder."""
    match query:
        case ParentChoiceQuery():
            return len(study.schema) - 1
        case GroupedTablesQuery():
            return ADAPTIVE_TABLES
        case TableChoiceQuery():
            return ADAPTIVE_CHOICES
        case _:
            return 1


def check_query(study: Study, query: Query) -> None:
    """Raise :class:`NotInStudyError` unless the study may ask this."""
    rule = _RULES.get(study.strategy)
    if rule is None or not study.private:
        raise NotInStudyError(f'a study of strategy "{study.strategy}" is not answered here')
    rule(study, query)


def _require(agrees: bool, what: str, expected: object) -> None:
    if not agrees:
        raise NotInStudyError(f"the study says {what} {expected}")


def _require_epsilon(written: str, granted: Fraction, what: str) -> None:
    # Compared as text, so that one ε has one spelling and one question one id.
    _require(written == ratio(granted), f"ε of {what}:", ratio(granted))


def _require_manner(study: Study, query: ParentChoiceQuery | ModelQuery) -> None:
    _require(study.degree in ("auto", query.degree), "degree", study.degree)
    _require(query.score == study.score, "score", study.score)
    _require(query.mechanism == study.mechanism, "mechanism", study.mechanism)


def _model(study: Study, query: Query) -> None:
    if not isinstance(query, ModelQuery):
        raise NotInStudyError("the study asks for one model and nothing else")
    _require_manner(study, query)
    theta = ratio(study.theta) if study.degree == "auto" else None
    _require(query.theta == theta, "theta", theta)
    _require(query.first == study.first_attribute, "first attribute", study.first_attribute)
    _require(query.clip == (study.clip == "holder"), "counts are clipped by the", study.clip)
    _require_epsilon(query.structure_epsilon, study.split * study.budget, "the structure")
    _require_epsilon(query.tables_epsilon, (1 - study.split) * study.budget, "the tables")


def _counts(study: Study, query: Query, granted: Fraction) -> TablesQuery:
    if not isinstance(query, TablesQuery):
        raise NotInStudyError("the study asks for one set of counts and nothing else")
    _require(query.clip == (study.clip == "holder"), "counts are clipped by the", study.clip)
    _require_epsilon(query.epsilon, granted, "the counts")
    return query


def _independent(study: Study, query: Query) -> None:
    query = _counts(study, query, study.budget)
    _require(_all_sets(query.sets, len(study.schema), 1), "sets:", "every attribute alone, once")


def _sufficient_statistics(study: Study, query: Query) -> None:
    query = _counts(study, query, study.budget)
    size = _largest_set(study)
    _require(_all_sets(query.sets, len(study.schema), size), "sets:", f"all of {size} attributes, once each")


def _largest_set(study: Study) -> int:
    if study.degree == "auto":
        raise NotInStudyError('degree "auto" is for models')
    return study.degree + 1


def _all_sets(sets: tuple[tuple[int, ...], ...], attributes: int, size: int) -> bool:
    if len(sets) != comb(attributes, size):
        return False
    return {tuple(sorted(found)) for found in sets} == set(combinations(range(attributes), size))


def _majority_voting(study: Study, query: Query) -> None:
    attributes = len(study.schema)
    if isinstance(query, ParentChoiceQuery):
        _require_manner(study, query)
        _require(query.placed[0] == study.first_attribute, "first attribute", study.first_attribute)
        _require(_distinct(query.placed, attributes), "attributes placed:", "each once, not all")
        _require_epsilon(query.epsilon, study.split * study.budget / (attributes - 1), "a vote")
        return
    query = _counts(study, query, (1 - study.split) * study.budget)
    size = _largest_set(study)
    _require(len(query.sets) == attributes, "sets:", attributes)
    _require(max(map(len, query.sets)) <= size, "sets:", f"of at most {size} attributes")


def _distinct(placed: Iterable[int], attributes: int) -> bool:
    found = list(placed)
    return len(set(found)) == len(found) < attributes and max(found) < attributes


def _adaptive(study: Study, query: Query) -> None:
    if not isinstance(query, GroupedTablesQuery | TableChoiceQuery):
        raise NotInStudyError("the study asks for tables of grouped values and for choices among them")
    _require(query.privacy == ("zcdp" if study.delta else "pure"), "privacy class, with delta", study.delta)
    _require(query.adjacency == study.adjacency, "adjacency", study.adjacency)
    if isinstance(query, TableChoiceQuery):
        _require(all(len(c.view) in (2, 3) for c in query.candidates), "candidates:", "of two or three attributes")


_RULES: Final[Mapping[str, Rule]] = {
    "adaptive": _adaptive,
    "privbayes": _model,
    "noisy-model": _model,
    "independent": _independent,
    "noisy-sufficient-statistics": _sufficient_statistics,
    "noisy-majority-voting": _majority_voting,
}
