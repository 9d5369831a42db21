"""Noisy majority voting: the holders vote on every dependency, then release the tables that won."""

from __future__ import annotations

from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.bayesnet.network import Network
from panbayes.consortium.analyst.asking import Holders, ask_counts, digest, expect, finish, fixed_degree, step
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.protocol.messages import ParentChoiceAnswer, ParentChoiceQuery, ratio

__all__ = ["learn_majority_voting"]


def learn_majority_voting(holders: Holders) -> Network:
    """Place the most-voted pair in each of N−1 rounds, then ask for the N tables (``retrieved`` = False).

    A vote counts as much as its holder has people, so that many small holders do not outvote one that knows more; with
    holders of equal size this is the thesis's plain majority. Ties go to the pair whose hash with the study is the
    smallest.

    Thesis: Algorithm "Noisy Majority Voting"; Theorem thm_noisy_mv_priv.
    """
    study = holders.study
    attributes = len(study.schema)
    search = GreedySearch(attributes, fixed_degree(study), study.first_attribute)
    share = study.split * study.budget / max(attributes - 1, 1)
    while not search.done:
        query = ParentChoiceQuery(
            placed=search.placed,
            degree=fixed_degree(study),
            score=study.score,
            mechanism=study.mechanism,
            epsilon=ratio(share),
        )
        releases = holders.ask(query, round_number=len(search.placed))
        votes: dict[tuple[int, tuple[int, ...]], int] = {}
        for release in releases.values():
            pair = expect(release, ParentChoiceAnswer).pair
            votes[pair.child, pair.parents] = votes.get((pair.child, pair.parents), 0) + public_size(release)
        most = max(votes.values())
        tied = [pair for pair, weight in votes.items() if weight == most]
        search.place(*min(tied, key=lambda pair: digest(study.hash, repr(pair))))
    structure = search.structure
    sets = tuple((*structure.parents(child), child) for child in range(attributes))
    budget = (1 - study.split) * study.budget
    releases, counts = ask_counts(holders, sets, budget, round_number=attributes)
    steps = (
        step(f"{attributes - 1} choices of an attribute and its parents", study.mechanism, study.split * study.budget),
        step(f"counts of {attributes} tables", "discrete Laplace", budget),
    )
    return finish(study, structure, counts, releases, steps)
