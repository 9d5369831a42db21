"""The time that a ledger writes down, for its holder's eyes: UTC, to the second. Nothing is decided by it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Clock", "no_time", "utc"]

Clock: TypeAlias = Callable[[], str]
"""What says the time."""


def utc() -> str:
    """Return the time of this moment."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def no_time() -> str:
    """Return a time that is always the same, for a ledger in memory: what is simulated can be repeated.

    >>> len(no_time()) == len(utc())
    True
    """
    return "1970-01-01 00:00:00Z"
