"""Every law that an entry may follow: what it is drawn from, and what an appearance of its user does to it."""

from __future__ import annotations

from typing import TypeAlias

from panbayes.stream.laws.counter_law import CounterLaw
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.laws.thinned_law import ThinnedLaw

__all__ = ["Law"]

Law: TypeAlias = StateLaw | CounterLaw | ThinnedLaw
"""A law whose entries are redrawn, move on round a circle, or are redrawn now and then."""
