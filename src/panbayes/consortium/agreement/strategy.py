"""What a strategy is to everybody: its name, what it reads of a study, and the plan that follows.

Each module of :mod:`panbayes.consortium.agreement.strategies` defines one or two. How the analyst learns by it is in
:mod:`panbayes.consortium.analyst`, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

from panbayes.consortium.agreement.plan import Plan
from panbayes.consortium.agreement.terms import Terms
from panbayes.discovery import registry

__all__ = ["Options", "Strategy", "read_options", "strategies"]


class Options(Protocol):
    """A strategy's own options: a frozen dataclass whose fields are the fields of a study that it reads."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Own = TypeVar("Own", bound=Options)


def read_options(kind: type[Own], terms: Terms) -> Own:
    """Take from a study's terms the options that a strategy reads."""
    return kind(**{known.name: getattr(terms, known.name) for known in fields(kind)})


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a network is learned: ``summary`` for people, ``asks`` what is asked for.

    ``options`` names what it reads of a study. ``check`` refuses terms that make no sense for it; ``plan`` says what it
    asks of each holder (none for a strategy without privacy). ``several`` tells whether it learns from several holders.
    """

    name: str
    summary: str
    asks: str
    options: type[Options]
    check: Callable[[Terms], None]
    plan: Callable[[Terms], Plan] | None
    several: bool = True

    @property
    def private(self) -> bool:
        """Whether it asks for privacy at all."""
        return self.plan is not None

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields of a study that it reads, beside those that every study has."""
        return tuple(known.name for known in fields(self.options))


@cache
def strategies() -> dict[str, Strategy]:
    """Return every strategy by its name."""
    return registry("panbayes.consortium.agreement.strategies", Strategy, lambda strategy: strategy.name)
