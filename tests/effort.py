"""How hard the tests try: a little on an ordinary day, much more in ``make soak``.

A test marked ``soak`` runs in soak alone. A test that sweeps over seeds, draws or shapes takes a few of them on an
ordinary day and all of them in soak.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeVar

import pytest

__all__ = ["SOAK", "often", "soak", "some"]

SOAK: Final = "PANBAYES_SOAK" in os.environ
"""Whether this is the long run."""

soak: Final = pytest.mark.soak
"""The mark of a test that runs in soak alone."""

T = TypeVar("T")


def often(everyday: int, in_soak: int) -> int:
    """Return how many times something is tried."""
    return in_soak if SOAK else everyday


def some(values: Iterable[T], everyday: int) -> list[T]:
    """Return all ``values`` in soak, and so many of them, evenly spread, on an ordinary day.

    >>> len(some(range(10), 3)) in (3, 10)
    True
    """
    found = list(values)
    if SOAK or everyday >= len(found):
        return found
    return [found[(2 * place + 1) * len(found) // (2 * everyday)] for place in range(everyday)]
