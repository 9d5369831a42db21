"""Which sensitivity a private choice is drawn at: that of its allowed candidates, whatever the score and the table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.consortium.protocol.answers import ModelAnswer, ParentChoiceAnswer
from panbayes.consortium.protocol.queries import ModelQuery, ParentChoiceQuery
from panbayes.dp.sensitivity import step_sensitivity
from panbayes.privacy.events import Rule
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer
from tests.consortium.holder.test_handlers_noise import KeptNoise


def records(sizes: tuple[int, ...], number: int) -> Table:
    schema = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(sizes)))
    random = np.random.default_rng(5)
    return Table(schema, np.stack([random.integers(0, size, number) for size in sizes]).astype(np.uint8))


@pytest.mark.parametrize("score", ["I", "R", "F"])
@pytest.mark.parametrize("rule", ["permute-and-flip", "exponential"])
def test_a_vote_on_two_parents_knows_child_from_parents(score: str, rule: Rule) -> None:
    """F is defined for a binary child and any parents: here two of two values each, four jointly."""
    noise, epsilon = KeptNoise(), Fraction(1, 3)
    answer(ParentChoiceQuery((0, 1), 2, score, rule, str(epsilon)), records((2, 2, 2, 2), 60), noise=noise)
    delta = Fraction(step_sensitivity(score, records=60, candidates={(2, 4)}))
    assert noise.drawn == [(rule, 2, 2 * delta / epsilon)]


def test_candidates_that_theta_rules_out_are_neither_drawn_nor_counted() -> None:
    """n·ε₂/(2Nθ) = 6 cells at most: what has more is no candidate, and its sensitivity is not the step's."""
    sizes, first, second = (2, 3, 2, 4), Fraction(1, 2), Fraction(1)
    data = records(sizes, 48)
    query = ModelQuery(0, 2, "1", "I", "permute-and-flip", str(first), str(second), clip=False)
    noise = KeptNoise()
    found = answer(query, data, noise=noise)
    assert isinstance(found, ModelAnswer)
    search, expected = GreedySearch(4, 2, 0, exact=False, sizes=sizes, cap=6), []
    ruled_out = 0
    for pair in found.pairs[1:]:
        every = [(child, parents) for child, parents in search.candidates]
        cells = {family: math.prod(sizes[a] for a in (family[0], *family[1])) for family in every}
        allowed = [family for family in every if not family[1] or cells[family] <= 6]
        ruled_out += len(every) - len(allowed)
        pairs = {(sizes[child], math.prod(sizes[p] for p in parents)) for child, parents in allowed}
        delta = Fraction(step_sensitivity("I", records=48, candidates=pairs))
        expected.append(("permute-and-flip", len(allowed), 2 * delta / (first / 3)))
        assert (pair.child, pair.parents) in allowed
        search.place(pair.child, pair.parents)
    assert ruled_out > 0
    assert noise.drawn[:-1] == expected


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_a_table_in_which_nothing_can_matter_is_answered_like_any_other(score: str, number: int) -> None:
    """Where no record moves a score its sensitivity is 0, and the choice is still a choice."""
    noise = KeptNoise()
    found = answer(ParentChoiceQuery((0,), 1, score, "exponential", "1"), records((2, 2, 2), number), noise=noise)
    assert isinstance(found, ParentChoiceAnswer)
    assert [(rule, candidates) for rule, candidates, _ in noise.drawn] == [("exponential", 2)]
    assert noise.drawn[0][2] > 0
