"""How the analyst learns: each strategy is a small function over ``ask``, found by its name.

Each module of :mod:`panbayes.consortium.analyst.strategies` defines a :class:`Method` for every strategy it learns by;
what the strategy asks of holders is public and stands in :mod:`panbayes.consortium.agreement.strategies`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.holders import Holders
from panbayes.discovery import registry
from panbayes.errors import InputError

__all__ = ["Method", "check_number", "learn_from", "methods"]


@dataclass(frozen=True, slots=True)
class Method:
    """How to ``learn`` by the ``strategy`` of that name."""

    strategy: str
    learn: Callable[[Holders], Network]


@cache
def methods() -> dict[str, Method]:
    """Return the method of every private strategy, by the strategy's name."""
    return registry("panbayes.consortium.analyst.strategies", Method, lambda method: method.strategy)


def check_number(study: Study, holders: int) -> None:
    """Refuse more holders than the study's strategy learns from."""
    if holders > 1 and not strategies()[study.strategy].several:
        raise InputError(
            f"{study.source}, strategy",
            found=f'"{study.strategy}" learns from one holder, found {holders}',
            remedy='give one, or use "adaptive", which learns from any number',
        )


def learn_from(holders: Holders) -> Network:
    """Learn a network by the study's strategy."""
    study = holders.study
    check_number(study, len(holders.names))
    return methods()[study.strategy].learn(holders)
