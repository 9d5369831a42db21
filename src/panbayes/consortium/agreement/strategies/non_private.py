"""No privacy: everything, without noise, as a bound to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from panbayes.consortium.agreement.checks import check_degree, check_plain
from panbayes.consortium.agreement.strategy import Strategy
from panbayes.consortium.agreement.terms import Degree, Learner, Terms

__all__ = ["NON_PRIVATE", "Options"]


@dataclass(frozen=True, slots=True)
class Options:
    """What it reads of a study."""

    degree: Degree
    first: str | None
    learner: Learner


def _check(terms: Terms) -> None:
    check_plain(terms)
    check_degree(terms)


NON_PRIVATE: Final = Strategy(
    name="non-private",
    summary="without noise, a bound to compare with; its result says so",
    asks="everything, without noise",
    options=Options,
    check=_check,
    plan=None,
)
