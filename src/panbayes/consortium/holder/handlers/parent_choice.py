"""One vote: which attribute next, with which parents.

Thesis: Algorithm "Noisy Majority Voting".
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.private_selection import private_choice, private_score
from panbayes.consortium.holder.query_checks import bad, check_attributes, check_search
from panbayes.consortium.protocol.answers import ParentChoiceAnswer
from panbayes.consortium.protocol.queries import Pair, ParentChoiceQuery
from panbayes.dp.noise import Noise
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema

__all__ = ["PARENT_CHOICE"]


def _loss(query: ParentChoiceQuery) -> Pure:
    return Pure(Fraction(query.epsilon))


def _check(query: ParentChoiceQuery, schema: Schema, _size: int) -> None:
    check_attributes("placed", query.placed, schema)
    if len(query.placed) >= len(schema):
        raise bad("placed", "every attribute", "leave one to vote on")
    check_search(query.degree, query.score, schema)


def _answer(query: ParentChoiceQuery, counts: PrivateCounts, *, noise: Noise) -> ParentChoiceAnswer:
    search = GreedySearch(len(counts.schema), query.degree, query.placed[0])
    for placed in query.placed[1:]:
        search.place(placed, ())
    candidates = search.candidates
    score = private_score(counts.facts, query.score)
    scores = counts.scores(query.score, score, candidates.parent_sets, candidates.children)
    choose = private_choice(
        counts.facts, score=query.score, epsilon=Fraction(query.epsilon), mechanism=query.mechanism, noise=noise
    )
    child, parents = candidates[choose(candidates, scores.ravel())]
    return ParentChoiceAnswer(Pair(child, parents))


PARENT_CHOICE: Final = Handler(ParentChoiceQuery, _loss, _check, _answer)
