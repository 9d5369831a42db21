"""The first look: what holders are asked, and when their answers let a study look for dependencies."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.division import Grant
from panbayes.consortium.analyst.adaptive.first_look import attributes_hang_together, first_noise
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.protocol.queries import Count, Grouping, TableCandidate
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

SIZES = (2, 20, *[3] * 30)
RECORDS = {"a": 500.0, "b": 300.0, "c": 200.0}


class _Holders:
    schema = Schema("s", tuple(Attribute(f"x{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES)))
    study = Study("s", schema, "adaptive", Fraction(1, 10))


class _Answered(Session):
    """A session whose holders find what they are told to."""

    found: dict[str, int]
    asked: tuple[Any, ...]
    least: int

    def look(self, *asked: Any, least: int, round_number: int) -> dict[str, int]:
        assert round_number == 1
        self.asked, self.least = asked, least
        return self.found


def session(*finding: str) -> _Answered:
    held = cast(Any, _Holders())
    begun = _Answered(held, Grant.of(held.study), SIZES, (False,) * len(SIZES))
    begun.found = {name: 3 if name in finding else 0 for name in RECORDS}
    return begun


@pytest.mark.parametrize(
    ("finding", "goes_on"),
    [("", False), ("b", False), ("c", False), ("a", True), ("bc", True), ("ab", True), ("abc", True)],
)
def test_holders_with_at_least_half_of_all_records_decide(finding: str, goes_on: bool) -> None:
    assert attributes_hang_together(session(*finding), RECORDS, Fraction(3, 100)) == goes_on


def test_of_those_that_answered_half_decide() -> None:
    """With the largest missing, 300 of 500 records find something: of all 1,000 they would not be enough."""
    begun = session("b")
    del begun.found["a"]
    assert attributes_hang_together(begun, RECORDS, Fraction(3, 100))
    del begun.found["b"]
    assert not attributes_hang_together(begun, RECORDS, Fraction(3, 100))


def test_holders_are_asked_for_a_few_pairs_beyond_chance_and_noise() -> None:
    begun = session()
    attributes_hang_together(begun, RECORDS, Fraction(3, 100))
    candidates, groupings, count, *_ = begun.asked
    assert count == Count(3, 0)  # 1 + 32 // 16
    assert groupings[0] == Grouping(0, ())
    assert max(groupings[1].groups) == 7
    assert len(candidates["a"]) == 32 * 31 // 2
    assert candidates["b"][0] == TableCandidate((0, 1), math.ceil(0.8 * math.sqrt(16 * 300) + 1.2 * math.sqrt(300)), 0)
    # Laplace noise of six records at 0.003.
    assert first_noise(begun, Fraction(3, 100)) == pytest.approx(math.sqrt(2) * 6 / 0.003, rel=1e-3)
    assert begun.least == math.ceil(2 * first_noise(begun, Fraction(3, 100)))
