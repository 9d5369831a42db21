"""Noisy majority voting: the holders vote on every dependency, then release the tables that won.

The most-voted pair is placed in each of N−1 rounds, then the N tables are asked for (``retrieved`` = False). A vote
counts as much as its holder has people, so that many small holders do not outvote one that knows more; with holders of
equal size this is the thesis's plain majority. Ties go to the pair whose hash with the study is the smallest.

With the linear score the holders release noisy counts of single attributes first. Added up, they say on which side of
an attribute its values are put, so that both have about the same number of records, and what mean of the sides is to be
expected (:mod:`panbayes.consortium.analyst.sides`).

Thesis: Algorithm "Noisy Majority Voting"; Theorem thm_noisy_mv_priv.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np

from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.checks import fixed_degree
from panbayes.consortium.agreement.strategies import majority_voting
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import LINEAR
from panbayes.consortium.analyst.holders import Holders, answer_of, digest
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.pooled_counts import ask_tables
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.analyst.result import fitted
from panbayes.consortium.analyst.sides import sides_of
from panbayes.consortium.protocol.answers import GroupedTablesAnswer, ParentChoiceAnswer
from panbayes.consortium.protocol.cells import split_cells
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import LinearChoiceQuery

__all__ = ["MAJORITY_VOTING"]


def _learn(holders: Holders) -> Network:
    study = holders.study
    ask = _linear_votes(holders) if study.score == LINEAR else majority_voting.votes(study).ask
    search = GreedySearch(len(study.schema), fixed_degree(study), study.first_attribute)
    while not search.done:
        releases = holders.ask(ask(placed=search.placed), round_number=len(search.placed))
        search.place(*_winner(study, releases))
    structure = search.structure
    sets = tuple((*structure.parents(child), child) for child in range(len(study.schema)))
    releases, counts = ask_tables(holders, majority_voting.tables(study), sets, round_number=len(study.schema))
    return fitted(holders, structure, counts, releases)


def _linear_votes(holders: Holders) -> Callable[..., LinearChoiceQuery]:
    """Ask for single attributes, and return what builds the votes by the linear score."""
    study = holders.study
    singles = majority_voting.singles(study).ask(**majority_voting.every_single(len(study.schema)))
    releases = holders.ask(singles, round_number=0)
    shapes = [(size,) for size in study.schema.sizes]
    pooled = [np.zeros(shape, dtype=np.int64) for shape in shapes]
    for release in releases.values():
        for table, more in zip(pooled, split_cells(answer_of(release, GroupedTablesAnswer).cells, shapes), strict=True):
            table += more
    found = [
        sides_of(table, ordered=attribute.ordered)
        for table, attribute in zip(pooled, study.schema.attributes, strict=True)
    ]
    sides, means = zip(*found, strict=True)
    return partial(majority_voting.linear_votes(study).ask, sides=sides, means=means)


def _winner(study: Study, releases: Mapping[str, Release]) -> tuple[int, tuple[int, ...]]:
    votes: dict[tuple[int, tuple[int, ...]], int] = {}
    for release in releases.values():
        pair = answer_of(release, ParentChoiceAnswer).pair
        votes[pair.child, pair.parents] = votes.get((pair.child, pair.parents), 0) + public_size(release)
    most = max(votes.values())
    tied = [pair for pair, weight in votes.items() if weight == most]
    return min(tied, key=lambda pair: digest(study.hash, repr(pair)))


MAJORITY_VOTING: Final = Method(majority_voting.MAJORITY_VOTING.name, _learn)
