"""Every state law there is, by name."""

from __future__ import annotations

from functools import cache
from typing import Final

from panbayes.discovery import registry
from panbayes.stream.choices import choose
from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.optimal_bernoulli import OPTIMAL_BERNOULLI

__all__ = ["DEFAULT_LAW", "law_kind", "law_kinds"]

DEFAULT_LAW: Final = OPTIMAL_BERNOULLI.name
"""The law of least error among those of two levels."""


@cache
def law_kinds() -> dict[str, LawKind]:
    """Return every kind of state law by its name.

    >>> law_kinds()["dwork"].summary
    'a fair coin, and heads with probability 1/2 + ε/4 for who appeared'
    """
    return registry("panbayes.stream.laws", LawKind, lambda kind: kind.name)


def law_kind(name: str, *, argument: str = "law") -> LawKind:
    """Return the kind of state law called ``name``; ``argument`` is what the user knows it by."""
    return choose(name, law_kinds(), argument=argument)
