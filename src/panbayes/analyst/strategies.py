"""How the analyst learns: each strategy is a small function over ``ask``.

================================= ============================================== ======================================
strategy                          asks                                           then
================================= ============================================== ======================================
``privbayes``                     one local model of the one holder              normalises its tables
``independent``                   counts of every attribute, ε/N each            adds up, normalises
``noisy-sufficient-statistics``   counts of all (k+1)-sets, all of ε             adds up, searches, reuses the tables
``noisy-majority-voting``         N−1 votes, then counts of N sets               the most-voted pair each round
``noisy-model``                   one local model of each holder                 pools n_j synthetic records of each
================================= ============================================== ======================================

Nothing here sees a record or draws noise; what is computed from releases is free (Theorem thm_post_proc). Whatever is
drawn at random (ties, pooled samples) derives from the study's hash and the releases, so that a run that is resumed
asks the same questions and gets the same network.

Tables are smoothed by adding one to each count, as in the thesis's experiments, so that no value has probability zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Final, Protocol, TypeVar

import numpy as np

from panbayes import __version__
from panbayes.analyst.pooled import PooledCounts, pool
from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.exact import ExactCounts
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.parameters import fit
from panbayes.bayesnet.search import GreedySearch, chow_liu, greedy, penalised_greedy
from panbayes.protocol.messages import (
    CountsAnswer,
    CountsQuery,
    ModelAnswer,
    ModelQuery,
    Query,
    Release,
    VoteAnswer,
    VoteQuery,
    ratio,
)
from panbayes.public import composition
from panbayes.public.errors import InputError, InternalError
from panbayes.public.privacy import Pure
from panbayes.public.schema import Schema
from panbayes.public.statement import PrivacyStatement
from panbayes.public.structure import Structure
from panbayes.public.study import Study
from panbayes.tables.table import Table, code_type

__all__ = ["AUTO_DEGREE", "SMOOTHING", "Holders", "learn_from", "learn_structure"]

SMOOTHING: Final = 1.0
"""Added to every count (thesis: section "Evaluation Metric")."""

AUTO_DEGREE: Final = 4
"""The most parents that degree = "auto" considers."""

AnswerType = TypeVar("AnswerType", CountsAnswer, VoteAnswer, ModelAnswer)


class Holders(Protocol):
    """Holders that can be asked, and nothing else; see :class:`panbayes.analyst.federation.Federation`."""

    @property
    def study(self) -> Study:
        """The study they take part in."""

    def ask(self, query: Query, *, round_number: int) -> Mapping[str, Release]:
        """Put one query to all of them and return every holder's release, by name."""


def learn_from(holders: Holders) -> Network:
    """Learn a network by the study's strategy."""
    study = holders.study
    strategies: dict[str, Callable[[Holders], Network]] = {
        "privbayes": _privbayes,
        "independent": _independent,
        "noisy-sufficient-statistics": _sufficient_statistics,
        "noisy-majority-voting": _majority_voting,
        "noisy-model": _noisy_model,
    }
    return strategies[study.strategy](holders)


def _privbayes(holders: Holders) -> Network:
    """Take the one holder's local model. Thesis: section "PrivBayes"; Theorem thm_privbayes_overall."""
    study = holders.study
    query = _model_query(study)
    releases = holders.ask(query, round_number=0)
    if len(releases) != 1:
        raise InputError(
            f"{study.source}, strategy",
            found=f'"privbayes" learns from one holder, found {len(releases)}',
            remedy='give one --holder, or use "noisy-majority-voting" or "noisy-model"',
        )
    (release,) = releases.values()
    answer = _answer(release, ModelAnswer)
    structure, counts = _local_model(answer, study.schema, release.size)
    return _finish(holders.study, structure, counts, releases, _model_steps(study))


def _independent(holders: Holders) -> Network:
    """Learn every attribute alone, from its noisy table at ε/N."""
    study = holders.study
    sets = tuple((i,) for i in range(len(study.schema)))
    releases, counts = _ask_counts(holders, sets, study.budget, round_number=0)
    steps = (_step(f"counts of {len(sets)} attributes", "discrete Laplace", study.budget),)
    return _finish(study, Structure.independent(len(sets)), counts, releases, steps)


def _sufficient_statistics(holders: Holders) -> Network:
    """Learn from noisy tables of all (k+1)-sets, and reuse them as parameters (``retrieved`` = True).

    Thesis: Algorithm "Sharing the Noisy Sufficient Statistics"; Theorem thm_noisy_ss_priv: every count gets noise of
    scale 2·C(N, k+1)/ε.
    """
    study = holders.study
    degree = _degree(study)
    sets = tuple(combinations(range(len(study.schema)), degree + 1))
    releases, counts = _ask_counts(holders, sets, study.budget, round_number=0)
    structure = learn_structure(study, counts)
    what = f"counts of all {len(sets)} sets of {degree + 1} attributes"
    return _finish(study, structure, counts, releases, (_step(what, "discrete Laplace", study.budget),))


def _majority_voting(holders: Holders) -> Network:
    """Place the most-voted pair in each of N−1 rounds, then ask for the N tables (``retrieved`` = False).

    A vote counts as much as its holder has people, so that many small holders do not outvote one that knows more; with
    holders of equal size this is the thesis's plain majority. Ties go to the pair whose hash with the study is the
    smallest.

    Thesis: Algorithm "Noisy Majority Voting"; Theorem thm_noisy_mv_priv.
    """
    study = holders.study
    attributes = len(study.schema)
    search = GreedySearch(attributes, _degree(study), study.first_attribute)
    share = study.split * study.budget / max(attributes - 1, 1)
    while not search.done:
        query = VoteQuery(
            placed=search.placed,
            degree=_degree(study),
            score=study.score,
            mechanism=study.mechanism,
            epsilon=ratio(share),
        )
        releases = holders.ask(query, round_number=len(search.placed))
        votes: dict[tuple[int, tuple[int, ...]], int] = {}
        for release in releases.values():
            pair = _answer(release, VoteAnswer).pair
            votes[pair.child, pair.parents] = votes.get((pair.child, pair.parents), 0) + release.size
        most = max(votes.values())
        tied = [pair for pair, weight in votes.items() if weight == most]
        search.place(*min(tied, key=lambda pair: _digest(study.hash, repr(pair))))
    structure = search.structure
    sets = tuple((*structure.parents(child), child) for child in range(attributes))
    budget = (1 - study.split) * study.budget
    releases, counts = _ask_counts(holders, sets, budget, round_number=attributes)
    steps = (
        _step(f"{attributes - 1} choices of an attribute and its parents", study.mechanism, study.split * study.budget),
        _step(f"counts of {attributes} tables", "discrete Laplace", budget),
    )
    return _finish(study, structure, counts, releases, steps)


def _noisy_model(holders: Holders) -> Network:
    """Draw n_j records from holder j's model, pool them, and learn without noise from the pool.

    Thesis: Algorithm "Sharing the Noisy Model"; Theorem thm_noisy_model_priv.
    """
    study = holders.study
    releases = holders.ask(_model_query(study), round_number=0)
    columns = []
    for name, release in sorted(releases.items()):
        structure, counts = _local_model(_answer(release, ModelAnswer), study.schema, release.size)
        local = fit(study.schema, structure, counts, smoothing=SMOOTHING)
        seed = int(_digest(study.hash, name, release.ledger), 16)
        columns.append(local.sample(release.size, np.random.default_rng(seed)).codes)
    pooled = ExactCounts(Table(study.schema, np.concatenate(columns, axis=1).astype(code_type(study.schema))))
    degree = 1 if study.degree == "auto" else study.degree
    structure = learn_structure(replace(study, degree=degree), pooled)
    return _finish(study, structure, pooled, releases, _model_steps(study))


def learn_structure(study: Study, counts: Counts) -> Structure:
    """Search for a structure without noise, by the study's learner."""
    if len(study.schema) == 1 or study.degree == 0:
        return Structure.independent(len(study.schema))
    match study.learner:
        case "chow-liu":
            return chow_liu(counts, root=study.first_attribute)
        case "penalised":
            return penalised_greedy(counts, _degree(study), first=study.first_attribute)
        case "greedy":
            return greedy(counts, _degree(study), first=study.first_attribute)


def _degree(study: Study) -> int:
    if study.degree == "auto":
        raise InternalError('degree "auto" reached a strategy that needs a number')
    return study.degree


def _model_query(study: Study) -> ModelQuery:
    automatic = study.degree == "auto"
    return ModelQuery(
        first=study.first_attribute,
        degree=min(AUTO_DEGREE, len(study.schema) - 1) if study.degree == "auto" else study.degree,
        theta=ratio(study.theta) if automatic else None,
        score=study.score,
        mechanism=study.mechanism,
        structure_epsilon=ratio(study.split * study.budget),
        tables_epsilon=ratio((1 - study.split) * study.budget),
        clip=study.clip == "holder",
    )


def _model_steps(study: Study) -> tuple[composition.Release, ...]:
    attributes = len(study.schema)
    return (
        _step(f"{attributes - 1} choices of an attribute and its parents", study.mechanism, study.split * study.budget),
        _step(f"counts of {attributes} tables", "discrete Laplace", (1 - study.split) * study.budget),
    )


def _local_model(answer: ModelAnswer, schema: Schema, size: int) -> tuple[Structure, PooledCounts]:
    sets = [(*pair.parents, pair.child) for pair in answer.pairs]
    counts = pool([answer.cells], sets, sizes=schema.sizes, total=size)
    return Structure.of((pair.child, pair.parents) for pair in answer.pairs), counts


def _ask_counts(
    holders: Holders, sets: tuple[tuple[int, ...], ...], epsilon: Fraction, *, round_number: int
) -> tuple[Mapping[str, Release], PooledCounts]:
    study = holders.study
    query = CountsQuery(sets=sets, epsilon=ratio(epsilon), clip=study.clip == "holder")
    releases = holders.ask(query, round_number=round_number)
    cells = [_answer(release, CountsAnswer).cells for release in releases.values()]
    total = sum(release.size for release in releases.values())
    return releases, pool(cells, sets, sizes=study.schema.sizes, total=total)


def _answer(release: Release, kind: type[AnswerType]) -> AnswerType:
    if not isinstance(release.answer, kind):
        raise InternalError(f"a release of another kind than asked for passed the federation: {kind.__name__}")
    return release.answer


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(("panbayes analyst 1", *parts)).encode()).hexdigest()


def _step(what: str, mechanism: str, epsilon: Fraction) -> composition.Release:
    return composition.Release(what, mechanism, Pure(epsilon))


def _finish(
    study: Study,
    structure: Structure,
    counts: Counts,
    releases: Mapping[str, Release],
    steps: tuple[composition.Release, ...],
) -> Network:
    """Fit the tables and attach the statement of what was spent, for each holder's people."""
    spent = composition.Sequential(steps)
    each: composition.Composition = spent
    if len(releases) > 1:
        each = composition.Parallel((spent,) * len(releases), study.adjacency, separate=True)
    unit = study.schema.unit
    statement = PrivacyStatement(
        unit="person" if unit else "record",
        adjacency=study.adjacency,
        composition=composition.PostProcessed(each, "learning, sampling and questions"),
        public=("the schema", "the study", "the number of persons" if unit else "the number of records"),
        notes=(
            *([f"At most {unit.max_records} records of a person were used."] if unit else []),
            *(["A person held by h of the holders is protected at h times this loss."] if len(releases) > 1 else []),
        ),
        versions={"panbayes": __version__},
        private=all(release.private for release in releases.values()),
    )
    network = fit(study.schema, structure, counts, smoothing=SMOOTHING, privacy=statement)
    about = {"study": study.name, "strategy": study.strategy, "holders": ", ".join(sorted(releases))}
    return replace(network, about=about)
