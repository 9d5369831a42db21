"""One vote by a score that adds up over holders: the attribute to place next and its parents.

Every value v of an attribute has a public sign a(v), +1 on side 0 and −1 on side 1, and every attribute i a public mean
μᵢ in [−1, 1] of its signs; both come with the query. A record r counts for attributes i and j

    w(r) = a(rᵢ)·a(rⱼ) − μᵢ·μⱼ,    and S = Σ w(r) over the records

is what the signs say beyond the means. In the table c of i and j it is Σ s·(c − e) with signs s and what is expected
e = n·p⊗q, for any p and q of these means. Since weights are public, S of all holders' records together is the sum of
the holders' own, whoever has which records; ½‖c − e‖₁ is not: differences (1, −1) and (−1, 1) of two holders cancel.

**Score.** With parents Π the score is Σ |S| over the pairs of the child and a parent: the largest of 2^|Π| sums that
are linear each, one for every choice of which way each parent pulls. One person moves it by at most 2m·|Π|
(:func:`panbayes.dp.sensitivity.linear_score`, with the proof). All candidates of a vote have as many parents,
min(degree, placed). What three attributes do together and no two of them do, it does not see.

**Arithmetic.** Means are whole 4096ths, so 4096²·S is an integer; with fewer than 2³¹ records and at most 8 parents the
sum stays below 2²⁴·2³¹·2·8 = 2⁵⁹. It is divided by 4096² and rounded down: where a real number moves by at most an
integer Δ, so does its floor. The result is below 2³⁵, which doubles hold exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.query_checks import bad, check_attributes, check_candidates
from panbayes.consortium.protocol.answers import ParentChoiceAnswer
from panbayes.consortium.protocol.queries import MEAN_PARTS, Grouping, LinearChoiceQuery, Pair
from panbayes.dp.mechanisms import select
from panbayes.dp.noise import Noise
from panbayes.dp.sensitivity import linear_score
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import Selection
from panbayes.schema.schema import Schema

__all__ = ["LINEAR_CHOICE", "linear_sums"]


def _loss(query: LinearChoiceQuery) -> Pure:
    return Pure(Fraction(query.epsilon))


def _check(query: LinearChoiceQuery, schema: Schema, _size: int) -> None:
    check_attributes("placed", query.placed, schema)
    if len(query.placed) >= len(schema):
        raise bad("placed", "every attribute", "leave one to vote on")
    if tuple(map(len, query.sides)) != schema.sizes:
        raise bad("sides", "another number of attributes or values", "give a side for every value of the schema")
    if len(query.means) != len(schema):
        raise bad("means", "another number of attributes", "give a mean for every attribute")
    check_candidates(query.degree, schema)


def _answer(query: LinearChoiceQuery, counts: PrivateCounts, *, noise: Noise) -> ParentChoiceAnswer:
    search = GreedySearch(len(counts.schema), query.degree, query.placed[0])
    for placed in query.placed[1:]:
        search.place(placed, ())
    candidates = search.candidates
    pulls = np.abs(linear_sums(query, counts, candidates.children))
    row = {attribute: place for place, attribute in enumerate(query.placed)}
    members = np.array([[row[parent] for parent in parents] for parents in candidates.parent_sets], dtype=np.intp)
    scores = pulls[members[:, 0]]
    for place in range(
        1, members.shape[1]
    ):  # one parent after the other: all at once would take eight times the memory
        scores += pulls[members[:, place]]
    scores //= MEAN_PARTS**2
    chosen = select(
        scores.ravel().astype(np.float64),
        sensitivity=Fraction(linear_score(max_records=counts.schema.max_records, parents=members.shape[1])),
        event=Selection(query.mechanism, Fraction(query.epsilon) ** 2),
        noise=noise,
    )
    child, parents = candidates[chosen]
    return ParentChoiceAnswer(Pair(child, parents))


def linear_sums(query: LinearChoiceQuery, counts: PrivateCounts, children: tuple[int, ...]) -> NDArray[np.int64]:
    """Return 4096²·S of every attribute that is placed, in rows, with every child."""
    sides = [Grouping(attribute, own) for attribute, own in enumerate(query.sides)]
    pairs = [(placed, child) for placed in query.placed for child in children]
    alike = counts.counter.parities(pairs, sides).reshape(len(query.placed), len(children))
    means: NDArray[np.int64] = np.array(query.means, dtype=np.int64)
    expected: NDArray[np.int64] = np.outer(means[list(query.placed)], means[list(children)])
    sums: NDArray[np.int64] = MEAN_PARTS**2 * alike - counts.facts.records * expected
    return sums


LINEAR_CHOICE: Final = Handler(LinearChoiceQuery, _loss, _check, _answer)
