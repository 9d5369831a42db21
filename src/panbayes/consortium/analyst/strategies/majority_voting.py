"""Noisy majority voting: the holders vote on every dependency, then release the tables that won.

The most-voted pair is placed in each of N−1 rounds, then the N tables are asked for (``retrieved`` = False). A vote
counts as much as its holder has people, so that many small holders do not outvote one that knows more; with holders of
equal size this is the thesis's plain majority. Ties go to the pair whose hash with the study is the smallest.

Thesis: Algorithm "Noisy Majority Voting"; Theorem thm_noisy_mv_priv.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.checks import fixed_degree
from panbayes.consortium.agreement.strategies import majority_voting
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.holders import Holders, answer_of, digest
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.pooled_counts import ask_tables
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.analyst.result import fitted
from panbayes.consortium.protocol.answers import ParentChoiceAnswer
from panbayes.consortium.protocol.envelope import Release

__all__ = ["MAJORITY_VOTING"]


def _learn(holders: Holders) -> Network:
    study = holders.study
    votes = majority_voting.votes(study)
    search = GreedySearch(len(study.schema), fixed_degree(study), study.first_attribute)
    while not search.done:
        releases = holders.ask(votes.ask(placed=search.placed), round_number=len(search.placed))
        search.place(*_winner(study, releases))
    structure = search.structure
    sets = tuple((*structure.parents(child), child) for child in range(len(study.schema)))
    releases, counts = ask_tables(holders, majority_voting.tables(study), sets, round_number=len(study.schema))
    return fitted(holders, structure, counts, releases)


def _winner(study: Study, releases: Mapping[str, Release]) -> tuple[int, tuple[int, ...]]:
    votes: dict[tuple[int, tuple[int, ...]], int] = {}
    for release in releases.values():
        pair = answer_of(release, ParentChoiceAnswer).pair
        votes[pair.child, pair.parents] = votes.get((pair.child, pair.parents), 0) + public_size(release)
    most = max(votes.values())
    tied = [pair for pair, weight in votes.items() if weight == most]
    return min(tied, key=lambda pair: digest(study.hash, repr(pair)))


MAJORITY_VOTING: Final = Method(majority_voting.MAJORITY_VOTING.name, _learn)
